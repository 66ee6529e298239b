"""Persistent HTTP connection to the controller with deadlines."""

import http.client
import ssl
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from holdfast.runtime import codec

TIMEOUT_SECONDS = 15.0
MOST_BYTES = 1 << 20  # of an answer
BUSY = 503
MOST_BUSY = 3  # in a row: its store may be away while another controller leads
REDIRECTS = frozenset({307, 308})  # those that keep a POST a POST


class LinkDown(Exception):
    """The controller gave no answer; the message says why."""


class HttpAnswer(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    location: str = ""

    @property
    def message(self) -> str:
        """The one sentence that every refusal carries."""
        try:
            return codec.decode(self.body, _Refusal).error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return f"status {self.status}"


class _Refusal(msgspec.Struct):
    error: str


class ControllerLink:
    """Used by one thread. A proxy of the environment is not asked: credentials go straight to the controller."""

    def __init__(
        self, url: str, ca_file: str = "", timeout: float = TIMEOUT_SECONDS, standby_urls: Sequence[str] = ()
    ) -> None:
        self._controllers = [urlsplit(one) for one in (url, *standby_urls)]
        self._configured = self._parts = self._controllers[0]
        self._busy_in_a_row = 0
        self._ca_file = ca_file
        self._timeout = timeout
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: bytes, credential: str = "", clock: float | None = None) -> HttpAnswer:
        """A standby names the leader, which is used until it fails; then the next controller that is configured is.
        `clock` is our current time, sent so that the controller can convert our times to its own."""
        headers = {"Content-Type": "application/json"}
        if credential:
            headers["Authorization"] = f"Bearer {credential}"
        if clock is not None:
            headers["Holdfast-Clock"] = f"{clock:.3f}"
        answer = self._post(path, body, headers)
        if answer.status in REDIRECTS and self._follow(answer.location):
            answer = self._post(path, body, headers)
        self._busy_in_a_row = self._busy_in_a_row + 1 if answer.status == BUSY else 0
        if self._busy_in_a_row >= MOST_BUSY and len(self._controllers) > 1:
            self.close()
            self._go_on()
        return answer

    def _follow(self, location: str) -> bool:
        """Never from TLS to plain text: a credential goes with it."""
        leader = urlsplit(location)
        if not leader.hostname or leader.scheme not in ("https", self._configured.scheme):
            return False
        self.close()
        self._parts = leader._replace(path=self._configured.path, query="")
        return True

    def _post(self, path: str, body: bytes, headers: dict[str, str]) -> HttpAnswer:
        kept = self._connection is not None
        try:
            return self._once(path, body, headers)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            if not kept or isinstance(error, TimeoutError):
                raise self._down(error) from None
        try:  # a connection that idled may have been closed at the other end; reports may arrive twice
            return self._once(path, body, headers)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise self._down(error) from None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _once(self, path: str, body: bytes, headers: dict[str, str]) -> HttpAnswer:
        if self._connection is None:
            self._connection = self._connect()
        self._connection.request("POST", self._parts.path.rstrip("/") + path, body, headers)
        reply = self._connection.getresponse()
        answer = HttpAnswer(reply.status, reply.read(MOST_BYTES), reply.headers.get("Location", ""))
        if reply.will_close or not reply.isclosed():
            self.close()
        return answer

    def _go_on(self) -> None:
        """To the next controller; from a leader that failed, back to the one that had named it."""
        self._busy_in_a_row = 0
        if self._parts == self._configured:
            after = self._controllers.index(self._configured) + 1
            self._configured = self._controllers[after % len(self._controllers)]
        self._parts = self._configured

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        context = ssl.create_default_context(cafile=self._ca_file or None)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)

    def _down(self, error: Exception) -> LinkDown:
        address = f"{self._parts.scheme}://{self._parts.netloc.rpartition('@')[2]}"
        self._go_on()
        if isinstance(error, TimeoutError):
            return LinkDown(f"{address} gave no answer within {self._timeout:g} s")
        return LinkDown(f"{address} cannot be reached: {error or type(error).__name__}")
