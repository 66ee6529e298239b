"""Changes of signals: each row of a table against the start of its own window, its baseline. Vectorised.

A cheap first pass compares the last minute of every row with the median of its beginning. A careful second pass over
the remaining rows decides whether the change exceeds the row's noise and usual excursions, and when it began.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from holdfast.catalog.seam_signals import SeamSignal
from holdfast.model.finding import Symptom
from holdfast.model.panel import SignalTable, Times, Values
from holdfast.model.subject import Subject

BASELINE_SECONDS = 900.0
LEAST_BASELINE = 4  # columns; fewer give no baseline
RECENT_SECONDS = 60.0
PAUSE_SECONDS = 300.0
MOST_SAMPLES = 32  # samples of the baseline; more make the median slower, not better
NOISES = 5.0  # a change is at least this many times the row's own noise
LEAST_READINGS = 3  # readings that a change must last
LEAST_STEPS = 8  # steps of a row that are needed to know its resolution
LEAST_GAPS = 20  # gaps between changes that are needed to know a cadence
TINY = 1e-9  # instead of zero in a divisor
ROUNDING = 0.5  # share of a resolution by which rounding alone may change a median
LASTING_SECONDS = 600.0
NEARLY_ALL = 0.9
USUAL_EXCURSION = 0.96  # quantile of the baseline: an excursion that happens one time in 25 is usual
LEAST_PEERS = 6
PEERS_STRAY = 6.0  # times the median deviation of its unchanged peers, which is about four standard deviations
FAR = 3.0  # times the least change that matters: no sensor drifts this far by itself


@dataclass(frozen=True)
class Moves:
    """The rows of one signal that changed, and which rows had enough readings."""

    signal: SeamSignal
    subjects: tuple[Subject, ...]
    rows: npt.NDArray[np.int64]  # rows that changed
    before: Values
    now: Values
    since: Times
    seen: npt.NDArray[np.bool_]  # for every row: whether the baseline and the present have enough readings
    center: Values  # for every row: the usual value
    recent: Values  # for every row: the present value

    def symptoms(self) -> list[Symptom]:
        name = self.signal.name
        reported = zip(self.rows.tolist(), self.since.tolist(), self.before.tolist(), self.now.tolist(), strict=True)
        return [Symptom(self.subjects[row], name, since, before, now) for row, since, before, now in reported]

    def keep(self, wanted: npt.NDArray[np.bool_]) -> "Moves":
        """A part of the rows that changed."""
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
    """Number of columns of the baseline: a third of the window, at most a quarter of an hour."""
    if len(times) < 2:
        return 0
    return min(max(len(times) // 3, LEAST_BASELINE), max(LEAST_BASELINE, round(BASELINE_SECONDS / step_of(times))))


def recent_columns(times: Times) -> int:
    return max(2, round(RECENT_SECONDS / step_of(times)))


def cadence_columns(values: Values) -> int:
    """Columns between two readings of these instruments, learned from the shortest times between changes.

    One reading fills several columns until the next reading, and counts once. If nothing ever changes, every column
    counts as a reading.
    """
    sample = values[:: max(1, len(values) // MOST_SAMPLES)]
    with np.errstate(invalid="ignore"):
        changed = (sample[:, 1:] != sample[:, :-1]) & ~np.isnan(sample[:, 1:]) & ~np.isnan(sample[:, :-1])
    rows, columns = np.nonzero(changed)
    same = rows[1:] == rows[:-1]
    gaps = np.sort((columns[1:] - columns[:-1])[same])
    return int(gaps[len(gaps) // 20]) if len(gaps) >= LEAST_GAPS else 1


def cadence(table: SignalTable) -> int:
    """The cadence of a table, computed once per evaluation for all rules."""
    known: int | None = table.learned.get("cadence")
    if known is None:
        known = table.learned["cadence"] = cadence_columns(table.values)
    return known


def moves(
    table: SignalTable, times: Times, signal: SeamSignal, calm: SignalTable | None = None, *, pauses: bool = False
) -> Moves:
    """The rows that changed in the harmful direction. `calm` is a known good past, by default the start of the window.

    If a signal pauses (a job reports no step time while it writes a checkpoint), its last value holds for some minutes.
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
    """The rows that changed by more than their unchanged peers vary. A baseline of minutes does not show how far a
    sensor drifts within an hour, and of hundreds of sensors a few are always far off."""
    strayed = deviation / np.maximum(least, TINY)
    still = found.seen.copy()
    still[found.rows] = False
    if int(still.sum()) < LEAST_PEERS:
        return found
    others = strayed[still]
    usual = float(np.median(np.abs(others - np.median(others))))
    return found.keep(strayed[found.rows] >= min(FAR, PEERS_STRAY * usual))


