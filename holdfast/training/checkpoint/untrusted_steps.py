"""Untrusted steps, in a file next to the checkpoints: steps found to be wrong after they were saved."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from holdfast.training.checkpoint.candidates import StepCandidate

FILE = "suspect-steps.jsonl"
ANY, MEMORY, STORAGE = "", "memory", "storage"


@dataclass(frozen=True, slots=True)
class UntrustedStep:
    since: int
    until: int
    runs: tuple[str, ...]  # a later run may save the same steps again, and correctly
    tier: str
    why: str


def note(folder: Path, step: UntrustedStep) -> None:
    with open(folder / FILE, "a") as file:
        file.write(json.dumps(asdict(step)) + "\n")


def noted(folder: Path) -> list[UntrustedStep]:
    """The recorded entries; a line without one is skipped."""
    path = folder / FILE
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return [step for line in lines if (step := _read(line)) is not None]


def _read(line: str) -> UntrustedStep | None:
    try:
        row = json.loads(line)
        return of_row([row["since"], row["until"], row["runs"], row["tier"], row["why"]])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def of_row(row: Sequence[object]) -> UntrustedStep:
    match row:
        case [int(since), int(until), list(runs), str(tier), str(why)]:
            return UntrustedStep(since, until, tuple(map(str, runs)), tier, why)
    raise ValueError("not a suspect step")


def to_row(step: UntrustedStep) -> list[object]:
    return [step.since, step.until, list(step.runs), step.tier, step.why]


def trusted(rows: Iterable[StepCandidate], untrusted: Sequence[UntrustedStep]) -> list[StepCandidate]:
    """Steps that may be loaded, and their sources."""
    left = []
    for row in rows:
        against = {one.tier for one in untrusted if one.since <= row.step <= one.until and row.attempt in one.runs}
        kept = replace(
            row,
            in_memory=frozenset() if against & {ANY, MEMORY} else row.in_memory,
            in_storage=frozenset() if against & {ANY, STORAGE} else row.in_storage,
        )
        if kept.whole:
            left.append(kept)
    return left
