"""Nodes and pods as the API server tells of them, kept up to date by two watches, so that looking costs it nothing.

A mirror that has lost its watch says so and shows nothing: what it held may be old by now.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from holdfast.fleet.actions.kubernetes.api import KubernetesApi
from holdfast.formats.kubernetes import objects as words
from holdfast.runtime.components import described
from holdfast.runtime.errors import NoAnswer

log = logging.getLogger("holdfast.fleet.actions")
T = TypeVar("T")
WATCH_SECONDS = 50  # after so long the server ends a watch, and we go on where it ended: a dead connection is noticed
PAUSE_SECONDS = 1.0


class Mirror(Generic[T]):
    """One kind of object. Its thread ends with the process, or when it is asked to stop and its watch next ends."""

    def __init__(
        self,
        api: KubernetesApi,
        path: str,
        read: Callable[[object], T | None],
        changed: Callable[[], None],
        **query: str,
    ) -> None:
        self._api, self._path, self._read, self._changed, self._query = api, path, read, changed, query
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
                try:
                    self._follow(self._list())
                except NoAnswer as error:
                    self._lose_sight(str(error))
                except Exception as error:
                    log.error("%s cannot be followed; it is read again", self._path, exc_info=error)
                    self._lose_sight(f"{self._path}: {described(error)}")
                self._stopping.wait(PAUSE_SECONDS)
        finally:  # also of a mistake of our own: what is no longer kept up must not be shown
            self._lose_sight(f"{self._path} is not watched any more")

    def _lose_sight(self, why: str) -> None:
        with self._lock:
            self._why_blind = why
        self._changed()

    def _list(self) -> str:
        items, version = self._api.listed(self._path, **self._query)
        held = {_uid(item): one for item in items if (one := self._read(item)) is not None}
        with self._lock:
            self._held, self._why_blind = held, ""
        self._changed()
        return version

    def _follow(self, version: str) -> None:
        """Until asked to stop, or until the server no longer knows the version: then everything is read again."""
        while not self._stopping.is_set():
            for news in self._api.watch(self._path, version, WATCH_SECONDS, **self._query):
                item = words.table(news, "object")
                kind = words.word(news, "type")
                if kind == "ERROR":
                    log.debug("%s is read again: %s", self._path, words.word(item, "message"))
                    return
                version = words.word(words.table(item, "metadata"), "resourceVersion") or version
                if kind != "BOOKMARK" and self._take(kind, item):
                    self._changed()

    def _take(self, kind: str, item: Mapping[str, Any]) -> bool:
        """Did anything change that we read?"""
        uid, one = _uid(item), self._read(item)
        with self._lock:
            before = self._held.get(uid)
            if kind == "DELETED" or one is None:
                self._held.pop(uid, None)
                return before is not None
            self._held[uid] = one
            return before != one


def _uid(item: object) -> str:
    return words.word(words.table(item, "metadata"), "uid")
