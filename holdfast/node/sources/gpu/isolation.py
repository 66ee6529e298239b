"""Driver calls on one thread per GPU: a call that hangs costs only its own GPU's values."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar

log = logging.getLogger("holdfast.node.agent")

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class Call(Generic[Answer]):
    """A call under way. `answer` raises what the call raised."""

    def __init__(self, function: Callable[[], Answer]) -> None:
        self._function = function
        self._done = threading.Event()
        self._answers: list[Answer] = []
        self._error: Exception | None = None
        self.started = time.monotonic()

    def run(self) -> None:
        try:
            self._answers.append(self._function())
        except Exception as error:
            log.exception("a call to a GPU failed")  # the reader that waits for it gets the error too
            self._error = error
        self._done.set()

    def wait(self, seconds: float) -> bool:
        return self._done.wait(max(0.0, seconds))

    def answer(self) -> Answer:
        if self._error is not None:
            raise self._error
        return self._answers[0]


class Isolation:
    """One worker per key. A worker that hangs gets no further calls until its call returns."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, queue.SimpleQueue[Call[object]]] = {}
        self._running: dict[Hashable, Call[object]] = {}

    def run(self, calls: Mapping[Key, Callable[[], Answer]], seconds: float) -> dict[Key, Answer]:
        """Call all keys at once and return the answers that arrive in time; a key without an answer hangs."""
        until = time.monotonic() + seconds
        asked: dict[Key, Call[Answer]] = {}
        for key, function in calls.items():
            if self.hanging(key) is None:
                asked[key] = self._start(key, Call(function))
        return {key: call.answer() for key, call in asked.items() if call.wait(until - time.monotonic())}

    def hanging(self, key: Hashable) -> float | None:
        """Seconds that a key's call has been pending; None without one."""
        running = self._running.get(key)
        return None if running is None or running.wait(0.0) else time.monotonic() - running.started

    def _start(self, key: Hashable, call: Call[Answer]) -> Call[Answer]:
        waiting = self._queues.get(key)
        if waiting is None:
            waiting = self._queues[key] = queue.SimpleQueue()
            # A daemon: a call that never returns must not hold up the end of the process.
            threading.Thread(target=_work, args=(waiting,), name=f"gpu {key}", daemon=True).start()
        self._running[key] = call  # type: ignore[assignment]
        waiting.put(call)  # type: ignore[arg-type]
        return call


def _work(waiting: "queue.SimpleQueue[Call[object]]") -> None:
    while True:
        waiting.get().run()
