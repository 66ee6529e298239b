"""Threads that must keep running, and calls that may never return."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from holdfast.runtime.components import Components, described

log = logging.getLogger("holdfast.runtime")
T = TypeVar("T")

process = Components()
"""Health of the threads of this process that report it themselves: an agent, a keeper."""


def run_contained(
    name: str,
    step: Callable[[], bool],
    components: Components = process,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """Call `step` until it returns False. An exception is recorded, and `step` is called again after a pause."""
    going_on = True
    while going_on:
        try:
            going_on = step()
            components.succeeded(name)
        except Exception as error:
            seconds = components.failed(name, error)
            log.error("%s failed: %s; it continues in %.0f s", name, described(error), seconds, exc_info=error)
            pause(seconds)


class CallTimeout(Exception):
    """The call did not return in time; its thread may still wait."""


class CallThread:
    """Runs calls on one thread, in order, with a timeout for the caller. A call after one that hangs times out too."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            call, result = self._calls.get()
            try:
                result.put((call(), None))
            except RuntimeError as error:  # errors of the store are all of this kind; `run` raises it again
                result.put((None, error))

    def run(self, call: Callable[[], T], seconds: float) -> T:
        result: queue.SimpleQueue[tuple[T, RuntimeError | None]] = queue.SimpleQueue()
        self._calls.put((call, result))
        try:
            answer, error = result.get(timeout=seconds)
        except queue.Empty:
            raise CallTimeout from None
        if error is not None:
            raise error
        return answer
