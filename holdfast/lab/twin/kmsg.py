"""The simulated kernel log: records in the form of /dev/kmsg, in an ordinary file that only grows."""

import os
from pathlib import Path

from holdfast.lab.twin.tree import append, replace_in_place

EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO = 0, 1, 2, 3, 4, 5, 6
TAKEN_BACK = b"twin: taken back"
_TAIL_BYTES = 65536


def record(priority: int, sequence: int, microseconds: int, text: str) -> str:
    return f"{priority},{sequence},{microseconds},-;{text}\n"


def say(path: Path, texts: list[str], uptime: float, priority: int = ERR) -> None:
    """Appends messages as the kernel does, all with one time stamp and consecutive sequence numbers."""
    first = next_sequence(path)
    stamp = max(0, int(uptime * 1_000_000))
    append(path, "".join(record(priority, first + n, stamp, text) for n, text in enumerate(texts)))


def next_sequence(path: Path) -> int:
    """One more than the last record's; garbage lines at the end are skipped."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        lines = file.read().split(b"\n")
    for line in reversed(lines):
        fields = line.split(b";", 1)[0].split(b",")
        if len(fields) >= 3 and fields[1].isdigit():
            return int(fields[1]) + 1
    return 0


def take_back(path: Path, fragments: list[str]) -> None:
    """Blanks lines in place, so that readers' offsets stay valid and no sequence number is missing."""
    wanted = [fragment.encode() for fragment in fragments]
    lines = path.read_bytes().split(b"\n")  # bytes, because the log may contain garbage on purpose
    for place, line in enumerate(lines):
        if any(fragment in line for fragment in wanted):
            head, _, text = line.partition(b";")
            lines[place] = head + b";" + TAKEN_BACK.ljust(len(text))[: len(text)]
    replace_in_place(path, b"\n".join(lines))
