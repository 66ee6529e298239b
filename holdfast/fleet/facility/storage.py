"""Storage source: a child process creates, syncs, renames and removes a small file on a shared file system.

A mount that hangs in the kernel blocks the child and never us. While a child is blocked, no other starts, and the
source reports how long it has waited. The child measures the times, so that its start does not count.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
import weakref
from dataclasses import dataclass
from typing import IO

from holdfast.catalog import seam_signals
from holdfast.model.signal import Reading
from holdfast.runtime.source import ReadingBuilder

LATENCY, METADATA, USED = "storage_latency_seconds", "storage_metadata_seconds", "storage_used_ratio"
_POLL_SECONDS = 0.005
_LONGEST_ANSWER = 4096
# The child's program. The file has the machine's name, so that several machines can test one mount, and the next child
# removes a file that a terminated child left.
_PROBE = """
import json, os, sys, time
folder, size = sys.argv[1], int(sys.argv[2])
name = os.path.join(folder, f".holdfast-probe-{os.uname().nodename}")
data = os.urandom(size)
took = []
try:
    began = time.perf_counter()
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    os.write(file, data)
    os.fsync(file)
    os.close(file)
    latency = time.perf_counter() - began
    for number in range(8):
        began = time.perf_counter()
        os.stat(name)
        os.rename(name, name + "r")
        os.rename(name + "r", name)
        took.append((time.perf_counter() - began) / 3)
finally:
    for left in (name, name + "r"):
        try:
            os.unlink(left)
        except FileNotFoundError:
            pass
room = os.statvfs(folder)
used = 1 - room.f_bavail / room.f_blocks if room.f_blocks else None
print(json.dumps([latency, sorted(took)[4], used]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    subject: str
    path: str
    """A folder on the mount in which a small file may be made."""
    every: float = 30.0
    timeout: float = 10.0
    bytes: int = 1 << 20

    def __post_init__(self) -> None:
        if not self.subject.startswith("storage/"):
            raise ValueError(f"subject: expected an address such as storage/lustre1, found {self.subject!r}")
        if not os.path.isabs(self.path):
            raise ValueError(f"path: expected one that begins with /, found {self.path!r}")
        if not 1 <= self.bytes <= 1 << 30:
            raise ValueError(f"bytes: expected 1 to {1 << 30}, found {self.bytes}")
        if not 0.1 <= self.timeout <= 3600:
            raise ValueError(f"timeout: expected 0.1 to 3600, found {self.timeout:g}")


class StorageSource:
    def __init__(self, settings: StorageSettings) -> None:
        self.settings = settings
        self.name = f"storage {settings.subject}"
        self.every = settings.every
        self.deadline = settings.timeout + 5.0
        self.carries = (LATENCY, METADATA, USED)
        self._out: list[tuple[subprocess.Popen[bytes], float]] = []  # (process without an answer, its start)
        weakref.finalize(self, _abandon, self._out)

    def read(self, now: float) -> Reading:
        if not self._out:
            command = [sys.executable, "-I", "-S", "-c", _PROBE, self.settings.path, str(self.settings.bytes)]
            try:
                child = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
            except OSError as error:
                return self._blind(now, f"cannot be asked: {error.strerror}")
            self._out.append((child, time.monotonic()))
        child, since = self._out[0]
        until = time.monotonic() + self.settings.timeout
        while child.poll() is None and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        if child.poll() is None:
            child.kill()  # a process that hangs in the kernel ends when its mount answers
            return self._blind(now, f"{self.settings.path} has not answered for {time.monotonic() - since:.0f} s")
        self._out.clear()
        return self._reported(child, now)

    def _reported(self, child: subprocess.Popen[bytes], now: float) -> Reading:
        output, complaint = _words(child.stdout), _words(child.stderr)
        if child.returncode != 0:
            last = complaint.strip().rsplit("\n", 1)[-1] or f"ended with code {child.returncode}"
            return self._blind(now, f"{self.settings.path}: {last}")
        builder = ReadingBuilder()
        for name, value in zip((LATENCY, METADATA, USED), json.loads(output), strict=True):
            why = "the mount does not report it" if value is None else seam_signals.implausible(name, value)
            if why:
                builder.miss(self.settings.subject, why, name)
            else:
                builder.add(self.settings.subject, name, value)
        return builder.build(self.name, now)

    def _blind(self, now: float, why: str) -> Reading:
        return Reading(source=self.name, at=now, blind=f"{self.settings.subject}: {why}")


def _words(pipe: IO[bytes] | None) -> str:
    if pipe is None:
        return ""
    with pipe:
        return pipe.read(_LONGEST_ANSWER).decode(errors="replace")


def _abandon(out: list[tuple[subprocess.Popen[bytes], float]]) -> None:
    for child, _ in out:
        with contextlib.suppress(OSError):
            child.kill()
