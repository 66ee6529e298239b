"""Instruments that lie: stuck, absurd, gone, or against everything that should move with them. All rows at once."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from holdfast.catalog.seam_signals import SeamSignal, signals
from holdfast.model.panel import Table, Times
from holdfast.model.subject import Subject
from holdfast.seams.moved import baseline_columns

STUCK_SECONDS = 180.0
STUCK_COLUMNS = 12
LIVELY_COLUMNS = 60
SURE = 20.0  # a living instrument is so still by chance once in e^20
LOST_SECONDS = 330.0  # a gateway that restarts is silent for five minutes
ABSURD_COLUMNS = 2
ABSURD_SECONDS = 60.0
INSTRUMENTS = ("cooling", "power", "accelerators", "fabric", "storage", "serving")  # that never fall silent by design


class Lie(NamedTuple):
    kind: str  # stuck, absurd, lost
    subject: Subject
    signal: str
    since: float
    says: str


def lies(tables: dict[str, Table], times: Times) -> Iterator[Lie]:
    if len(times) < 2:
        return
    step = float(times[1] - times[0])
    for name, table in tables.items():
        fact = signals().get(name)
        if fact is None or not table.subjects or fact.sparse:
            continue
        yield from _absurd(fact, table, times, step)
        if fact.domain in INSTRUMENTS:
            yield from _lost(fact, table, times, step)
            if fact.lives:
                yield from _stuck(fact, table, times, step)


def silences(tables: dict[str, Table], times: Times) -> Iterator[Lie]:
    """Of signals that may fall silent by design: who did. Whether it is a lie, others must say."""
    step = float(times[1] - times[0]) if len(times) > 1 else 0.0
    for name, table in tables.items():
        if step and name in signals() and table.subjects and not signals()[name].sparse:
            yield from _lost(signals()[name], table, times, step)


def _absurd(fact: SeamSignal, table: Table, times: Times, step: float) -> Iterator[Lie]:
    last = table.values[:, -max(2 * ABSURD_COLUMNS, round(ABSURD_SECONDS / step)) :]
    beyond = (last < fact.lowest) | (last > fact.highest)
    for row in np.flatnonzero(beyond.sum(axis=1) >= ABSURD_COLUMNS):
        whole = table.values[row]
        bad = (whole < fact.lowest) | (whole > fact.highest)
        value = float(whole[np.flatnonzero(bad)[-1]])
        since = float(times[int(np.argmax(bad))])
        yield Lie("absurd", table.subjects[row], fact.name, since, f"{value:.4g}, which it cannot mean")


def _lost(fact: SeamSignal, table: Table, times: Times, step: float) -> Iterator[Lie]:
    columns = max(3, round(LOST_SECONDS / step))
    first = baseline_columns(times)
    if len(times) < first + columns:
        return
    silent = np.isnan(table.values[:, -columns:]).all(axis=1)
    for row in np.flatnonzero(silent):
        seen = np.flatnonzero(~np.isnan(table.values[row]))
        if len(seen) > columns // 2:
            since = float(times[seen[-1]]) + step
            yield Lie("lost", table.subjects[row], fact.name, since, "nothing any more")


def _stuck(fact: SeamSignal, table: Table, times: Times, step: float) -> Iterator[Lie]:
    """Still for longer than its own restlessness allows: a sensor of whole degrees may rest, a fine one may not."""
    columns = max(STUCK_COLUMNS, round(STUCK_SECONDS / step))
    first = baseline_columns(times)
    if len(times) < first + columns:
        return
    last = table.values[:, -columns:]
    for row in np.flatnonzero((last == last[:, :1]).all(axis=1)):
        values = table.values[row]
        changes = values[1:] != values[:-1]
        still = len(changes) - (int(np.flatnonzero(changes)[-1]) + 1 if changes.any() else 0)
        restless = float(changes[: len(changes) - still].mean()) if still < len(changes) else 0.0
        lively = values[max(0, len(values) - still - 1 - LIVELY_COLUMNS) : len(values) - still - 1]
        where_it_was = lively.size > 0 and np.nanmin(lively) <= values[-1] <= np.nanmax(lively)
        # A voltage that fell to nothing rests too; an instrument that sticks does so where it was.
        if where_it_was and still * -np.log(max(1e-3, 1.0 - restless)) >= SURE:
            since = float(times[len(times) - 1 - still])
            says = f"exactly {float(values[-1]):.4g} for {still * step:.0f} s"
            yield Lie("stuck", table.subjects[row], fact.name, since, says)
