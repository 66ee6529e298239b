"""Limits of a single reading. A check that judges growth or duration says so instead of a bare pass."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from holdfast.model.health import Health
from holdfast.model.verdict import Row
from holdfast.model.window import Run

ONE_READING = "one reading: rates are not judged"


def seconds_seen(runs: Sequence[Run]) -> float:
    return runs[-1].end - runs[0].start if runs else 0.0


def not_judged(row: Row) -> Row:
    """A pass that only means that no fault is visible yet."""
    return replace(row, reason=row.reason or ONE_READING) if row.health is Health.PASS else row


def evidence_of_one_reading(rows: Iterable[Row]) -> tuple[str, ...]:
    """One line of evidence for however many subjects were seen only once."""
    return (ONE_READING,) if any(ONE_READING in row.reason for row in rows) else ()
