"""Redfish session with one BMC: log in, read, post, log out. Requests go only to the BMC's own address."""

import base64
import json
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Self

from holdfast.runtime import clock, http
from holdfast.runtime.errors import NoAnswer

_SESSIONS = "/redfish/v1/SessionService/Sessions"


class RedfishSession:
    """A session with one BMC. With `session` it logs in for a token and logs out at the end; otherwise it sends the
    password with each request."""

    def __init__(
        self, base: str, user: str, password: str, *, session: bool, timeout: float, tls: ssl.SSLContext
    ) -> None:
        self._base = base.rstrip("/")
        self._login = {"UserName": user, "Password": password}
        self._session = session
        self._timeout = timeout
        self._tls = tls
        self._headers = {"Accept": "application/json", "OData-Version": "4.0", "User-Agent": "holdfast"}
        self._own_session = ""
        self.ahead: float | None = None
        """Seconds that the BMC's clock is ahead of ours, from its last answer; None if that had no date."""

    def __enter__(self) -> Self:
        if self._session:
            reply = self.post(_SESSIONS, self._login)
            token = reply.headers.get("x-auth-token", "")
            if not token:
                raise NoAnswer(f"{self._base} gave no session token: use basic authentication?", retryable=False)
            self._headers["X-Auth-Token"] = token
            self._own_session = reply.headers.get("location", "").removeprefix(self._base)
        else:
            pair = f"{self._login['UserName']}:{self._login['Password']}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._own_session:
            try:
                self._send("DELETE", self._own_session, None)
            except NoAnswer:
                return  # a restarting BMC drops its sessions

    def get(self, path: str) -> Mapping[str, object]:
        reply = self._send("GET", path, None)
        try:
            found = json.loads(reply.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise NoAnswer(f"{self._base}{path} did not answer with a JSON object", retryable=True)
        return found

    def post(self, path: str, body: Mapping[str, object]) -> http.Reply:
        return self._send("POST", path, json.dumps(body).encode())

    def _send(self, method: str, path: str, body: bytes | None) -> http.Reply:
        if not path.startswith("/") or path.startswith("//"):
            raise NoAnswer(f"{self._base} points to {path!r}, which is not on itself", retryable=False)
        headers = {**self._headers, "Content-Type": "application/json"} if body is not None else self._headers
        reply = http.send(method, self._base + path, headers, body, self._timeout, self._tls)
        self.ahead = _ahead(reply.headers.get("date", ""))
        if not 200 <= reply.status < 300:
            message = f": {_message(reply)}" if _message(reply) else ""
            why = f"{self._base}{path} answered {reply.status}{message}"
            raise NoAnswer(why, retryable=reply.retryable, not_begun=reply.not_begun)
        return reply


def _ahead(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - clock.now()
    except (ValueError, TypeError, OverflowError):
        return None


def _message(reply: http.Reply) -> str:
    """The error text: error.message of Redfish, or else the body."""
    try:
        message = json.loads(reply.body)["error"]["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return reply.message
    return " ".join(str(message).split())[:200]
