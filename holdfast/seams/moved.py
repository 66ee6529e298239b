"""Changes: every row of a table against its own calm beginning. Vectorised.

First a cheap pass over every row (the last minute against the median of the beginning), then a careful one over the
rows that are left: does the change exceed the row's own noise and usual excursions, and since when?
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from holdfast.catalog.seam_signals import SeamSignal
from holdfast.model.finding import Symptom
from holdfast.model.panel import SignalTable, Times, Values
from holdfast.model.subject import Subject

BASELINE_SECONDS = 900.0
LEAST_BASELINE = 4  # columns; with fewer nothing is usual yet
RECENT_SECONDS = 60.0
PAUSE_SECONDS = 300.0
MOST_SAMPLES = 32  # of the beginning: more make a median slower, not better
NOISES = 5.0  # a move is at least so many times the row's own noise
LEAST_READINGS = 3  # of an instrument, that a move must have lasted
LEAST_STEPS = 8  # of a row, to learn its resolution from
LEAST_GAPS = 20  # between changes, to learn a cadence from
TINY = 1e-9  # stands for nothing where something is divided by it
ROUNDING = 0.5  # of a resolution: what rounding alone may move a median by
LASTING_SECONDS = 600.0
NEARLY_ALL = 0.9
USUAL_EXCURSION = 0.96  # what a row does in its calm beginning one time in 25 is no news
LEAST_PEERS = 6
PEERS_STRAY = 6.0  # times what the middle one of its still peers strayed from the others, that is about four spreads
FAR = 3.0  # times the least move that matters: so far no instrument strays by itself


@dataclass(frozen=True)
class Moves:
    """The rows of one signal that moved, and which were seen at all."""

    signal: SeamSignal
    subjects: tuple[Subject, ...]
    rows: npt.NDArray[np.int64]  # of those that moved
    before: Values
    now: Values
    since: Times
    seen: npt.NDArray[np.bool_]  # of every row: enough was seen, at the beginning and now, to tell
    center: Values  # of every row: what is usual
    recent: Values  # of every row: what is now

    def symptoms(self) -> list[Symptom]:
        name = self.signal.name
        reported = zip(self.rows.tolist(), self.since.tolist(), self.before.tolist(), self.now.tolist(), strict=True)
        return [Symptom(self.subjects[row], name, since, before, now) for row, since, before, now in reported]

    def keep(self, wanted: npt.NDArray[np.bool_]) -> "Moves":
        """Only some of those that moved."""
        return replace(
            self,
            rows=self.rows[wanted],
            before=self.before[wanted],
            now=self.now[wanted],
            since=self.since[wanted],
        )


def step_of(times: Times) -> float:
    """Seconds between two columns, of which there are at least two."""
    return float(times[1] - times[0])


def baseline_columns(times: Times) -> int:
    """How many columns of the beginning count as calm: a third of the window, at most a quarter of an hour."""
    if len(times) < 2:
        return 0
    return min(max(len(times) // 3, LEAST_BASELINE), max(LEAST_BASELINE, round(BASELINE_SECONDS / step_of(times))))


def recent_columns(times: Times) -> int:
    return max(2, round(RECENT_SECONDS / step_of(times)))


def cadence_columns(values: Values) -> int:
    """Columns between two readings of these instruments, learned from how soon after a change the next one comes.

    A reading that is held until the next fills several columns, and they are one reading, not several. Where nothing
    ever changes there is nothing to learn, and every column counts.
    """
    sample = values[:: max(1, len(values) // MOST_SAMPLES)]
    with np.errstate(invalid="ignore"):
        changed = (sample[:, 1:] != sample[:, :-1]) & ~np.isnan(sample[:, 1:]) & ~np.isnan(sample[:, :-1])
    rows, columns = np.nonzero(changed)
    same = rows[1:] == rows[:-1]
    gaps = np.sort((columns[1:] - columns[:-1])[same])
    return int(gaps[len(gaps) // 20]) if len(gaps) >= LEAST_GAPS else 1


def cadence(table: SignalTable) -> int:
    """Of a table, learned once: several rules ask for it in one evaluation."""
    known: int | None = table.learned.get("cadence")
    if known is None:
        known = table.learned["cadence"] = cadence_columns(table.values)
    return known


def moves(
    table: SignalTable, times: Times, signal: SeamSignal, calm: SignalTable | None = None, *, pauses: bool = False
) -> Moves:
    """Which rows moved in the direction that hurts. `calm` is a known good past; else the window's own beginning.

    Where a signal pauses (a job that writes a checkpoint tells no step time), its last value stands for some minutes.
    """
    count = len(table.subjects)
    every = 1 if signal.sparse or not count else cadence(table)
    first, last = baseline_columns(times), 0 if len(times) < 2 else max(recent_columns(times), LEAST_READINGS * every)
    if not count or len(times) < first + last or not last:
        return _nothing(table, signal)
    if signal.sparse:
        table = _dense(table)
    base = _beginning(table, first) if calm is None else _aligned(table, calm, first)
    values = table.values
    base = _or_own_first(base, values[:, :-last], first)
    center = median(base)
    recent = median(_latest(values, times, last) if pauses else values[:, -last:])
    seen = np.isfinite(center) & np.isfinite(recent)
    deviation = np.where(seen, _hurting(recent - center, signal.bad), 0)
    least = np.maximum(np.float32(signal.least_absolute), np.float32(signal.least_ratio) * np.abs(center))
    rows = np.flatnonzero((deviation >= least) & (deviation > 0))
    found = Moves(signal, table.subjects, rows, center[rows], recent[rows], np.zeros(len(rows)), seen, center, recent)
    if not len(rows):
        return found
    return _beyond_peers(_careful(found, base[rows], values[rows], times, least[rows], last // every), deviation, least)


def _beyond_peers(found: Moves, deviation: Values, least: Values) -> Moves:
    """Only what strayed farther than its peers do by themselves: a beginning of minutes does not show how far an
    instrument wanders within an hour, and of hundreds of them a few are always far off."""
    strayed = deviation / np.maximum(least, TINY)
    still = found.seen.copy()
    still[found.rows] = False
    if int(still.sum()) < LEAST_PEERS:
        return found
    others = strayed[still]
    usual = float(np.median(np.abs(others - np.median(others))))
    return found.keep(strayed[found.rows] >= min(FAR, PEERS_STRAY * usual))


def _latest(values: Values, times: Times, last: int) -> Values:
    """The last readings, as many as a recent window has; a pause among them is skipped. One reading is not several."""
    pause = round(PAUSE_SECONDS / step_of(times))
    late = values[:, -(last + pause) :]
    order = np.argsort(~np.isnan(late), axis=1, kind="stable")  # what was not seen first, the rest as it came
    found: Values = np.take_along_axis(late, order, axis=1)[:, -last:]
    return found


def _careful(found: Moves, base: Values, values: Values, times: Times, least: Values, readings: int) -> Moves:
    sign = np.sign(found.now - found.before)[:, None]
    drift = (base - found.before[:, None]) * sign
    noise = 1.4826 * median(np.abs(drift))
    usual = _high(drift)
    size = np.abs(found.now - found.before)
    # What a coarse instrument rounds away looks like no noise at all.
    noise = np.maximum(noise, ROUNDING * resolution(base))
    series = _steady((values - found.before[:, None]) * sign)
    if found.signal.domain == "runtime":  # hiccups of single steps are no measure of what lasts
        usual = np.where(_lasts(series, size, times), 0.0, usual)
    sure = (size >= NOISES * noise * np.sqrt(2.0 / readings)) & (size > usual)
    edge = np.maximum(3.0 * noise, 0.3 * least)
    calm = ~(series >= edge[:, None])
    onset = np.where(calm.any(axis=1), calm.shape[1] - np.argmax(calm[:, ::-1], axis=1), 0)
    since = times[np.minimum(onset, len(times) - 1)]
    return replace(found, since=since).keep(sure)


def _lasts(series: Values, size: Values, times: Times) -> npt.NDArray[np.bool_]:
    """Has nearly every reading of the last minutes been off by half as much at least?"""
    late = series[:, -max(LEAST_READINGS, round(LASTING_SECONDS / step_of(times))) :]
    found: npt.NDArray[np.bool_] = (late >= 0.5 * size[:, None]).mean(axis=1) >= NEARLY_ALL
    return found


def resolution(values: Values) -> Values:
    """The smallest step of each row; 0 where it changes too seldom to tell."""
    steps = np.abs(np.diff(values, axis=1))
    steps = np.where(np.isnan(steps) | (steps <= 1e-6 * np.nanmax(np.abs(values), initial=0.0)), np.inf, steps)
    least = steps.min(axis=1, initial=np.inf)
    reported = np.isfinite(steps).sum(axis=1) >= LEAST_STEPS
    found: Values = np.where(reported, least, 0.0).astype(np.float32)
    return found


def _high(values: Values) -> Values:
    """What is exceeded one time in 25, over what was seen."""
    ordered = np.sort(values, axis=1)  # what was not seen sorts to the end
    count = (~np.isnan(values)).sum(axis=1)
    place = np.maximum(np.ceil(USUAL_EXCURSION * count).astype(np.int64) - 1, 0)
    found: Values = ordered[np.arange(len(values)), place]
    return found


def _dense(table: SignalTable) -> SignalTable:
    """A value reported now and then holds until the next; before the first, what was reported first is taken."""
    values = _held(table.values)
    first = np.argmax(~np.isnan(values), axis=1)
    known = values[np.arange(len(values)), first]
    values = np.where(np.isnan(values), known[:, None], values)
    return SignalTable(table.subjects, values)


def _held(values: Values) -> Values:
    """Gaps filled with the value before them."""
    gaps = np.isnan(values)
    if not gaps.any():
        return values
    last = np.where(gaps, 0, np.arange(values.shape[1]))
    np.maximum.accumulate(last, axis=1, out=last)
    found: Values = np.take_along_axis(values, last, axis=1)
    return found


def _steady(series: Values) -> Values:
    """The middle of three neighbours: one wild sample neither begins nor ends a move. Gaps hold the last value."""
    filled = _held(series)
    middle = filled.copy()
    a, b, c = filled[:, :-2], filled[:, 1:-1], filled[:, 2:]
    middle[:, 1:-1] = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    return middle


def _hurting(change: Values, bad: str) -> Values:
    return np.abs(change) if bad == "either" else change if bad == "up" else -change


def _beginning(table: SignalTable, columns: int) -> Values:
    stride = max(1, columns // MOST_SAMPLES)
    return table.values[:, :columns:stride]


def _or_own_first(base: Values, values: Values, columns: int) -> Values:
    """Who came later, as a job does, has no place in the beginning: the first it was seen is what is usual for it."""
    rows = np.flatnonzero(np.isnan(base).sum(axis=1) * 2 > base.shape[1])
    mine = values[rows]
    first = np.argmax(~np.isnan(mine), axis=1)
    places = first[:, None] + np.arange(0, columns, max(1, columns // MOST_SAMPLES))[: base.shape[1]]
    own = np.take_along_axis(mine, np.minimum(places, mine.shape[1] - 1), axis=1)
    found = base.copy()
    found[rows, : own.shape[1]] = np.where(places < mine.shape[1], own, np.nan)
    found[rows, own.shape[1] :] = np.nan
    return found


def _aligned(table: SignalTable, calm: SignalTable, columns: int) -> Values:
    """The known good past in the order of these rows; a row it does not know uses its own beginning."""
    known = calm.values[:, :: max(1, calm.values.shape[1] // MOST_SAMPLES)]
    own = _beginning(table, columns)
    width = max(known.shape[1], own.shape[1])
    base = np.full((len(table.subjects), width), np.nan, np.float32)
    for row, subject in enumerate(table.subjects):
        place = calm.index.get(subject)
        if place is None:
            base[row, : own.shape[1]] = own[row]
        else:
            base[row] = np.resize(known[place], width)  # a short past is a past all the same
    return base


def median(values: Values) -> Values:
    """Per row, over what was seen; NaN where less than half was."""
    rows, columns = values.shape
    if not columns:
        return np.full(rows, np.nan, np.float32)
    ordered = np.sort(values, axis=1)  # what was not seen sorts to the end
    if not np.isnan(ordered[:, -1]).any():  # nothing is missing
        middle = (ordered[:, (columns - 1) // 2] + ordered[:, columns // 2]) / 2
        return np.asarray(middle, np.float32)
    count = columns - np.isnan(ordered).sum(axis=1)
    each = np.arange(rows)
    low, high = np.maximum((count - 1) // 2, 0), np.minimum(count // 2, columns - 1)
    middle = (ordered[each, low] + ordered[each, high]) / 2
    return np.where(count * 2 >= columns, middle, np.nan).astype(np.float32)


def _nothing(table: SignalTable, signal: SeamSignal) -> Moves:
    empty = np.empty(0, np.float32)
    unseen = np.full(len(table.subjects), np.nan, np.float32)
    blind = np.zeros(len(table.subjects), np.bool_)
    return Moves(
        signal, table.subjects, np.empty(0, np.int64), empty, empty, np.empty(0, np.float64), blind, unseen, unseen
    )
