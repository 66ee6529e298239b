"""Asks the controller whether work may start on this node, with a timeout. Loaded only with `--ask`.

The credential is the agent's own, so the gate can ask for this node and for no other.
"""

import http.client
import json
import ssl
import threading
import tomllib
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

SECONDS = 3.0  # for the whole request with name resolution: every job start waits for it
PATH = "/v1/admission"
MOST_BYTES = 1 << 16
REDIRECTS = (307, 308)  # a standby names the leader


class AdmissionUnanswered(Exception):
    """The controller did not answer; the message says why."""


def closed(config: str, seconds: float = SECONDS) -> str:
    """The controller's reason why no work may start here; '' if it may. Raises NoAnswer."""
    found: list[str] = []
    trouble: list[str] = []

    def ask() -> None:
        try:
            found.append(_ask(config, seconds))
        except AdmissionUnanswered as error:
            trouble.append(str(error))
        except (
            OSError, http.client.HTTPException, ValueError, AttributeError, LookupError, TypeError, RecursionError,
        ) as error:  # fmt: skip
            trouble.append(f"the controller cannot be queried: {error or type(error).__name__}")

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(seconds)
    if found:
        return found[0]
    raise AdmissionUnanswered(trouble[0] if trouble else f"the controller gave no answer within {seconds:g} s")


def _ask(config: str, seconds: float) -> str:
    settings = tomllib.loads(Path(config).read_text(encoding="utf-8"))
    controller, agent = settings.get("controller", {}), settings.get("agent", {})
    others = controller.get("standby_urls", [])
    urls = [str(one) for one in (controller.get("url", ""), *(others if isinstance(others, list) else ())) if one]
    if not urls:
        raise AdmissionUnanswered(f"{config} names no controller")
    state = Path(str(agent.get("state_dir", "/var/lib/holdfast")))
    secret = Path(str(controller.get("credential_file", "") or state / "credential"))
    headers = {"Authorization": f"Bearer {secret.read_text(encoding='utf-8').strip()}"}
    answer = json.loads(_from_leader(urls, str(controller.get("ca_file", "")), headers, seconds))
    if answer["allowed"] is True:
        return ""
    return " ".join(str(answer.get("reason", "")).split())[:1000] or "closed"


def _from_leader(urls: list[str], ca_file: str, headers: dict[str, str], seconds: float) -> bytes:
    """The answer of the first controller that leads or knows the leader."""
    trouble = ""
    for address in map(urlsplit, urls):
        try:
            status, body, location = _get(address, ca_file, headers, seconds)
            leader = urlsplit(location)
            if status in REDIRECTS and leader.hostname and leader.scheme in ("https", address.scheme):
                status, body, _ = _get(leader._replace(path=address.path), ca_file, headers, seconds)
            if status == 200:
                return body
            trouble = f"the controller answered with status {status}"
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: a redirect to no address
            trouble = f"the controller cannot be queried: {error or type(error).__name__}"
    raise AdmissionUnanswered(trouble)


def _get(address: SplitResult, ca_file: str, headers: dict[str, str], seconds: float) -> tuple[int, bytes, str]:
    host, port = address.hostname or "", address.port
    if address.scheme == "https":
        context = ssl.create_default_context(cafile=ca_file or None)
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=seconds, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        connection.request("GET", address.path.rstrip("/") + PATH, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.read(MOST_BYTES), reply.headers.get("Location", "")
    finally:
        connection.close()
