"""Slurm fields: our reasons on nodes, states of nodes and jobs, times and GPU counts.

The module imports little, because the gate loads it before it refuses a job.
"""

import re
from datetime import UTC, datetime

PREFIX = "holdfast:"  # prefix of all our reasons of drains; reasons without it belong to others and stay
LONGEST_NOTE = 200  # characters; operators read sinfo -R
UNTESTED = "untested"  # reasons of scripts on the node: it was used, or its slurmd started
TO_BE_TESTED = f"{UNTESTED} by the controller"  # reasons of the controller: no sign that the node was used
NULLS = frozenset({"", "(null)", "N/A", "n/a", "None", "none", "Unknown", "NONE"})
ONE_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
STAMP = re.compile(r" \[([^\[\]@]*)@([^\[\]]*)\]$")  # writer and time, which scontrol appends to a note

# Suffixes of states in sinfo, and their meaning.
SUFFIXES = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
# States of sinfo, short and long, as the flags that scontrol and JSON use. A drain hides the base state.
FLAGS: dict[str, tuple[str, ...]] = {
    "ALLOC": ("ALLOCATED",),
    "MIX": ("MIXED",),
    "COMP": ("COMPLETING",),
    "DRAINED": ("DRAIN",),
    "DRAINING": ("DRAIN", "ALLOCATED"),
    "DRNG": ("DRAIN", "ALLOCATED"),
    "FAILG": ("FAIL", "ALLOCATED"),
    "FAILING": ("FAIL", "ALLOCATED"),
    "MAINT": ("MAINTENANCE",),
    "RESV": ("RESERVED",),
    "PLND": ("PLANNED",),
    "UNK": ("UNKNOWN",),
    "INVAL": ("INVALID_REG",),
    "INVALID": ("INVALID_REG",),
    "NPC": ("PERFCTRS",),
    "POW_DN": ("POWERING_DOWN",),
    "POW_UP": ("POWERING_UP",),
    "NO_RESPOND": ("NOT_RESPONDING",),
    "BOOT": ("REBOOT_ISSUED",),
    "REBOOT^": ("REBOOT_ISSUED",),
    "FUTR": ("FUTURE",),
    "BLOCK": ("BLOCKED",),
}
BUSY = frozenset({"ALLOCATED", "MIXED", "COMPLETING"})
DOWN = frozenset({"DOWN", "ERROR", "FAIL", "FUTURE", "INVALID_REG"})
CLOSED = DOWN | {"DRAIN", "NOT_RESPONDING", "MAINTENANCE", "REBOOT_ISSUED", "POWERING_DOWN", "POWER_DOWN", "UNKNOWN"}


def note(cause: str, reason: str) -> str:
    """Our note on a node: one short printable line that begins with our prefix."""
    reported = f"{PREFIX} {plain(cause)}: {plain(reason)}" if cause else f"{PREFIX} {plain(reason)}"
    return reported if len(reported) <= LONGEST_NOTE else reported[: LONGEST_NOTE - 3].rstrip() + "..."


def ours(text: str) -> bool:
    return text.startswith(PREFIX)


def says_untested(text: str) -> bool:
    return text.startswith(f"{PREFIX} {UNTESTED}")


def is_mark(text: str) -> bool:
    """Whether a script on the node wrote the note, and not the controller."""
    return text.startswith(f"{PREFIX} {UNTESTED}:")


def plain(text: str) -> str:
    """One line of printable ASCII without double quotes, which scontrol prints unescaped."""
    printable = "".join(c if " " <= c <= "~" else " " for c in text.replace('"', "'"))
    return " ".join(printable.split())


def unstamped(text: str) -> tuple[str, str, float | None]:
    """A note of scontrol in three parts: text, writer, time."""
    stamp = STAMP.search(text)
    if stamp is None:
        return value(text), "", None
    return text[: stamp.start()], stamp[1], time(stamp[2])


def node_flags(text: str) -> frozenset[str]:
    """A node's state in any of Slurm's spellings: `IDLE+DRAIN`, `drained*`, `drng`, `mix-`, `idle#`."""
    flags: set[str] = set()
    for word in re.split(r"[+|,\s]+", text.strip()):
        bare = word
        while bare and bare[-1] in SUFFIXES and bare.upper() not in FLAGS:
            flags.add(SUFFIXES[bare[-1]])
            bare = bare[:-1]
        if bare:
            flags.update(FLAGS.get(bare.upper(), (bare.upper(),)))
    return frozenset(flags)


def value(text: str) -> str:
    """The text, or '' for any of Slurm's words for none."""
    stripped = text.strip()
    return "" if stripped in NULLS else stripped


def time(text: str) -> float | None:
    """Seconds since the epoch from a Slurm time in UTC (commands run with TZ=UTC), or from a plain number."""
    stripped = value(text)
    if stripped.isascii() and stripped.isdigit() and len(stripped) < 12:
        return float(stripped) or None
    try:
        return datetime.strptime(stripped, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def gpus_in_tres(text: str) -> int | None:
    """GPUs in an AllocTRES such as cpu=8,gres/gpu=4,gres/gpu:a100=4; None if the list is missing."""
    if not value(text):
        return None
    typed = 0
    for item in text.split(","):
        name, _, count = item.strip().partition("=")
        if name == "gres/gpu" and _count(count) is not None:
            return _count(count)
        if name.startswith("gres/gpu:"):
            typed += _count(count) or 0
    return typed


def gpus_in_gres(text: str) -> int:
    """GPUs in a Gres such as gpu:8(S:0-1) or gpu:a:2,gpu:b:2; brackets contain sockets or indices, not counts."""
    total = 0
    for item in re.sub(r"\([^()]*\)", "", value(text)).split(","):
        words = item.strip().removeprefix("gres/").replace("=", ":").split(":")
        if words[0] == "gpu":
            count = _count(words[-1])
            total += 1 if count is None else count
    return total


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
