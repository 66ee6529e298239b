"""Redaction: names, addresses, users, secrets and serial numbers become pseudonyms that are stable within a bundle.

Different values get different pseudonyms (two GPUs have two), and equal ones still match (a GPU's UUID in two files).
They cannot be reversed, because they use a random key that is not stored. Pure except for the key.
"""

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from holdfast.node.capture.redaction import patterns as p
from holdfast.node.capture.redaction.gated import pieces
from holdfast.node.capture.redaction.programs import PROGRAMS, is_known
from holdfast.node.capture.redaction.secrets import without_long_secrets, without_secrets
from holdfast.node.capture.redaction.urls import without_urls


class Redactor:
    """Redacts one bundle. `names` are those of this machine and its neighbours, `users` those with a login here."""

    def __init__(self, key: bytes, names: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        self._key = key
        self._names = {name.lower(): f"host-{self._digest(name, 6)}" for name in _each_form(names)}
        users = (name.lower() for name in users if name)
        self._users = {name: f"user-{self._digest(name, 6)}" for name in users if name not in p.KEPT_USERS}
        self._words = _pattern([*self._names, *self._users])
        self._learned: dict[str, str] = {}  # short names of hosts whose full name was seen
        self._short = lru_cache(p.MOST_KNOWN)(self._redacted)

    def _digest(self, text: str, length: int = 8) -> str:
        return hmac.new(self._key, text.lower().encode(), hashlib.sha256).hexdigest()[:length]

    def name(self, name: str) -> str:
        return self._names.get(name.lower()) or f"host-{self._digest(name, 6)}"

    def _host(self, name: str) -> str:
        return name if name.startswith("host-") or name.lower() in p.KEPT_HOSTS else self.name(name)

    def _word(self, word: str) -> str:
        return self._names.get(word) or self._users[word]

    def text(self, text: str) -> str:
        """Redacts a text, with a cache, because the files of a node contain the same few numbers thousands of times."""
        return self._short(text) if len(text) <= p.SHORT else self._redacted(text)

    def learn(self, text: str) -> None:
        """Learns full names of hosts, because another text may contain only the short name."""
        count = len(self._learned)
        for found in p.DOMAIN.pattern.finditer(text):
            short = found[0].partition(".")[0].lower()
            is_word = short in p.WORDS_IN_FULL_NAMES or bool(p.DEVICE.fullmatch(short))
            if len(short) >= p.LEAST_OF_A_SHORT_NAME and not is_word and not _is_public(found[0]):
                self._learned.setdefault(short, self.name(short))
        if len(self._learned) > count:
            self._short.cache_clear()

    def _redacted(self, text: str) -> str:
        self.learn(text)
        return "".join(map(self._piece, pieces(without_long_secrets(text))))

    def _piece(self, text: str) -> str:
        text = without_urls(text, self._url_host, _is_public)
        text = without_secrets(text, self._hexadecimal)
        for programs in PROGRAMS:
            text = programs.sub(lambda found: found[1] + self.program(found[2]), text)
        text = p.SERIAL.sub(lambda found: found[1] + self._serial(found[2]), text)
        text = p.SYSLOG_HOST.sub(lambda found: found[1] + self.name(found[2]) + found[3], text)
        for hosts in p.HOSTS:
            text = hosts.sub(lambda found: found[1] + self.name(found[2]) + found[3], text)
        text = p.HOST_FIELD.sub(lambda found: found[1] + self._host(found[2]), text)
        text = p.NAMED_HOST.sub(lambda found: (found[1] or found[3]) + self._host(found[2] or found[4]), text)
        text = p.LISTED_HOSTS.sub(self._listed_hosts, text)
        for systems in p.FILE_SYSTEMS:
            text = systems.sub(lambda found: f"{found[1]}fs-{self._digest(found[2], 6)}", text)
        text = p.FREE_TEXT.sub(lambda found: f"{found[1]}text-{self._digest(found[2], 6)}", text)
        text = p.CGROUP.sub(lambda found: f"{found[1]}path-{self._digest(found[2], 6)}", text)
        text = p.PATH_FIELD.sub(lambda found: f"{found[1]}path-{self._digest(found[2], 6)}", text)
        text = p.PATH.sub(lambda found: f"{found[1]}path-{self._digest(found[2], 6)}/", text)
        text = p.HOME.sub(self._home, text)
        text = p.QUOTED_USER.sub(lambda found: found[1] + self._user(found[3]), text)
        text = p.SPOKEN_USER.sub(lambda found: found[1] + self._user(found[2]), text)
        text = p.DOMAIN_USER.sub(self._domain_user, text)
        for numbers in p.USER_NUMBERS[:3]:
            text = numbers.sub(lambda found: found[1] + self._user_number(found[2]), text)
        text = p.USER_NUMBERS_OF_A_PROCESS.sub(self._process_numbers, text)
        for users in (p.NUMBERED, p.PROCESS, p.SAID_BY):
            text = users.sub(lambda found: found[1] + self._user(found[2]), text)
        text = p.LOGIN.sub(lambda found: found[1] + self._user(found[2]), text)
        text = p.USER.sub(self._named_user, text)
        for numbers in p.USER_NUMBERS[3:]:
            text = numbers.sub(lambda found: found[1] + self._user_number(found[2]), text)
        if self._words is not None:
            text = self._words.sub(lambda found: self._word(found[0].lower()), text)
        if self._learned:
            text = p.WORD.sub(self._short_name, text)
        text = p.PRINCIPAL.sub(lambda found: f"mail-{self._digest(found[0], 6)}", text)
        text = p.LOGIN_OF_ADDRESS.sub(lambda found: self._user(found[1]), text)
        text = p.DISTINGUISHED.sub(lambda found: found[1] + self._user(found[2]), text)
        text = p.ISCSI.sub(lambda found: f"iqn-{self._digest(found[0], 8)}", text)
        text = p.MAIL.sub(lambda found: f"mail-{self._digest(found[0], 6)}", text)
        text = p.DOMAIN.sub(self._domain, text)
        text = p.UUID.sub(lambda found: self._uuid(found[0]), text)
        text = p.GUID.sub(lambda found: self._guid(found[0]), text)
        text = p.NAMED_ADDRESS.sub(lambda found: f"{found[1]}mac-{self._digest(found[2], 8)}", text)
        text = p.NAMED_BY_ADDRESS.sub(lambda found: found[1] + self._digest(found[2], 12), text)
        text = p.DOTTED_MAC.sub(lambda found: f"mac-{self._digest(found[0], 8)}", text)
        text = p.MAC.sub(lambda found: f"mac-{self._digest(found[0], 8)}", text)
        text = p.IPV4.sub(lambda found: self._address(found[0]), text)
        return p.MAYBE_IPV6.sub(self._ipv6, text)

    def _short_name(self, found: re.Match[str]) -> str:
        """Replaces short names, also before a hyphen: `n17-eth0`."""
        name, rest = found[0], ""
        for _ in range(4):
            if known := self._learned.get(name.lower()):
                return known + rest
            name, hyphen, last = name.rpartition("-")
            if not hyphen:
                break
            rest = f"-{last}{rest}"
        return found[0]

    def _url_host(self, name: str) -> str:
        if _is_public(name) or p.IPV4.pattern.fullmatch(name) or "[" in name or "$" in name:
            return name
        return self._host(name)

    def _hexadecimal(self, text: str) -> str:
        digest = self._digest(text, 64)
        return (digest * (len(text) // 64 + 1))[: len(text)]

    def program(self, name: str) -> str:
        return name if is_known(name) or name.startswith("program-") else f"program-{self._digest(name, 6)}"

    def _home(self, found: re.Match[str]) -> str:
        folder = found[4] or ""
        is_kept = not folder or folder.startswith((".", "path-")) or folder in p.KNOWN_FOLDERS
        behind = folder if is_kept else f"path-{self._digest(folder, 6)}"
        return found[1] + self._user(found[2]) + (found[3] or "") + behind

    def _listed_hosts(self, found: re.Match[str]) -> str:
        return found[1] + p.LISTED.sub(lambda one: one[1] + self._host(one[2]), found[2])

    def _domain_user(self, found: re.Match[str]) -> str:
        if found[1] in p.WORDS_OF_LOGS or found[1].startswith("host-"):
            return found[0]
        return self.name(found[1]) + found[2] + self._user(found[3])

    def value(self, name: str, value: Any) -> Any:
        """The value of a signal."""
        if not isinstance(value, str):
            return value
        if name == "process":
            return self.program(value)
        if name.endswith(p.SERIAL_SIGNALS) and value:
            return self._serial(value) if not p.UUID.pattern.search(value) else self.text(value)
        return self.text(value)

    def _serial(self, text: str) -> str:
        return text if text.lower() in ("n/a", "none", "unknown", "[n/a]") else f"sn-{self._digest(text)}"

    def _user(self, name: str) -> str:
        if name.lower() in p.KEPT_USERS or name.startswith("user-"):
            return name
        return self._users.get(name.lower()) or f"user-{self._digest(name, 6)}"

    def _named_user(self, found: re.Match[str]) -> str:
        return found[1] + self._user(found[2]) + (f"({found[3]})" if found[3] else "")

    def _user_number(self, number: str) -> str:
        """Replaces a number by another number, so that readers of the text still find one."""
        if int(number) < p.FIRST_USER_NUMBER or int(number) == p.UNNAMED_USERS:
            return number
        return f"1{int(self._digest(f'user number {int(number)}'), 16) % 10**8:08d}"

    def _process_numbers(self, found: re.Match[str]) -> str:
        return found[1] + re.sub(r"\d+", lambda number: self._user_number(number[0]), found[2])

    def _domain(self, found: re.Match[str]) -> str:
        return found[0] if _is_public(found[0]) else self.name(found[0])

    def _uuid(self, text: str) -> str:
        digest = self._digest(text, 32)
        return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}"

    def _guid(self, text: str) -> str:
        digest = self._digest(text.lower().removeprefix("0x").replace(":", ""), 16)
        return f"0x{digest}" if text.startswith("0x") else ":".join(digest[at : at + 4] for at in range(0, 16, 4))

    def _ipv6(self, found: re.Match[str]) -> str:
        """Replaces IPv6 addresses. A time of day and a PCI address have colons too and stay."""
        try:
            return self._address(str(ipaddress.IPv6Address(found[0])))
        except ValueError:
            return found[0]

    def _address(self, text: str) -> str:
        return text if text in p.KEPT_ADDRESSES else f"addr-{self._digest(text)}"


def _is_public(name: str) -> bool:
    host = name.lower().rpartition("@")[2].partition(":")[0]
    return any(host == one or host.endswith(f".{one}") for one in p.PUBLIC_DOMAINS)


def _each_form(names: Iterable[str]) -> list[str]:
    """A host's full and short name, except single letters and `localhost`."""
    forms = {form for name in names for form in (name, name.split(".", 1)[0])}
    return sorted((one for one in forms if len(one) > 1 and one != "localhost"), key=len, reverse=True)


def _pattern(words: list[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    ordered = sorted(words, key=len, reverse=True)
    inside = "|".join(re.escape(word) for word in ordered if _is_found_inside(word))
    alone = "|".join(map(re.escape, ordered))
    anywhere = rf"(?<!\d(?=\d))(?:{inside})(?!(?<=\d)\d)|" if inside else ""  # n17 is not in n170
    return re.compile(rf"(?i){anywhere}(?<![A-Za-z0-9])(?:{alone})(?![A-Za-z0-9])")


def _is_found_inside(word: str) -> bool:
    """Whether a name is also replaced inside a longer word: not if it is short, a word of the tools, or could be
    part of a hexadecimal number."""
    return len(word) >= p.LEAST_LETTERS and word not in p.WORDS_OF_TOOLS and not re.fullmatch(r"[0-9a-f.:-]+", word)
