"""Requests to a Kubernetes API server: JSON, paged lists, watches, and its error messages."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from holdfast.fleet.actions.kubernetes.access import KubernetesAccess, KubernetesSettings, open_access
from holdfast.formats.kubernetes import objects as k8s
from holdfast.runtime.errors import NoAnswer

PAGE = 500
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
CONFLICT, GONE, NOT_FOUND, FORBIDDEN, TOO_MANY = 409, 410, 404, 403, 429
_PATH = re.compile(r"(?:/[A-Za-z0-9][\w.:-]*)+", re.ASCII)
_WORTH_ANOTHER_TRY = frozenset({408, CONFLICT, TOO_MANY, 500, 502, 503, 504})


class ApiRefused(NoAnswer):
    """The server answered with an error."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why, retryable=status in _WORTH_ANOTHER_TRY)
        self.status = status


class KubernetesApi:
    """May be used from several threads. It connects at the first request, so that a secret that is mounted late does
    not fail the start."""

    def __init__(self, settings: KubernetesSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: tuple[KubernetesAccess, httpx.Client] | None = None

    def get(self, path: str, **query: str) -> Mapping[str, Any]:
        return self._send("GET", path, query)

    def in_group(self, group: str, path: str) -> str:
        """The path in the version of the API group that the server prefers. Raises ApiRefused (404) without it."""
        preferred = k8s.text(k8s.table(self.get(f"/apis/{group}"), "preferredVersion"), "version")
        return f"/apis/{group}/{preferred}/{path}"

    def everything(self, path: str, **query: str) -> list[Mapping[str, Any]]:
        return self.listed(path, **query)[0]

    def listed(self, path: str, **query: str) -> tuple[list[Mapping[str, Any]], str]:
        """All objects, read page by page, and the resource version from which to watch."""
        found: list[Mapping[str, Any]] = []
        more = ""
        while True:
            page = self.get(path, limit=str(PAGE), **query, **({"continue": more} if more else {}))
            if not isinstance(page.get("items"), list):
                raise NoAnswer(f"Kubernetes did not answer {path} with a list", retryable=True)
            found += k8s.rows(page, "items")
            meta = k8s.table(page, "metadata")
            more = k8s.text(meta, "continue")
            if not more:
                return found, k8s.text(meta, "resourceVersion")

    def watch(self, path: str, version: str, seconds: int, **query: str) -> Iterator[Mapping[str, Any]]:
        """Changes after a resource version, as they happen, until the server ends the watch."""
        access, client = self._open()
        asked = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds), **query}
        asked["allowWatchBookmarks"] = "true"
        waiting = httpx.Timeout(self._settings.timeout, read=seconds + self._settings.timeout)
        with (
            _plain_errors(access.server, self._settings.timeout),
            client.stream(
                "GET", access.server + path, params=asked, headers=_headers(access), timeout=waiting
            ) as reply,
        ):
            if not reply.is_success:
                reply.read()
                _answer(reply, "GET", path)
            for line in reply.iter_lines():
                yield _object(line.encode(), f"the watch of {path}")

    def post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._send("POST", path, {"fieldManager": k8s.MANAGER}, body)

    def put(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._send("PUT", path, {"fieldManager": k8s.MANAGER}, body)

    def patch(self, path: str, body: Mapping[str, Any], kind: str = MERGE) -> Mapping[str, Any]:
        return self._send("PATCH", path, {"fieldManager": k8s.MANAGER}, body, kind)

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        kind: str = "application/json",
    ) -> Mapping[str, Any]:
        _require_path(path)
        access, client = self._open()
        headers = _headers(access)
        content = None
        if body is not None:
            headers["Content-Type"] = kind
            content = json.dumps(body).encode()
        with _plain_errors(access.server, self._settings.timeout):
            reply = client.request(method, access.server + path, params=query, headers=headers, content=content)
        return _answer(reply, method, path)

    def _open(self) -> tuple[KubernetesAccess, httpx.Client]:
        with self._lock:
            if self._opened is None:
                access = open_access(self._settings)
                client = httpx.Client(verify=access.tls, timeout=self._settings.timeout, trust_env=False)
                self._opened = access, client
            return self._opened


def _require_path(path: str) -> None:
    """Refuse a path with a name that would lead elsewhere: the HTTP client resolves "..", and "?" begins a query."""
    if not _PATH.fullmatch(path):
        raise NoAnswer(f"not an address of the Kubernetes API: {path[:200]!r}", retryable=False, not_begun=True)


def _headers(access: KubernetesAccess) -> dict[str, str]:
    return {**access.headers(), "Accept": "application/json", "User-Agent": k8s.MANAGER}


@contextmanager
def _plain_errors(server: str, timeout: float) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException:
        raise NoAnswer(f"Kubernetes at {server}: no answer within {timeout:g} s", retryable=True) from None
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise NoAnswer(f"Kubernetes at {server} cannot be reached: {error}", retryable=True) from None


def _answer(reply: httpx.Response, method: str, path: str) -> Mapping[str, Any]:
    if reply.is_success:
        return _object(reply.content, f"{method} {path}")
    try:
        message = k8s.text(_object(reply.content, path), "message")
    except NoAnswer:
        message = reply.text[:200]
    why = " ".join(message.split()) or f"{method} {path}"
    raise ApiRefused(reply.status_code, f"Kubernetes refused ({reply.status_code}): {why}")


def _object(text: bytes, asked: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise NoAnswer(f"Kubernetes did not answer {asked} with a JSON object", retryable=True)
    return found
