"""Channel to a worker: one JSON command per line there, one JSON document per line back."""

import json
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from holdfast.node.probes.isolation.hosts import Host

NOT_OURS = (ValueError, KeyError, TypeError, AttributeError, RecursionError)  # a login shell may print a greeting
Answer = dict[str, Any]
Progress = Callable[[str], None]


SET_UP = "set-up failed"


def no_answer(seconds: float, began: bool) -> str:
    """The remaining time, never negative: a caller that waits for several hosts in turn may have none left for the
    last."""
    within = f" within {seconds:.0f} s" if seconds >= 1 else " in time"
    return f"{'lost during the probe' if began else SET_UP}: no answer{within}"


class SweepChannel:
    def __init__(self, host: Host) -> None:
        self.host = host
        self.trouble = ""
        self.network = ""  # the plugin that NCCL reports
        self.facts: Answer = {}
        self._answers: dict[int, queue.SimpleQueue[Answer | None]] = {0: queue.SimpleQueue()}
        self._out: IO[str] | None = None

    def connect(self, message: IO[str], out: IO[str]) -> None:
        self._out = out
        threading.Thread(target=self._read, args=(message,), daemon=True).start()

    def _read(self, message: IO[str]) -> None:
        with suppress(OSError, ValueError):  # a broken connection counts as closed
            for line in message:
                with suppress(*NOT_OURS):
                    document = json.loads(line)
                    self._answers[document.pop("slot", 0)].put(document)
        for answers in list(self._answers.values()):
            answers.put(None)

    def ask(self, command: Answer, slot: int = 0) -> None:
        self._answers.setdefault(slot, queue.SimpleQueue())
        if self.trouble or self._out is None:
            return
        try:
            self._out.write(json.dumps({**command, "slot": slot}) + "\n")
            self._out.flush()
        except (OSError, ValueError):
            when = "lost during the probe" if self.facts else SET_UP
            self.trouble = self.trouble or f"{when}: the worker died: {self.last_output}"

    def answer(self, seconds: float, progress: Progress | None = None, slot: int = 0, to: int | None = None) -> Answer:
        """The next answer that is not a progress message. A host that stays silent is marked as failed. `to` is the
        command: late answers to earlier commands are dropped."""
        while not self.trouble:
            try:
                message = self._answers[slot].get(timeout=max(0.0, seconds))
            except queue.Empty:
                self.trouble = no_answer(seconds, bool(self.facts))
                break
            if message is None:
                self.trouble = (
                    f"{'lost during the probe' if self.facts else SET_UP}: the worker died: {self.last_output}"
                )
            elif to is not None and message.get("id", to) != to:
                continue
            elif "progress" not in message:
                return message
            elif progress is not None:
                progress(f"{message['progress']} bytes")
        return {"error": self.trouble}

    @property
    def last_output(self) -> str:
        return "its line ended"

    def stop(self) -> None:
        """Does nothing: the code that started the worker also ends it."""
