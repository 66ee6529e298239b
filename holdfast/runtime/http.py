"""One bounded HTTP request: http and https only, no redirects, no proxies of the environment, a timeout for each part
of the answer and one for all of it."""

import http.client
import io
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from holdfast.runtime.errors import NoAnswer

MOST_BYTES = 4 << 20
TIMES_IN_ALL = 3  # the whole answer may take this many times the timeout
_LONGEST_REASON = 300
_UNAVAILABLE = 503
_RETRYABLE = frozenset({408, 425, 429, 500, 502, _UNAVAILABLE, 504})


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def retryable(self) -> bool:
        return self.status in _RETRYABLE

    @property
    def not_begun(self) -> bool:
        """Whether the server refused the request, or did not receive all of it. After any other error the request may
        have run: a gateway gives up (502, 504) while the server behind it continues. A service mesh answers 503 also
        if the server breaks off later; only a server that refuses sends Retry-After."""
        return 400 <= self.status < 500 or (self.status == _UNAVAILABLE and "retry-after" in self.headers)

    @property
    def message(self) -> str:
        """The beginning of the body, on one line."""
        return " ".join(self.body[:200].decode("utf-8", "replace").split())


class _Timed(io.RawIOBase):
    """Reads from a socket until a deadline. The socket's own timeout restarts with every byte, so a server that sends
    single bytes could block forever."""

    def __init__(self, raw: io.RawIOBase, source: socket.socket, until: float) -> None:
        self._raw, self._source, self._until = raw, source, until
        self._each = source.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._source.settimeout(left if self._each is None else min(left, self._each))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        until = time.monotonic() + TIMES_IN_ALL * (sock.gettimeout() or 0.0)
        raw = self.fp.detach()
        self.fp = io.BufferedReader(_Timed(raw, sock, until) if sock.gettimeout() else raw)


class _Sending:
    """One request, and whether a connection was made for it. Before that, nothing was sent."""

    def __init__(self) -> None:
        self.connected = False


class _Http(http.client.HTTPConnection):
    response_class = _TimedResponse

    def __init__(self, *arguments: Any, sending: _Sending, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._sending = sending

    def connect(self) -> None:
        super().connect()
        self._sending.connected = True


class _Https(_Http, http.client.HTTPSConnection):
    pass


class _Opening(urllib.request.HTTPHandler):
    def __init__(self, sending: _Sending) -> None:
        super().__init__()
        self._sending = sending

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Http, sending=self._sending), request)


class _OpeningTls(urllib.request.HTTPSHandler):
    def __init__(self, sending: _Sending, context: ssl.SSLContext | None) -> None:
        super().__init__(context=context)
        self._sending, self._trusted = sending, context

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Https, sending=self._sending), request, context=self._trusted)


def _opener(sending: _Sending, context: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    """An opener with only these handlers. It follows no redirects: a redirected POST becomes a GET, and a redirect
    could carry credentials to another host. A reply with any status is a reply."""
    opener = urllib.request.OpenerDirector()
    for handler in (_Opening(sending), _OpeningTls(sending, context), urllib.request.UnknownHandler()):
        opener.add_handler(handler)
    return opener


def check_url(where: str, url: str) -> None:
    """Raise ValueError, with the place, for anything that is not a plain http or https address."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{where}: expected an http or https address, found {shown(url)!r}")
    if parts.username or parts.password:
        raise ValueError(f"{where}: no user name or password in an address; name a secret instead")


def shown(url: str) -> str:
    """The address without query and credentials, which may be secret."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def header(text: str) -> str:
    """A text as a header value. Everything except printable ASCII is percent-encoded, so that different texts stay
    different."""
    return urllib.parse.quote(text, safe="!#$&'()*+,-./:;<=>?@[]^_`{|}~ ", errors="surrogatepass")


def _as_header(value: str) -> str:
    return value if value.isascii() and value.isprintable() else header(value)


def tls_for(url: str, ca_file: str = "", verify: bool = True) -> ssl.SSLContext | None:
    """The TLS context; None for an address without TLS, because loading certificates takes 50 ms."""
    return tls(ca_file, verify) if url.startswith("https:") else None


def tls(ca_file: str, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file or None)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def send(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    timeout: float,
    context: ssl.SSLContext | None = None,
    *,
    most_bytes: int = MOST_BYTES,
) -> Reply:
    """Sends a request. Returns a reply of any status with at most `most_bytes` of its body, or raises NoAnswer."""
    sending = _Sending()
    try:
        named = {name: _as_header(value) for name, value in headers.items()}
        request = urllib.request.Request(url, data=body, headers=named, method=method)
        with _opener(sending, context).open(request, timeout=timeout) as answer:
            received = {name.lower(): value for name, value in answer.headers.items()}
            return Reply(answer.status, received, answer.read(most_bytes))
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: an address, or a malformed answer
        raise _no_answer(error, url, timeout, sending.connected) from None


def _no_answer(error: Exception, url: str, timeout: float, connected: bool) -> NoAnswer:
    why = error.reason if isinstance(error, urllib.error.URLError) else error
    text = " ".join(str(why).split())[:_LONGEST_REASON] or repr(why)
    if connected:
        failure = f"no answer within {timeout:g} s" if isinstance(why, TimeoutError) else text
        return NoAnswer(f"{shown(url)}: {failure}", retryable=True)
    if isinstance(why, OSError):
        final = isinstance(why, ssl.SSLCertVerificationError)
        return NoAnswer(f"{shown(url)} cannot be reached: {text}", retryable=not final, not_begun=True)
    return NoAnswer(f"not a usable address: {text}", retryable=False, not_begun=True)
