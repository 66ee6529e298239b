"""Changes that load explains: a GPU that computes more gets warmer, an idle one clocks down."""

import numpy as np
import numpy.typing as npt

from holdfast.model.panel import SignalTable, Values
from holdfast.seams.moved import Moves

COLD_CELSIUS = 20.0  # assumed coolant temperature without a sensor; a GPU's rise above it follows its power
IDLE_WATTS = 150.0
WORKING = 0.3  # utilization; a GPU that was below it before has no comparable past
BUSIER = 0.1
IDLE_UNKNOWN = 1.5  # a part of the power does not heat the chip; the part that does may have grown by this factor more
UNEXPLAINED = 0.7  # times the least change that matters, after the part that power explains is subtracted
STILL_WORKING = {"gpu_clock_sm_hertz": 0.4, "gpu_temperature_celsius": 0.4, "gpu_power_watts": 0.4}
"""Of its usual utilization: a GPU that rests tells nothing of what it can, nor of how well it is cooled."""


def warmer_than_its_power(found: Moves, power: Moves, use: Moves, coolant: float = COLD_CELSIUS) -> Moves:
    """GPUs whose heat their own power does not explain. Without power readings, utilization decides: a GPU that worked
    as much before has no reason of its own to be hotter."""
    if not power.seen.any():
        place = _places(found, use)
        before, now = _take(use.center, place), _take(use.recent, place)
        return found.keep((before > WORKING) & (now <= before + BUSIER))
    place = _places(found, power)
    before, now = _take(power.center, place), _take(power.recent, place)
    rise = found.before - coolant
    worked = before > IDLE_WATTS
    by_power = IDLE_UNKNOWN * rise * (now / np.maximum(before, 1) - 1)
    expected = np.where(worked, by_power, _from_idle(found, power, now, coolant))
    left = (found.now - found.before) - np.where(np.isnan(expected), 0, np.maximum(expected, 0))
    return found.keep(left >= UNEXPLAINED * found.signal.least_absolute)


def _from_idle(found: Moves, power: Moves, now: Values, coolant: float) -> Values:
    """Compares a GPU that was idle before with its peers under load, because it has no comparable past."""
    everyone = np.flatnonzero(power.seen & (power.center > IDLE_WATTS))
    heat = {subject: row for row, subject in enumerate(found.subjects)}
    rows = [(heat[power.subjects[row]], row) for row in everyone[:512] if power.subjects[row] in heat]
    if not rows:
        return np.full(len(found.rows), np.inf, np.float32)
    each = [(found.center[h] - coolant) / power.center[p] for h, p in rows]
    per_watt = float(np.nanmedian(each)) * 1.15
    return (coolant + per_watt * np.nan_to_num(now) - found.before).astype(np.float32)


def while_working(signal: str, table: SignalTable, utilization: Moves, use: SignalTable) -> SignalTable:
    """Leaves out the columns in which a GPU has little work: the clock of an idle GPU does not show a fault."""
    if table.subjects != use.subjects:
        return table
    usual = np.where(utilization.center > 0.2, utilization.center, 1.0)
    with np.errstate(invalid="ignore"):
        idle = use.values < STILL_WORKING[signal] * usual[:, None]
    if not idle.any():
        return table
    return SignalTable(table.subjects, np.where(idle, np.float32(np.nan), table.values))


def _places(found: Moves, other: Moves) -> npt.NDArray[np.int64]:
    """The rows of the changed subjects in another table; -1 for a subject that it does not have."""
    if found.subjects is other.subjects or found.subjects == other.subjects:
        return found.rows
    index = {subject: row for row, subject in enumerate(other.subjects)}
    return np.array([index.get(found.subjects[row], -1) for row in found.rows], np.int64)


def _take(values: Values, place: npt.NDArray[np.int64]) -> Values:
    if not len(values):
        return np.full(len(place), np.nan, np.float32)
    return np.where(place >= 0, values[place], np.nan).astype(np.float32)
