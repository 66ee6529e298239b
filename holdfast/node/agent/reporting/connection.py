"""Persistent HTTP connection to the controller with deadlines."""

import http.client
import ssl
import time
from collections.abc import Callable, Sequence
from urllib.parse import SplitResult, urlsplit

import msgspec

from holdfast.runtime import codec

TIMEOUT_SECONDS = 15.0
MOST_BYTES = 1 << 20  # of an answer
BUSY = 503
MOST_BUSY = 3  # failures in a row: its store may be unreachable while another controller leads
FAILED_SECONDS = 10.0  # within this time a standby notices that its leader is dead, and takes over
REDIRECTS = frozenset({307, 308})  # redirects that keep the method POST

Address = tuple[str, int | None]


class LinkDown(Exception):
    """The controller gave no answer; the message says why."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
        """No process listens there. Whatever else it is, the controller may only be slow."""


class HttpAnswer(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    location: str = ""

    @property
    def message(self) -> str:
        """The error message of a refusal."""
        try:
            return codec.decode(self.body, _Refusal).error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return f"status {self.status}"


class _Refusal(msgspec.Struct):
    error: str


class ControllerLink:
    """Used by one thread. Proxy variables are ignored, so that credentials go directly to the controller."""

    def __init__(
        self,
        url: str,
        ca_file: str = "",
        timeout: float = TIMEOUT_SECONDS,
        standby_urls: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._controllers = [urlsplit(one) for one in (url, *standby_urls)]
        self._configured = self._parts = self._controllers[0]
        self._busy_in_a_row = 0
        self._ca_file = ca_file
        self._timeout, self._clock = timeout, clock
        self._failed: tuple[Address, float] = (("", None), 0.0)  # which controller gave no answer last, and when
        self._tls: ssl.SSLContext | None = None
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: bytes, credential: str = "", clock: float | None = None) -> HttpAnswer:
        """A standby redirects to the leader, which is used until it fails. Then the next configured controller is used.
        `clock` is our current time, sent so that the controller can convert our times to its own."""
        headers = {"Content-Type": "application/json"}
        if credential:
            headers["Authorization"] = f"Bearer {credential}"
        if clock is not None:
            headers["Holdfast-Clock"] = f"{clock:.3f}"
        answer = self._ask_in_turn(path, body, headers)
        if answer.status in REDIRECTS and self._follow(answer.location):
            answer = self._ask_in_turn(path, body, headers)
        self._busy_in_a_row = self._busy_in_a_row + 1 if answer.status == BUSY else 0
        if self._busy_in_a_row >= MOST_BUSY and len(self._controllers) > 1:
            self.close()
            self._go_on()
        return answer

    def _ask_in_turn(self, path: str, body: bytes, headers: dict[str, str]) -> HttpAnswer:
        """Sends the request to one controller after the other. Only if none listens at an address, the next is tried at
        once: a slow controller would do the work twice."""
        for _ in self._controllers[1:]:
            try:
                return self._post(path, body, headers)
            except LinkDown as error:
                if not error.refused:
                    raise
        return self._post(path, body, headers)

    def _follow(self, location: str) -> bool:
        """Follows a redirect, but never from TLS to plain text, because the credential is sent too. It does not follow
        to a leader that has just not answered: the standby that names it takes over soon, so its connection stays."""
        try:
            leader = urlsplit(location)
            address = _address(leader)
        except ValueError:  # a bracket that is not closed, a port beyond 65535
            return False
        if not leader.hostname or leader.scheme not in ("https", self._configured.scheme):
            return False
        failed, when = self._failed
        if address == failed and self._clock() - when < FAILED_SECONDS:
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
        """Switch to the next controller; after a failed leader, to the controller that named it."""
        self._busy_in_a_row = 0
        if self._parts == self._configured:
            after = self._controllers.index(self._configured) + 1
            self._configured = self._controllers[after % len(self._controllers)]
        self._parts = self._configured

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=self._ca_file or None)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)

    def _down(self, error: Exception) -> LinkDown:
        address = f"{self._parts.scheme}://{self._parts.netloc.rpartition('@')[2]}"
        self._failed = (_address(self._parts), self._clock())
        if isinstance(error, ssl.SSLError):
            self._tls = None  # the file of authorities may have been renewed
        self._go_on()
        if isinstance(error, TimeoutError):
            return LinkDown(f"{address} gave no answer within {self._timeout:g} s")
        refused = isinstance(error, ConnectionRefusedError)
        return LinkDown(f"{address} cannot be reached: {error or type(error).__name__}", refused=refused)


def _address(parts: SplitResult) -> Address:
    return parts.hostname or "", parts.port
