"""The active probes behind the interface of a source: one read runs them all in a child process."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any

from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import kind, node
from holdfast.node.probes.active.probes import DEVICE, PROBES, seconds_name

START_SECONDS = 60.0  # loading torch from a shared file system takes time
GENEROUS_SECONDS = 120.0  # for a probe, beyond its budget
LONGEST_MESSAGE = 300

Notify = Callable[[str, str], None]  # the probe, and its current part


class ActiveSource:
    name = "probes"
    every = 86400.0
    carries = (DEVICE, *(name for names in PROBES.values() for name in names), *map(seconds_name, PROBES))

    def __init__(
        self, node_name: str, seconds: float | None, stand_ins: Callable[[], int], probes: Sequence[str]
    ) -> None:
        self._node = node(node_name)
        self._seconds = seconds
        self._stand_ins = stand_ins
        self._probes = tuple(probes)
        self._process: subprocess.Popen[str] | None = None
        self._guard = threading.Lock()
        self._stopped = False
        self.notify: Notify = lambda probe, words: None
        self.deadline = START_SECONDS + len(self._probes) * ((seconds or 0.0) + GENEROUS_SECONDS)

    def read(self, now: float) -> Reading:
        request = {"node": self._node, "seconds": self._seconds, "stand_ins": self._stand_ins(), "probes": self._probes}
        try:
            process = self._start(json.dumps(request))
        except OSError as error:
            return Reading(source=self.name, at=now, blind=f"the probes cannot be started: {error}")
        if process is None:
            return Reading(source=self.name, at=now, blind="the probes were stopped")
        errors: list[str] = []
        listener = threading.Thread(target=_collect, args=(process.stderr, errors), daemon=True)
        listener.start()
        try:
            found = self._read_output(process, now)
        finally:
            _end(process)
        if process.returncode not in (0, None) and not found.blind:
            listener.join(1.0)
            message = next((line for line in reversed(errors) if line.strip()), "no output").strip()
            return Reading(source=self.name, at=now, blind=f"the probes ended early: {message[:LONGEST_MESSAGE]}")
        return found

    def _start(self, request: str) -> subprocess.Popen[str] | None:
        with self._guard:
            if self._stopped:
                return None
            self._process = subprocess.Popen(
                (sys.executable, "-m", "holdfast.node.probes.active.suite", request),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            return self._process

    def _read_output(self, process: subprocess.Popen[str], now: float) -> Reading:
        signals: list[Signal] = []
        absent: dict[tuple[str, str], str] = {}
        assert process.stdout is not None
        for line in process.stdout:
            message: dict[str, Any] = json.loads(line)
            if "blind" in message:
                return Reading(source=self.name, at=now, blind=message["blind"])
            if "begin" in message:
                self.notify(message["begin"], message.get("at", ""))
            signals += [Signal(*one) for one in message.get("signals", ())]
            absent.update({(subject, name): why for subject, name, why in message.get("absent", ())})
        process.wait()
        present = sorted({one.subject for one in signals if kind(one.subject) in ("peer", "host_path")})
        return Reading(source=self.name, at=now, signals=signals, absent=absent, present=present)

    def stop(self) -> None:
        """Ends the running probe and starts no other; returns after its end."""
        with self._guard:
            self._stopped = True
            if self._process is not None:
                _end(self._process)


def _collect(stream: IO[str] | None, into: list[str]) -> None:
    with suppress(ValueError):
        for line in stream or ():
            into[:-20] = []
            into.append(line)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the whole group, including processes that outlived their leader."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
