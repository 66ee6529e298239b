"""One GET, as sources make it: no proxy, no redirect, an end to the waiting and to what is read."""

import base64
import contextlib
import http.client
import ssl
from pathlib import Path
from urllib.parse import urlsplit

MOST_BYTES = 32 << 20


class Trouble(Exception):
    """Why nothing can be read; `nobody_there` where not even an answer came."""

    def __init__(self, why: str, *, nobody_there: bool = False) -> None:
        super().__init__(why)
        self.nobody_there = nobody_there


def get(
    url: str,
    timeout: float,
    *,
    token_file: str = "",
    user: str = "",
    password_file: str = "",
    verify: bool = True,
    refusals: bool = False,
) -> bytes:
    """The body. `refusals`: one with status 400 or 422 too, for it says why."""
    parts = urlsplit(url)
    headers = {"Accept": "application/json", "User-Agent": "holdfast"}
    if token_file:
        headers["Authorization"] = f"Bearer {_secret(token_file)}"
    elif user:
        pair = f"{user}:{_secret(password_file) if password_file else ''}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    try:
        connection = _connection(parts.scheme, parts.hostname or "", parts.port, timeout, verify)
        with contextlib.closing(connection):
            connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers=headers)
            answer = connection.getresponse()
            body = answer.read(MOST_BYTES + 1)
    except TimeoutError:
        raise Trouble(f"no answer within {timeout:g} s", nobody_there=True) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Trouble(str(error) or type(error).__name__, nobody_there=True) from None
    if answer.status != http.client.OK and not (refusals and answer.status in (400, 422)):
        raise Trouble(f"answers {answer.status}")
    if len(body) > MOST_BYTES:
        raise Trouble(f"answers more than {MOST_BYTES >> 20} MB")
    return body


def _connection(scheme: str, host: str, port: int | None, timeout: float, verify: bool) -> http.client.HTTPConnection:
    if scheme != "https":
        return http.client.HTTPConnection(host, port, timeout=timeout)
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)


def _secret(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Trouble(f"{path}: cannot be read: {error}") from None
