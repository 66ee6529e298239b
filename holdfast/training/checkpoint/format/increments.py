"""Changed blocks of a copy: only these are sent to a partner that has the previous copy.

The partner puts both together into a whole copy and checks the hash of all of it, so a copy at a partner never hangs on
an older one: what does not come out right is sent whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.training.checkpoint.keeper.memory import PART
from holdfast.training.checkpoint.keeper.shard_store import Copy

Marks = tuple[int, ...]  # a hash for each part


@dataclass(frozen=True, slots=True)
class Sent:
    """What a partner has of a rank."""

    step: int
    attempt: str
    size: int
    marks: Marks


def marks_of(copy: Copy) -> Marks:
    return copy.marks or copy.pages.fingerprint(copy.size)[1]


def spans(size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + PART, size)) for start in range(0, size, PART))


def changed(before: Sent | None, copy: Copy, marks: Marks) -> list[int] | None:
    """The parts that differ; None where there is nothing to build on, or hardly anything stayed."""
    if before is None or (before.attempt, before.size) != (copy.attempt, copy.size):
        return None
    parts = [at for at, (old, new) in enumerate(zip(before.marks, marks, strict=True)) if old != new]
    return parts if 2 * len(parts) <= len(marks) else None


def checked_parts(parts: Sequence[object], size: int) -> list[tuple[int, int]]:
    """Where the parts lie that another keeper announces, or a ValueError."""
    places = list(spans(size))
    if not all(isinstance(at, int) and 0 <= at < len(places) for at in parts):
        raise ValueError("not parts of this copy")
    return [places[at] for at in parts if isinstance(at, int)]
