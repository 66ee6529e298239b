"""Changed blocks of a copy: only these are sent to a partner that has the previous copy.

The partner assembles a whole copy and checks the hash of all of it, so its copy never depends on an older one. If the
hash differs, the copy is sent whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.training.checkpoint.keeper.memory import PART
from holdfast.training.checkpoint.keeper.shard_store import Copy

Marks = tuple[int, ...]  # one hash per part


@dataclass(frozen=True, slots=True)
class Sent:
    """The copy of a rank that a partner has."""

    step: int
    attempt: str
    size: int
    marks: Marks


def marks_of(copy: Copy) -> Marks:
    return copy.marks or copy.pages.fingerprint(copy.size)[1]


def spans(size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + PART, size)) for start in range(0, size, PART))


def changed(before: Sent | None, copy: Copy, marks: Marks) -> list[int] | None:
    """Parts that differ; None if the partner has no previous copy, or hardly anything is unchanged."""
    if before is None or (before.attempt, before.size) != (copy.attempt, copy.size):
        return None
    parts = [at for at, (old, new) in enumerate(zip(before.marks, marks, strict=True)) if old != new]
    return parts if 2 * len(parts) <= len(marks) else None


def checked_parts(parts: Sequence[object], size: int) -> list[tuple[int, int]]:
    """Offsets of the parts that another keeper announces. Raises ValueError."""
    places = list(spans(size))
    if not all(isinstance(at, int) and 0 <= at < len(places) for at in parts):
        raise ValueError("not parts of this copy")
    return [places[at] for at in parts if isinstance(at, int)]