def _latest(values: Values, times: Times, last: int) -> Values:
    """The last readings, as many as a recent window has. Pauses are skipped, and a held reading counts once."""
    pause = round(PAUSE_SECONDS / step_of(times))
    late = values[:, -(last + pause) :]
    order = np.argsort(~np.isnan(late), axis=1, kind="stable")  # missing readings first, the others in their order
    found: Values = np.take_along_axis(late, order, axis=1)[:, -last:]
    return found


def _careful(found: Moves, base: Values, values: Values, times: Times, least: Values, readings: int) -> Moves:
    sign = np.sign(found.now - found.before)[:, None]
    drift = (base - found.before[:, None]) * sign
    noise = 1.4826 * median(np.abs(drift))
    usual = _high(drift)
    size = np.abs(found.now - found.before)
    # A coarse sensor rounds its noise away.
    noise = np.maximum(noise, ROUNDING * resolution(base))
    series = _steady((values - found.before[:, None]) * sign)
    if found.signal.domain == "runtime":  # single slow steps do not say how long a change lasts
        usual = np.where(_lasts(series, size, times), 0.0, usual)
    sure = (size >= NOISES * noise * np.sqrt(2.0 / readings)) & (size > usual)
    edge = np.maximum(3.0 * noise, 0.3 * least)
    calm = ~(series >= edge[:, None])
    onset = np.where(calm.any(axis=1), calm.shape[1] - np.argmax(calm[:, ::-1], axis=1), 0)
    since = times[np.minimum(onset, len(times) - 1)]
    return replace(found, since=since).keep(sure)


def _lasts(series: Values, size: Values, times: Times) -> npt.NDArray[np.bool_]:
    """Whether nearly every reading of the last minutes has at least half of the change."""
    late = series[:, -max(LEAST_READINGS, round(LASTING_SECONDS / step_of(times))) :]
    found: npt.NDArray[np.bool_] = (late >= 0.5 * size[:, None]).mean(axis=1) >= NEARLY_ALL
    return found


def resolution(values: Values) -> Values:
    """The smallest step of each row; 0 if it changes too seldom to know."""
    steps = np.abs(np.diff(values, axis=1))
    steps = np.where(np.isnan(steps) | (steps <= 1e-6 * np.nanmax(np.abs(values), initial=0.0)), np.inf, steps)
    least = steps.min(axis=1, initial=np.inf)
    reported = np.isfinite(steps).sum(axis=1) >= LEAST_STEPS
    found: Values = np.where(reported, least, 0.0).astype(np.float32)
    return found


def _high(values: Values) -> Values:
    """The value that one reading in 25 exceeds."""
    ordered = np.sort(values, axis=1)  # missing readings sort to the end
    count = (~np.isnan(values)).sum(axis=1)
    place = np.maximum(np.ceil(USUAL_EXCURSION * count).astype(np.int64) - 1, 0)
    found: Values = ordered[np.arange(len(values)), place]
    return found


def _dense(table: SignalTable) -> SignalTable:
    """Fills a sparse signal: a value holds until the next one, and the first value also holds before it."""
    values = _held(table.values)
    first = np.argmax(~np.isnan(values), axis=1)
    known = values[np.arange(len(values)), first]
    values = np.where(np.isnan(values), known[:, None], values)
    return SignalTable(table.subjects, values)


def _held(values: Values) -> Values:
    """The values, with gaps filled by the value before them."""
    gaps = np.isnan(values)
    if not gaps.any():
        return values
    last = np.where(gaps, 0, np.arange(values.shape[1]))
    np.maximum.accumulate(last, axis=1, out=last)
    found: Values = np.take_along_axis(values, last, axis=1)
    return found


def _steady(series: Values) -> Values:
    """The median of three neighbours, so that a single outlier neither begins nor ends a change. Gaps are filled."""
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
    """The baseline; a row that appeared later, such as a job, uses its own first readings."""
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
            base[row] = np.resize(known[place], width)  # a short past is repeated
    return base


def median(values: Values) -> Values:
    """The median of each row; NaN if more than half of its readings are missing."""
    rows, columns = values.shape
    if not columns:
        return np.full(rows, np.nan, np.float32)
    ordered = np.sort(values, axis=1)  # missing readings sort to the end
    if not np.isnan(ordered[:, -1]).any():  # no reading is missing
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
