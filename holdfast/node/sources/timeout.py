"""Questions to a file system that may never answer, such as a network share behind a job's files."""

import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


class Timeout:
    """Asks on a thread of its own, which may hang without us. While one hangs, nothing more is asked."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._asked: threading.Thread | None = None

    def ask(self, question: Callable[[], Answer], otherwise: Answer) -> Answer:
        """The answer, or `otherwise` where there is none in time. The question must not raise."""
        if self._asked is not None and self._asked.is_alive():
            return otherwise
        answers: list[Answer] = []
        self._asked = threading.Thread(target=lambda: answers.append(question()), daemon=True)
        self._asked.start()
        self._asked.join(self._seconds)
        return answers[0] if answers else otherwise
