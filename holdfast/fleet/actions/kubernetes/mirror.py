"""Local copy of nodes and pods, kept current by two watches, so that reads do not load the API server.

A mirror that has lost its watch raises NoAnswer and shows nothing, because its data may be old.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from holdfast.fleet.actions.kubernetes.api import FORBIDDEN, NOT_FOUND, ApiRefused, KubernetesApi
from holdfast.formats.kubernetes import objects as k8s
from holdfast.formats.kubernetes.claims import ResourceClaim, ResourceSlice
from holdfast.formats.kubernetes.nodes import KubernetesNode
from holdfast.formats.kubernetes.pods import KubernetesPod
from holdfast.formats.kubernetes.snapshot import Snapshot
from holdfast.runtime.components import described
from holdfast.runtime.errors import NoAnswer

log = logging.getLogger("holdfast.fleet.actions")
T = TypeVar("T")
WATCH_SECONDS = 50  # length of one watch: it is renewed to detect dead connections
PAUSE_SECONDS = 1.0
ABSENT_SECONDS = 60.0  # interval for checking whether the server offers an optional kind


class Mirror(Generic[T]):
    """A copy of one kind of object. Its thread ends with the process, or at the end of its watch after `stop`."""

    def __init__(
        self,
        api: KubernetesApi,
        path: str,
        read: Callable[[object], T | None],
        changed: Callable[[], None],
        *,
        group: str = "",
        **query: str,
    ) -> None:
        """With `group` the kind is optional, and `path` follows the version of the group that the server prefers. If
        the server does not offer the kind, or we may not read it, the copy is empty."""
        self._api, self._path, self._read, self._changed, self._query = api, path, read, changed, query
        self._group = group
        self._lock = threading.Lock()
        self._held: dict[str, T] = {}
        self._why_blind = f"{path} has not been read yet"
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"mirror {path}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def held(self) -> tuple[T, ...]:
        with self._lock:
            if self._why_blind:
                raise NoAnswer(self._why_blind, retryable=True)
            return tuple(self._held.values())

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                pause = PAUSE_SECONDS
                try:
                    path = self._api.in_group(self._group, self._path) if self._group else self._path
                    self._follow(path, self._list(path))
                except ApiRefused as error:
                    if self._group and error.status in (FORBIDDEN, NOT_FOUND):
                        self._hold({})
                        pause = ABSENT_SECONDS
                    else:
                        self._lose_sight(str(error))
                except NoAnswer as error:
                    self._lose_sight(str(error))
                except Exception as error:
                    log.error("the watch of %s failed; it is read again", self._path, exc_info=error)
                    self._lose_sight(f"{self._path}: {described(error)}")
                self._stopping.wait(pause)
        finally:  # also after an internal error: a stale copy must not be shown
            self._lose_sight(f"{self._path} is no longer watched")

    def _lose_sight(self, why: str) -> None:
        with self._lock:
            self._why_blind = why
        self._changed()

    def _hold(self, held: dict[str, T]) -> None:
        with self._lock:
            self._held, self._why_blind = held, ""
        self._changed()

    def _list(self, path: str) -> str:
        items, version = self._api.listed(path, **self._query)
        self._hold({_uid(item): one for item in items if (one := self._read(item)) is not None})
        return version

    def _follow(self, path: str, version: str) -> None:
        """Runs until stopped, or until the server no longer has the version. Then everything is read again."""
        while not self._stopping.is_set():
            for news in self._api.watch(path, version, WATCH_SECONDS, **self._query):
                item = k8s.table(news, "object")
                kind = k8s.text(news, "type")
                if kind == "ERROR":
                    log.debug("%s is read again: %s", self._path, k8s.text(item, "message"))
                    return
                version = k8s.text(k8s.table(item, "metadata"), "resourceVersion") or version
                if kind != "BOOKMARK" and self._take(kind, item):
                    self._changed()

    def _take(self, kind: str, item: Mapping[str, Any]) -> bool:
        """Takes a change; returns whether it changed a field that we read."""
        uid, one = _uid(item), self._read(item)
        with self._lock:
            before = self._held.get(uid)
            if kind == "DELETED" or one is None:
                self._held.pop(uid, None)
                return before is not None
            self._held[uid] = one
            return before != one


def _uid(item: object) -> str:
    return k8s.text(k8s.table(item, "metadata"), "uid")


@dataclass(frozen=True, slots=True)
class WatchedObjects:
    nodes: Mirror[KubernetesNode]
    pods: Mirror[KubernetesPod]
    claims: Mirror[ResourceClaim]
    slices: Mirror[ResourceSlice]

    @property
    def _all(self) -> tuple[Mirror[Any], ...]:
        return (self.nodes, self.pods, self.claims, self.slices)

    def start(self) -> None:
        for mirror in self._all:
            mirror.start()

    def stop(self) -> None:
        for mirror in self._all:
            mirror.stop()

    def snapshot(self) -> Snapshot:
        """The current copy of all kinds. Raises NoAnswer while one of them has lost its watch."""
        return Snapshot(self.nodes.held(), self.pods.held()).counted(self.claims.held(), self.slices.held())
