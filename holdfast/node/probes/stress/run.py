"""A node under a shaped load: one worker per device, their speed per second, and the result."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from holdfast.node.probes.stress.profiles import Profile

SHARE = 0.25  # seconds at the start and at the end of the run that are compared


@dataclass(slots=True)
class Load:
    """The worker of one device; `rates` are pairs of second and iterations per second."""

    subject: str
    process: subprocess.Popen[str]
    rates: list[tuple[float, float]] = field(default_factory=list)
    ready: threading.Event = field(default_factory=threading.Event)

    def listen(self) -> None:
        for line in self.process.stdout or ():
            with suppress(ValueError, KeyError, TypeError):
                message: dict[str, Any] = json.loads(line)
                if "ready" in message:
                    self.ready.set()
                else:
                    self.rates.append((float(message["second"]), float(message["iterations_per_second"])))
        self.ready.set()


class Stress:
    """A stress run; leaving the `with` block ends every worker."""

    def __init__(self, profile: Profile, devices: Sequence[tuple[str, str]], seconds: float) -> None:
        world, port = len(devices), _free_port()
        self.loads = [
            Load(subject, _start(profile, device, seconds, {"rank": rank, "world": world, "port": port}))
            for rank, (subject, device) in enumerate(devices)
        ]
        for load in self.loads:
            threading.Thread(target=load.listen, daemon=True).start()

    def __enter__(self) -> "Stress":
        return self

    def __exit__(self, *_: object) -> None:
        for load in self.loads:
            load.process.kill()
        for load in self.loads:
            load.process.wait()

    def begin(self, timeout: float) -> None:
        """Starts all workers at once, after the last one is ready."""
        for load in self.loads:
            load.ready.wait(timeout)
        for load in self.loads:
            with suppress(OSError):
                assert load.process.stdin is not None
                load.process.stdin.write("\n")
                load.process.stdin.flush()

    @property
    def running(self) -> bool:
        return any(load.process.poll() is None for load in self.loads)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _start(profile: Profile, device: str, seconds: float, place: dict[str, int]) -> subprocess.Popen[str]:
    request = json.dumps({"phases": profile.phases, "device": device, "seconds": seconds, **place})
    return subprocess.Popen(
        (sys.executable, "-m", "holdfast.node.probes.stress.worker", request),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@dataclass(frozen=True, slots=True)
class Speed:
    subject: str
    first: float  # iterations per second in the first part of the run
    last: float
    against_median: float  # the last part, as a share of the median device's

    @property
    def drift(self) -> float:
        return self.last / self.first - 1.0 if self.first else 0.0


def speeds(rates: dict[str, list[tuple[float, float]]], seconds: float) -> list[Speed]:
    """Devices by speed at the end, slowest first. A device that never finished an iteration has no speed and is left
    out."""
    part = max(1.0, SHARE * seconds)
    ends = {
        subject: (
            median([rate for second, rate in seen if second <= part + 1.0] or [0.0]),
            median([rate for second, rate in seen if second >= seconds - part] or [0.0]),
        )
        for subject, seen in rates.items()
        if seen
    }
    return against_median([Speed(subject, first, last, 0.0) for subject, (first, last) in ends.items()])


def against_median(found: Sequence[Speed]) -> list[Speed]:
    middle = median(one.last for one in found) if found else 0.0
    compared = [replace(one, against_median=one.last / middle if middle else 0.0) for one in found]
    return sorted(compared, key=lambda one: one.against_median)
