"""Faulty sensors: stuck, absurd, silent, or different from everything that should change with them. Vectorised."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.catalog.seam_signals import SeamSignal, signals
from holdfast.model.panel import SignalTable, Times, Values
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_of
from holdfast.seams.moved import baseline_columns, cadence, median, step_of

STUCK_SECONDS = 180.0
STUCK_COLUMNS = 12
LIVELY_COLUMNS = 60
FINE = 3.0  # times the resolution: a sensor that usually changes by this much never rests by chance
LEAST_CHANGES = 12
STILL_READINGS = 10
LONGER = 4.0  # times the longest time without a change
SPREADS = 4.0  # standard deviations of its last readings
NEARLY_ALL = 0.8
SPANS = 2.9
LEAST_CROSSINGS, CROSSINGS_ALONE = 3, 5  # fewer may be drift
FEW_INSTRUMENTS = 32  # with more sensors of whole degrees than this, one rests for an hour by chance
LEFT_BY_NOW = 15.0  # expected number of changes that did not happen: by chance one case in e^15
AS_LIVELY = 0.5  # share of its kind's earlier changes: if all sensors of a kind change less, one may rest
LEAST_PEERS = 3
PEERS_MOVE = 8.0  # times its own resolution
LOST_SECONDS = 330.0  # a gateway that restarts is silent for five minutes
MISSED_SECONDS = 900.0  # the same if readings of its kind are often missing
LONGER_GAP = 3.0  # times the longest silence of its kind that ended
MOST_ROWS = 128
ABSURD_COLUMNS = 2
ABSURD_SECONDS = 60.0
ROUNDED = 1e-6  # tolerance for differences of floats
INSTRUMENTS = ("cooling", "power", "accelerators", "fabric", "storage", "serving")  # always report


class BadReading(NamedTuple):
    kind: str  # stuck, absurd, lost
    subject: Subject
    signal: str
    since: float
    says: str
    doubtful: bool = False  # sensors of the same kind were silent too and report again


def bad_readings(tables: dict[str, SignalTable], times: Times) -> Iterator[BadReading]:
    step = step_of(times)
    for name, table in tables.items():
        fact = signals().get(name)
        if fact is None or not table.subjects or fact.sparse:
            continue
        yield from _absurd(fact, table, times, step)
        if fact.domain in INSTRUMENTS:
            yield from _lost(fact, table, times, step)
            if fact.lives:
                yield from _stuck(fact, table, times, step)


def silent_readings(tables: dict[str, SignalTable], times: Times) -> Iterator[BadReading]:
    """Signals that may stop by design and did. The caller decides whether that is a fault."""
    step = step_of(times)
    for name, table in tables.items():
        if name in signals() and not signals()[name].sparse:
            yield from _lost(signals()[name], table, times, step)


def _absurd(fact: SeamSignal, table: SignalTable, times: Times, step: float) -> Iterator[BadReading]:
    last = table.values[:, -max(2 * ABSURD_COLUMNS, round(ABSURD_SECONDS / step)) :]
    for row in np.flatnonzero(_beyond(last, fact).sum(axis=1) >= ABSURD_COLUMNS):
        whole = table.values[row]
        bad = _beyond(whole, fact)
        value = float(whole[np.flatnonzero(bad)[-1]])
        since = float(times[int(np.argmax(bad))])
        yield BadReading("absurd", table.subjects[row], fact.name, since, f"{value:.4g}, which it cannot mean")


def _beyond(values: Values, fact: SeamSignal) -> npt.NDArray[np.bool_]:
    return (values < fact.lowest - ROUNDED) | (values > fact.highest)


def _lost(fact: SeamSignal, table: SignalTable, times: Times, step: float) -> Iterator[BadReading]:
    columns = max(3, round(LOST_SECONDS / step))
    first = baseline_columns(times)
    if len(times) < first + columns:
        return
    silent = np.isnan(table.values[:, -columns:]).all(axis=1)
    if not silent.any():
        return
    usual = _usual_gap(table.values[:: max(1, len(table.subjects) // MOST_ROWS)])
    for row in np.flatnonzero(silent):
        seen = np.flatnonzero(~np.isnan(table.values[row]))
        if len(seen) <= columns // 2:
            continue
        gap = max(usual, _usual_gap(table.values[[row], : seen[-1]]))
        if len(times) - seen[-1] > max(LONGER_GAP * gap, MISSED_SECONDS / step if gap else 0.0):
            since = float(times[seen[-1]]) + step
            yield BadReading("lost", table.subjects[row], fact.name, since, "nothing any more", usual > 0)


def _usual_gap(values: Values) -> float:
    """The longest silence, in columns, after which sensors of this kind reported again."""
    missing = np.isnan(values)
    if not missing.any():
        return 0.0
    run, longest = np.zeros(len(values)), np.zeros(len(values))
    spoken = np.zeros(len(values), np.bool_)
    for column in range(values.shape[1]):
        back = ~missing[:, column]
        longest = np.where(back & spoken, np.maximum(longest, run), longest)  # only silences that ended
        run = np.where(back, 0, run + 1)
        spoken |= back
    return float(longest.max(initial=0.0))


def _stuck(fact: SeamSignal, table: SignalTable, times: Times, step: float) -> Iterator[BadReading]:
    """Sensors that are unchanged for far longer than ever before, if they usually never rest or their peers changed.

    A sensor with a resolution of whole degrees may rest while nothing happens. It is stuck only if its peers changed by
    several of its steps.
    """
    columns = max(STUCK_COLUMNS, round(STUCK_SECONDS / step))
    if len(times) < baseline_columns(times) + columns:
        return
    every = cadence(table)
    columns = max(columns, STILL_READINGS * every)
    last = table.values[:, -columns:]
    for row in np.flatnonzero((last == last[:, :1]).all(axis=1)):
        rest = _rest(table.values[row])
        if rest is None:
            continue
        values, still = table.values[row], rest.still
        if still < max(columns, LONGER * rest.longest):
            continue
        until = len(values) - still - 1  # the column from which the sensor rests
        lively = values[max(0, until - LIVELY_COLUMNS) : until]
        lively = lively[~np.isnan(lively)]
        if not lively.size or not _where_it_was(lively[::every], float(values[-1]), rest.resolution):
            continue
        fine = _changes_near(values, float(values[-1]), rest) >= LEAST_CHANGES and (
            rest.usual_change >= FINE * rest.resolution or _restless(lively[::every], rest.resolution)
        )
        before = values[:until]
        if (
            fine
            or _peers_moved(table, int(row), still, rest.resolution)
            or _would_have_left(table, before[~np.isnan(before)][::every], float(values[-1]), still, every)
        ):
            since = float(times[until])
            says = f"exactly {float(values[-1]):.4g} for {still * step:.0f} s"
            yield BadReading("stuck", table.subjects[row], fact.name, since, says)


def _where_it_was(lively: Values, value: float, step: float) -> bool:
    """Whether the sensor rests near its last readings, as a stuck one does. A voltage that fell to zero, or the power
    of a GPU whose job ended, rests at another value."""
    last = lively[-STILL_READINGS:]
    middle = float(np.median(last))
    spread = 1.4826 * float(np.median(np.abs(last - middle)))
    inside = bool(lively.min() <= value <= lively.max())
    return inside and abs(value - middle) <= SPREADS * spread + 2 * step


def _changes_near(values: Values, value: float, rest: "_Rest") -> int:
    """How often the sensor changed at the level of its rest: an idle GPU draws constant power, to the watt."""
    known = values[~np.isnan(values)]
    near = np.abs(known - value) <= max(3 * rest.resolution, 3 * rest.usual_change)
    return int(((np.diff(known) != 0) & near[1:] & near[:-1]).sum())


def _restless(lively: Values, step: float) -> bool:
    """Whether nearly every ten readings in a row span four levels: such a sensor does not rest by chance. Three levels
    are too few: a value that is rounded twice, to halves and to even degrees, spans three near 31 and one near 32."""
    runs = len(lively) // STILL_READINGS
    if runs < 2:
        return False
    spans = np.ptp(lively[-runs * STILL_READINGS :].reshape(runs, STILL_READINGS), axis=1)
    return bool((spans >= SPANS * step).mean() >= NEARLY_ALL)


def _would_have_left(table: SignalTable, before: Values, value: float, still: int, every: int) -> bool:
    """Whether noise would have moved the sensor from its level by now. A sensor that crosses its level within a few
    readings has noise as large as its resolution, so it leaves the level wherever the true value lies in it.

    A value near the edge of a level leaves on one side only, and rests after it has drifted to the middle.
    """
    if len(table.subjects) > FEW_INSTRUMENTS:
        return False
    sides = np.sign(before - value)
    away = np.flatnonzero(sides)
    passed = (sides[away[1:]] != sides[away[:-1]]) & (np.diff(away) <= STILL_READINGS)
    crossings, visits = int(passed.sum()), len(before) - len(away)
    alone = len(table.subjects) < LEAST_PEERS
    if crossings < (CROSSINGS_ALONE if alone else LEAST_CROSSINGS) or not visits:
        return False
    left = min(1.0, 2 * crossings / visits) * still / every
    return left >= LEFT_BY_NOW and (alone or _as_lively(table, still))


def _as_lively(table: SignalTable, still: int) -> bool:
    """Whether sensors of the same kind change as often as before."""
    changed = np.abs(np.diff(table.values, axis=1)) > 0
    before, late = changed[:, :-still].mean(axis=1), changed[:, -still:].mean(axis=1)
    moved = before > 0
    return bool(moved.any()) and float(np.median(late[moved] / before[moved])) >= AS_LIVELY


class _Rest(NamedTuple):
    still: int  # columns since the last change
    longest: int  # longest earlier run of columns without a change
    changes: int
    resolution: float
    usual_change: float


def _rest(values: Values) -> _Rest | None:
    """How a sensor rests and changes; None for one that never changed. A missing reading is no change."""
    seen = np.flatnonzero(~np.isnan(values))
    known = values[seen]
    size = np.abs(np.diff(known))
    changed = np.flatnonzero(size > 1e-6 * np.abs(known).max(initial=0.0))
    if len(changed) < 2:
        return None
    # Two readings apart by a gap count as neighbours, but the gap is no rest.
    runs = np.diff(changed)
    steps = size[changed]
    last = int(seen[changed[-1] + 1])
    return _Rest(len(values) - 1 - last, int(runs.max()), len(changed), float(steps.min()), float(np.median(steps)))


def _peers_moved(table: SignalTable, row: int, still: int, step: float) -> bool:
    """Whether nearly all other parts of the same whole changed while the sensor rested, though it usually follows."""
    whole = whole_of(table.subjects[row])
    if whole is None:
        return False
    mates = [other for other, subject in enumerate(table.subjects) if other != row and subject.startswith(whole + "/")]
    late = table.values[mates, -still:] if mates else np.empty((0, 0), np.float32)
    third = still // 3
    if len(mates) < LEAST_PEERS or third < 2:
        return False
    # Medians, not single readings: a short dip that only some sensors were read in is no change.
    swing = np.abs(median(late[:, -third:]) - median(late[:, :third]))
    return bool((np.nan_to_num(swing) >= PEERS_MOVE * step).mean() >= 0.8)
