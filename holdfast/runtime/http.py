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
from typing import Any

from holdfast.runtime.errors import NoAnswer

MOST_BYTES = 4 << 20
TIMES_IN_ALL = 3  # an answer has so many times its timeout until it is whole
_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})


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
    def message(self) -> str:
        """The beginning of the body, on one line."""
        return " ".join(self.body[:200].decode("utf-8", "replace").split())


class _Timed(io.RawIOBase):
    """Reads from a socket until one moment. Its own timeout begins anew with every byte that arrives, so that a server
    that sends a byte now and then would be waited for without end."""

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


class _Http(http.client.HTTPConnection):
    response_class = _TimedResponse


class _Https(http.client.HTTPSConnection):
    response_class = _TimedResponse


class _Opening(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Http, request)


class _OpeningTls(urllib.request.HTTPSHandler):
    def __init__(self, context: ssl.SSLContext | None) -> None:
        super().__init__(context=context)
        self._trusted = context

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Https, request, context=self._trusted)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST becomes a GET and is lost, and a redirect could carry credentials to another host."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


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
    """A text as the value of a header, which carries printable ASCII alone: all else is percent-encoded, so that two
    texts stay two."""
    return urllib.parse.quote(text, safe="!#$&'()*+,-./:;<=>?@[]^_`{|}~ ", errors="surrogatepass")


def _as_header(value: str) -> str:
    return value if value.isascii() and value.isprintable() else header(value)


def tls_for(url: str, ca_file: str = "", verify: bool = True) -> ssl.SSLContext | None:
    """None for an address without TLS: to read this machine's certificates takes 50 ms."""
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
    """The reply, whatever its status, with at most `most_bytes` of its body. Raises NoAnswer if there was none."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), _NoRedirects(), _Opening(), _OpeningTls(context)
    )
    try:
        named = {name: _as_header(value) for name, value in headers.items()}
        request = urllib.request.Request(url, data=body, headers=named, method=method)
        try:
            answer = opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            answer = error  # a reply like any other
        with answer:
            received = {name.lower(): value for name, value in answer.headers.items()}
            return Reply(answer.status, received, answer.read(most_bytes))
    except urllib.error.URLError as error:
        final = isinstance(error.reason, ssl.SSLCertVerificationError)
        raise NoAnswer(f"{shown(url)} cannot be reached: {error.reason}", retryable=not final) from None
    except (OSError, http.client.HTTPException) as error:
        why = f"no answer within {timeout:g} s" if isinstance(error, TimeoutError) else str(error) or repr(error)
        raise NoAnswer(f"{shown(url)}: {why}", retryable=True) from None
    except ValueError as error:
        raise NoAnswer(f"not a usable address: {error}", retryable=False) from None
