"""Runs calls that may never return on a thread, with a timeout for the caller."""

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Unanswered(Exception):
    """The time is up; the thread may still be waiting."""


class PatientThread:
    """One question at a time, in order. What is asked after one that hangs is not answered either."""

    def __init__(self) -> None:
        self._questions: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            question, reply = self._questions.get()
            try:
                reply.put((question(), None))
            except RuntimeError as error:  # of the store, whose errors are all of this kind; raised again by `ask`
                reply.put((None, error))

    def ask(self, question: Callable[[], T], seconds: float) -> T:
        reply: queue.SimpleQueue[tuple[T, RuntimeError | None]] = queue.SimpleQueue()
        self._questions.put((question, reply))
        try:
            answer, error = reply.get(timeout=seconds)
        except queue.Empty:
            raise Unanswered from None
        if error is not None:
            raise error
        return answer
