"""Descendant processes from /proc. Launchers start workers in sessions of their own."""

import ctypes
import os
import signal
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_SECONDS = 0.05
OUTLIVES = "HOLDFAST_OUTLIVES_ATTEMPTS"  # set for what must be there when the next attempt starts: checkpoint keepers
_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Orphaned descendants become our children, so that they can still be found and ended."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent() -> None:
    """Called in a new child. The kernel ends it if the supervisor is killed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def below(pid: int) -> list[int]:
    """Every descendant of `pid`, parents before children, without zombies."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and (fields := stat_of(int(entry))) and fields[0] != "Z":
            children[int(fields[1])].append(int(entry))
    found, queue = [], [pid]
    while queue:
        queue = [child for parent in queue for child in children[parent]]
        found += queue
    return found


def stat_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name: state, parent, ...; nothing for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def variable(pid: int, name: str) -> str:
    """One variable that the launcher gave to a process of ours."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return ""
    for pair in environ.split(b"\0"):
        key, _, value = pair.partition(b"=")
        if key == name.encode():
            return value.decode("utf-8", "replace")
    return ""


def end_all(grace_seconds: float, spare: int = 0) -> None:
    """Ends the processes of the attempt: SIGTERM first, SIGKILL after the grace period. Whoever started `spare`
    reaps it."""
    for kind, timeout in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, 10.0)):
        deadline = time.monotonic() + timeout
        asked: set[int] = set()
        while (left := _of_attempt()) and time.monotonic() < deadline:
            for pid in left:
                if pid not in asked:
                    asked.add(pid)
                    with suppress(ProcessLookupError):
                        os.kill(pid, kind)
            reap(spare)
            time.sleep(_POLL_SECONDS)
    reap(spare)


def _of_attempt() -> list[int]:
    return [pid for pid in below(os.getpid()) if not variable(pid, OUTLIVES)]


def release(timeout_seconds: float) -> None:
    """Called when no attempt follows. Processes that outlived the attempts get SIGTERM and time to write their
    memory to storage."""
    deadline = time.monotonic() + timeout_seconds
    kept = {pid for pid in below(os.getpid()) if variable(pid, OUTLIVES)}
    for pid in kept:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    while kept & {*below(os.getpid())} and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    reap(0)


def reap(spare: int) -> None:
    """Reaps orphans that ended."""
    for entry in os.listdir("/proc"):
        if not entry.isdecimal() or int(entry) == spare:
            continue
        fields = stat_of(int(entry))
        if fields and fields[0] == "Z" and int(fields[1]) == os.getpid():
            with suppress(ChildProcessError):
                os.waitpid(int(entry), os.WNOHANG)
