"""Further ranks on one host for its other GPUs or rails, as children of its worker."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class ExtraRanks:
    """Child ranks of a worker. Their greetings are dropped; their answers carry their number."""

    def __init__(self, send_document: Callable[[dict[str, Any]], None]) -> None:
        self._say = send_document
        self._children: dict[int, subprocess.Popen[str]] = {}

    def ask(self, number: int, command: dict[str, Any]) -> None:
        child = self._children.get(number) or self._start(number)
        try:
            assert child.stdin is not None
            child.stdin.write(json.dumps(command) + "\n")
            child.stdin.flush()
        except OSError:
            self._say({"slot": number, "error": f"the process of rank {number} on this host died"})

    def _start(self, number: int) -> "subprocess.Popen[str]":
        child = self._children[number] = subprocess.Popen(
            (sys.executable, "-m", "holdfast.node.probes.sweep.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._listen, args=(number, child), daemon=True).start()
        return child

    def _listen(self, number: int, child: "subprocess.Popen[str]") -> None:
        for line in child.stdout or ():
            with suppress(ValueError):
                document = json.loads(line)
                if "hello" not in document:
                    self._say({**document, "slot": number})
        self._say({"slot": number, "error": f"the process of rank {number} on this host died"})
