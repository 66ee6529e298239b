"""One GET of a JSON object from a device or a Prometheus, with credentials from files."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.runtime import http
from holdfast.runtime.errors import NoAnswer

MOST_BYTES = 32 << 20


class CannotRead(Exception):
    """Nothing was read; the message says why. `unreachable`: the server did not answer at all."""

    def __init__(self, why: str, *, unreachable: bool = False) -> None:
        super().__init__(why)
        self.unreachable = unreachable


def get_object(
    url: str,
    timeout: float,
    *,
    token_file: str = "",
    user: str = "",
    password_file: str = "",
    verify: bool = True,
    error_statuses: tuple[int, ...] = (),
) -> Mapping[str, Any]:
    """The object. `error_statuses`: statuses whose body is read too, because it names the error."""
    headers = {"Accept": "application/json", "User-Agent": "holdfast"}
    if token_file:
        headers["Authorization"] = f"Bearer {_secret(token_file)}"
    elif user:
        pair = f"{user}:{_secret(password_file) if password_file else ''}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    try:
        context = http.tls_for(url, verify=verify)
        reply = http.send("GET", url, headers, None, timeout, context, most_bytes=MOST_BYTES + 1)
    except NoAnswer as error:
        raise CannotRead(str(error), unreachable=True) from None
    if reply.status != 200 and reply.status not in error_statuses:
        raise CannotRead(f"answers {reply.status}")
    if len(reply.body) > MOST_BYTES:
        raise CannotRead(f"answers more than {MOST_BYTES >> 20} MB")
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        raise CannotRead("the answer is not JSON") from None
    if not isinstance(found, dict):
        raise CannotRead("the answer is not a JSON object")
    return found


def _secret(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRead(f"{path}: cannot be read: {error}") from None
