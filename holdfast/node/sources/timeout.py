"""Calls to a file system that may never return, such as a network share with a job's files."""

import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


class Timeout:
    """Calls on a separate thread, which may hang. While one call hangs, no other is made."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._asked: threading.Thread | None = None

    def ask(self, question: Callable[[], Answer], otherwise: Answer) -> Answer:
        """The result, or `otherwise` after the timeout. The call must not raise."""
        if self._asked is not None and self._asked.is_alive():
            return otherwise
        answers: list[Answer] = []
        self._asked = threading.Thread(target=lambda: answers.append(question()), daemon=True)
        self._asked.start()
        self._asked.join(self._seconds)
        return answers[0] if answers else otherwise
