"""Talking to a controller: its address and token by flag, by environment, or from the file that `holdfast up` wrote."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    import ssl

Url = Annotated[
    str, typer.Option("--url", help="The controller; $HOLDFAST_URL, or the one that `holdfast up` started.")
]
Token = Annotated[str, typer.Option("--token", help="Your token; $HOLDFAST_TOKEN, or that of `holdfast up`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
TIMEOUT_SECONDS = 15.0
MOST_REDIRECTS = 3
UNREACHABLE = 1


def state_directory() -> Path:
    """Where `holdfast up` keeps what it must remember."""
    named = os.environ.get("HOLDFAST_STATE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(base) / "holdfast"


def client_file() -> Path:
    return state_directory() / "client.json"


@dataclass(frozen=True, slots=True)
class Client:
    url: str
    token: str

    def get(self, path: str, **query: object) -> Any:
        return self._ask("GET", path, None, {name: str(value) for name, value in query.items() if value != ""})

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        return self._ask("POST", path, body, {})

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None, query: Mapping[str, str]) -> Any:
        import httpx  # here: commands that ask nobody start without it

        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        address = self.url + path
        try:
            for _ in range(MOST_REDIRECTS):
                reply = httpx.request(
                    method,
                    address,
                    json=body,
                    params=query,
                    headers=headers,
                    timeout=TIMEOUT_SECONDS,
                    trust_env=False,
                    verify=trusted(address),
                )
                if reply.status_code != 307:  # a standby names the leader
                    break
                address = reply.headers.get("location", "")
            answer = reply.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise Refusal(f"the controller at {self.url} does not answer: {error}", UNREACHABLE) from None
        if reply.status_code >= 300:
            raise _refused(answer if isinstance(answer, dict) else {}, reply.status_code)
        return answer


def _refused(answer: dict[str, Any], status: int) -> Refusal:
    said, code = str(answer.get("error") or f"the controller answered {status}"), str(answer.get("code", ""))
    return Refusal(said.replace("with force", "with --force") if code == "breaker" else said, 1, code)


def trusted(address: str) -> "ssl.SSLContext | bool":
    """This machine's own certificates, and $SSL_CERT_FILE: controllers of a site rarely have a public one."""
    if not address.startswith("https://"):
        return True
    import ssl

    return ssl.create_default_context()


def connect(url: str, token: str) -> Client:
    """Raises Refusal when nobody said where the controller is."""
    known = kept()
    address = url or os.environ.get("HOLDFAST_URL", "") or known.get("url", "")
    if not address:
        raise Refusal("no controller is known; start one with `holdfast up`, or name it with --url or HOLDFAST_URL")
    if not address.startswith(("http://", "https://")):
        raise Refusal(f"--url: expected an http or https address, found {address!r}")
    # The kept token is for the kept controller; it is never sent to another.
    own = known.get("token", "") if address == known.get("url") else ""
    return Client(address.rstrip("/"), token or os.environ.get("HOLDFAST_TOKEN", "") or own)


def node_path(name: str, *more: str) -> str:
    return "/".join(["/v1/nodes", quote(name, safe=""), *more])


def kept() -> dict[str, str]:
    """What the last `holdfast up` wrote down: url, token, store."""
    try:
        found = json.loads(client_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
