"""URLs: the login, the hosts, and a path that is itself a secret, such as a webhook's. Pure."""

import re
from collections.abc import Callable

from holdfast.node.capture.redaction.secrets import SECRET, looks_random

LEAST_RANDOM = 16  # characters of a part of a path
_LOGIN = re.compile(r"(://)(?:[^/\s\"'@]+(?:@[^/\s\"'@]+)*|[^/\s:@\"']+:(?!\d+/)[^\s@\"']{0,256})(@)")
_URL = re.compile(
    r"(?i)(?<![a-z0-9])([a-z][a-z0-9+.-]{1,20}://(?:\[login\]@)?)([^/\s\"'<>?#\\`)\]}]+)([/?#][^\s\"'<>\\`]*)?"
)
MOST_PORT_DIGITS = 5
_HOOK = re.compile(r"(?i)hook|/services/")
_LONG_HEX = re.compile(r"(?=[0-9a-f]{0,15}[a-f])[0-9a-f]{16}")
_PART = re.compile(r"[^/?&=#;:]+")


def without_urls(text: str, host: Callable[[str], str], is_public: Callable[[str], bool]) -> str:
    """Redacts URLs. `host` gives the pseudonym of a host. Paths of public sites stay."""
    if "://" not in text:
        return text
    text = _LOGIN.sub(r"\1[login]\2", text)
    return _URL.sub(lambda found: _one(found, host, is_public), text)


def _host(text: str, host: Callable[[str], str]) -> str:
    """A host and its port, which stays."""
    name, *ports = text.split(":")
    return ":".join([_other(name, host), *(one if _is_port(one) else _other(one, host) for one in ports)])


def _other(name: str, host: Callable[[str], str]) -> str:
    return host(name) if name else ""


def _is_port(text: str) -> bool:
    return text.isdecimal() and len(text) <= MOST_PORT_DIGITS


def _one(found: re.Match[str], host: Callable[[str], str], is_public: Callable[[str], bool]) -> str:
    is_ipv6 = found[2].startswith("[")  # the rule for addresses finds it
    hosts = found[2] if is_ipv6 else ",".join(_host(one, host) for one in found[2].split(","))
    path = found[3] or ""
    is_http = found[1].lower().startswith(("http", "ws"))
    is_hook = bool(_HOOK.search(found[2] + path)) and len(path) > LEAST_RANDOM
    if is_http and path and not is_public(found[2]) and (is_hook or any(map(_is_random, _PART.findall(path)))):
        return f"{found[1]}{hosts}/{SECRET}"
    return found[1] + hosts + path


def _is_random(part: str) -> bool:
    return len(part) >= LEAST_RANDOM and (looks_random(part) or bool(_LONG_HEX.search(part)))
