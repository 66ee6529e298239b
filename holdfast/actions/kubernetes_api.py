"""Requests to a Kubernetes API server: JSON in and out, long lists in pages, refusals in its own words."""

import json
import threading
from collections.abc import Mapping
from typing import Any

import httpx

from holdfast.actions.backend import NoAnswer
from holdfast.actions.kubernetes_access import Access, KubernetesSettings, open_access
from holdfast.formats import kubernetes as words

PAGE = 500
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
CONFLICT, GONE, NOT_FOUND, FORBIDDEN, TOO_MANY = 409, 410, 404, 403, 429
_WORTH_ANOTHER_TRY = frozenset({408, CONFLICT, TOO_MANY, 500, 502, 503, 504})


class Refused(NoAnswer):
    """The server answered, and not with what was asked for."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why, retryable=status in _WORTH_ANOTHER_TRY)
        self.status = status


class KubernetesApi:
    """May be used from several threads. It is opened at the first request, so that a late secret is no failed start."""

    def __init__(self, settings: KubernetesSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: tuple[Access, httpx.Client] | None = None

    def get(self, path: str, **query: str) -> Mapping[str, Any]:
        return self._send("GET", path, query)

    def list(self, path: str, **query: str) -> list[Mapping[str, Any]]:
        """Everything, page by page. A list that went stale meanwhile is begun again by the caller, later."""
        found: list[Mapping[str, Any]] = []
        more = ""
        while True:
            page = self.get(path, limit=str(PAGE), **query, **({"continue": more} if more else {}))
            if not isinstance(page.get("items"), list):
                raise NoAnswer(f"Kubernetes did not answer {path} with a list", retryable=True)
            found += words.rows(page, "items")
            more = words.word(words.table(page, "metadata"), "continue")
            if not more:
                return found

    def post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._send("POST", path, {"fieldManager": words.MANAGER}, body)

    def patch(self, path: str, body: Mapping[str, Any], kind: str = MERGE) -> Mapping[str, Any]:
        return self._send("PATCH", path, {"fieldManager": words.MANAGER}, body, kind)

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        kind: str = "application/json",
    ) -> Mapping[str, Any]:
        access, client = self._open()
        headers = {**access.headers(), "Accept": "application/json", "User-Agent": words.MANAGER}
        content = None
        if body is not None:
            headers["Content-Type"] = kind
            content = json.dumps(body).encode()
        try:
            reply = client.request(method, access.server + path, params=query, headers=headers, content=content)
        except httpx.TimeoutException:
            why = f"no answer within {self._settings.timeout:g} s"
            raise NoAnswer(f"Kubernetes at {access.server}: {why}", retryable=True) from None
        except httpx.HTTPError as error:
            raise NoAnswer(f"Kubernetes at {access.server} cannot be reached: {error}", retryable=True) from None
        return _answer(reply, method, path)

    def _open(self) -> tuple[Access, httpx.Client]:
        with self._lock:
            if self._opened is None:
                access = open_access(self._settings)
                client = httpx.Client(verify=access.tls, timeout=self._settings.timeout, trust_env=False)
                self._opened = access, client
            return self._opened


def _answer(reply: httpx.Response, method: str, path: str) -> Mapping[str, Any]:
    try:
        found = json.loads(reply.content)
    except (ValueError, RecursionError):
        found = None
    said = found if isinstance(found, dict) else {}
    if not reply.is_success:
        why = " ".join((words.word(said, "message") or reply.text[:200]).split())
        raise Refused(reply.status_code, f"Kubernetes refused ({reply.status_code}): {why or f'{method} {path}'}")
    if not isinstance(found, dict):
        raise NoAnswer(f"Kubernetes did not answer {method} {path} with a JSON object", retryable=True)
    return found
