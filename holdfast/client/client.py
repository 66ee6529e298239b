"""HTTP client of the controller's API. Address and token come from an option, the environment, or `holdfast up`."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    import ssl

TIMEOUT_SECONDS = 15.0
SILENT_SECONDS = 40.0  # the stream sends a comment every 15 s
MOST_REDIRECTS = 3
UNREACHABLE = 1


@dataclass(frozen=True, slots=True)
class Client:
    url: str
    token: str

    def get(self, path: str, **query: object) -> Any:
        return self._request("GET", path, None, {name: str(value) for name, value in query.items() if value != ""})

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        return self._request("POST", path, body, {})

    def stream(self, path: str = "/v1/stream") -> Iterator[tuple[str, str]]:
        """Server-sent events as (name, data); a comment is ('', ''). Raises Refusal when the stream ends."""
        import httpx

        timeout = httpx.Timeout(TIMEOUT_SECONDS, read=SILENT_SECONDS)
        address = self.url + path
        try:
            with httpx.stream(
                "GET", address, headers=self._headers(), timeout=timeout, trust_env=False, verify=trusted(address)
            ) as reply:
                if reply.status_code != 200:
                    raise Refusal(f"the controller answered {reply.status_code}: {_error(reply.read())}")
                yield from events(reply.iter_lines())
        except httpx.HTTPError as error:
            raise Refusal(f"the controller does not answer: {error or type(error).__name__}") from None
        raise Refusal("the controller ended the stream")

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def _request(self, method: str, path: str, body: Mapping[str, object] | None, query: Mapping[str, str]) -> Any:
        import httpx  # a late import: commands without a controller start faster

        address = self.url + path
        try:
            for _ in range(MOST_REDIRECTS):
                reply = httpx.request(
                    method,
                    address,
                    json=body,
                    params=query,
                    headers=self._headers(),
                    timeout=TIMEOUT_SECONDS,
                    trust_env=False,
                    verify=trusted(address),
                )
                if reply.status_code != 307:  # a standby names the leader
                    break
                address = _leader(address, reply.headers.get("location", ""))
            answer = reply.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            raise Refusal(f"the controller at {self.url} does not answer: {error}", UNREACHABLE) from None
        if reply.status_code >= 300:
            raise _refused(answer if isinstance(answer, dict) else {}, reply.status_code)
        return answer


def _leader(asked: str, named: str) -> str:
    """The address of a redirect. Never from TLS to plain text, because the token is sent too."""
    if not named.startswith(("https://", "http://")) or (asked.startswith("https://") and named.startswith("http://")):
        raise Refusal(f"the controller at {asked} names a leader that cannot be reached: {named[:200]!r}", UNREACHABLE)
    return named


_BY_STATUS = {401: "unauthorized", 404: "not_found"}


def _refused(answer: dict[str, Any], status: int) -> Refusal:
    reason = str(answer.get("error") or f"the controller answered {status}")
    if reason.startswith("expected the header"):
        reason = "this needs a token"
    code = str(answer.get("code", "")) or _BY_STATUS.get(status, "")
    return Refusal(reason.replace("with force", "with --force") if code == "breaker" else reason, 1, code)


def _error(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no reason given"


def events(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Parses server-sent events."""
    name = ""
    data: list[str] = []
    for line in lines:
        if line.startswith(":"):
            yield "", ""
        elif not line:
            if name:
                yield name, "\n".join(data)
            name, data = "", []
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())


def trusted(address: str) -> "ssl.SSLContext":
    """This machine's certificates and $SSL_CERT_FILE: controllers of a site rarely have a public certificate.

    None for an address without TLS, because loading certificates takes longer than most requests.
    """
    import ssl

    return ssl.create_default_context() if address.startswith("https://") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def connect(url: str, token: str) -> Client:
    """A client for the configured controller. Raises Refusal without an address."""
    known = saved_connection()
    address = url or os.environ.get("HOLDFAST_URL", "") or known.get("url", "")
    if not address:
        raise Refusal("no controller is known; start one with `holdfast up`, or name it with --url or HOLDFAST_URL")
    if not address.startswith(("http://", "https://")):
        raise Refusal(f"--url: expected an http or https address, found {address!r}")
    # The saved token is for the saved controller; it is never sent to another.
    own = known.get("token", "") if address == known.get("url") else ""
    return Client(address.rstrip("/"), token or os.environ.get("HOLDFAST_TOKEN", "") or own)


def node_path(name: str, *more: str) -> str:
    return "/".join(["/v1/nodes", quote(name, safe=""), *more])


def state_directory() -> Path:
    """Where `holdfast up` stores its state."""
    named = os.environ.get("HOLDFAST_STATE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(base) / "holdfast"


def client_file() -> Path:
    return state_directory() / "client.json"


def saved_connection() -> dict[str, str]:
    """The connection that the last `holdfast up` saved: url, token, store."""
    try:
        found = json.loads(client_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
