"""Laws of the family `fourth`, which was kept out of tuning until its first run of 400 draws.

Values are drawn in two steps: every thousand seeds have their own ranges, and each site draws from these. A run with a
new first seed therefore also has new noise, seasons and instruments.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from holdfast.lab.drills.wide.site import Floats

COOLING = ("hunting", "setback", "valves", "plain")
METERS = ("plain", "filtered", "uneven", "bursts")
WORK = ("steady", "three_phases", "telegraph")
DAY = 86_400.0
SEEDS_PER_RANGES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    season: float  # degrees, half of the daily swing
    hunting: float  # degrees
    tail: float  # degrees of freedom of the noise: fewer give heavier tails
    walk: float  # drift of an instrument per hour, in units of its noise
    shifts: float  # share of all instruments that shift once; size of the shift in units of the noise
    shift: float
    gain: float  # difference between instruments of one kind
    missed: float  # share of all readings
    phases: float  # share by which a job's power drops in some phases
    cadences: tuple[float, ...]
    degrees: tuple[float, ...]  # resolutions


@lru_cache(maxsize=8)
def ranges(seed: int) -> Ranges:
    rng = np.random.default_rng([seed // SEEDS_PER_RANGES, 44_091])

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    return Ranges(
        season=between(0.5, 3.5), hunting=between(0.2, 1.1), tail=between(2.6, 7.0), walk=between(0.2, 1.5),
        shifts=between(0.0, 0.08), shift=between(1.0, 4.0), gain=between(0.0, 0.12), missed=between(0.0, 0.06),
        phases=between(0.1, 0.45), cadences=tuple(float(one) for one in rng.choice([10, 20, 30, 45, 60, 60], 3)),
        degrees=tuple(float(one) for one in rng.choice([0.1, 0.25, 0.5, 1.0, 1.0], 2)),
    )  # fmt: skip


def supply(cooling: str, times: "Floats", units: int, slope: float, offset: float, seed: int) -> "Floats":
    """Normal variation of each unit's supply temperature, in degrees."""
    drawn = ranges(seed)
    season = drawn.season * (np.sin(2 * np.pi * (times / DAY + offset)) - np.sin(2 * np.pi * offset))
    moved = np.zeros((units, len(times))) + season
    if cooling == "hunting":  # a valve that overshoots: fast up, slow down, each unit independently
        period = 400 + 1000 * offset
        phase = np.arange(units)[:, None] * 0.37
        moved = moved + drawn.hunting * ((times / period + phase) % 1.0 - 0.5)
    elif cooling == "setback":  # the units get a new set point one after the other
        begins = offset * times[-1] + 300.0 * np.arange(units)[:, None]
        moved = moved + slope * np.clip((times - begins) / 600.0, 0, 1)
    return np.asarray(moved)


def valves(cooling: str, load: "Floats") -> "Floats":
    """Valve position of each rack, where it follows the rack's load; 1: normal."""
    return np.clip(0.3 + 0.7 * load, 0.35, 1.25) if cooling == "valves" else np.ones_like(load)


def work(how: str, times: "Floats", number: int, offset: float, seed: int) -> "Floats":
    """A job's power over time: generation, scoring and training in turns, or phases of lighter data."""
    less = ranges(seed).phases
    if how == "three_phases":
        period = 300 + 900 * offset
        place = ((times + 131.0 * number) % period) / period
        return np.select([place < 0.5, place < 0.65], [1.0 - less, 1.0 - less / 2], 1.0)
    if how == "telegraph":
        rng = np.random.default_rng([seed, 77, number])
        switched = np.cumsum(rng.random(len(times)) < (times[1] - times[0]) / 500.0) % 2
        return 1.0 - less / 2 * switched
    return np.ones_like(times)


def noise(shape: tuple[int, ...], step: float, seed: int, rng: np.random.Generator) -> "Floats":
    """Noise of one kind of instrument, in units of its usual noise: heavy tails, a random walk each, and shifts of a
    few."""
    drawn = ranges(seed)
    found = rng.standard_t(drawn.tail, size=shape) / np.sqrt(drawn.tail / (drawn.tail - 2))
    found = found + drawn.walk * np.sqrt(step / 3600) * np.cumsum(rng.standard_normal(shape), axis=1)
    shifted = rng.random((shape[0], 1)) < drawn.shifts
    when = rng.integers(0, shape[1], (shape[0], 1))
    late = np.arange(shape[1])[None, :] >= when
    return np.asarray(found + drawn.shift * shifted * late * rng.choice([-1.0, 1.0], (shape[0], 1)))


def gains(rows: int, seed: int, rng: np.random.Generator) -> "Floats":
    return 1 + ranges(seed).gain * rng.standard_normal((rows, 1)).clip(-2, 2)


def reported(meters: str, values: "Floats", step: float) -> "Floats":
    """Values as a facility's meter reports them; some average over four minutes."""
    if meters != "filtered":
        return values
    share = 1 - np.exp(-step / 240.0)
    found = values.copy()
    for column in range(1, values.shape[1]):
        found[:, column] = found[:, column - 1] + share * (values[:, column] - found[:, column - 1])
    return found


def flow(cooling: str, times: "Floats", power: "Floats", offset: float) -> "Floats":
    """Requested flow of the pumps: constant."""
    return np.ones_like(power)


def shape(times: "Floats", since: "Floats", ramp: float, seed: int) -> "Floats":
    """Level of a lasting fault over time: at once, or as a ramp."""
    return np.clip(since / ramp, 0, 1) if ramp else (since >= 0).astype(float)


def returns(since: "Floats", seed: int) -> "Floats":
    """1 while an intermittent fault is present: one minute of five."""
    return np.asarray((since % 300.0 < 60.0) * 1.0)


def holds(meters: str) -> int:
    """Longest time between two reports, in cadences."""
    return 1


def due(meters: str, values: "Floats", every: int, seed: int, rng: np.random.Generator) -> "Floats":
    """1 where an instrument is read.

    Uneven instruments are read after 0.5 to 1.5 times their cadence. In a burst, several readings in a row do not
    arrive.
    """
    shape, count = values.shape, values.shape[1]
    found = np.zeros(shape)
    for row in range(shape[0]):
        if meters == "uneven" and every > 1:
            gaps = rng.integers(max(1, every // 2), every + every // 2 + 1, count)
            places = np.cumsum(gaps) - int(rng.integers(0, every))
            found[row, places[(places >= 0) & (places < count)]] = 1.0
        else:
            found[row, int(rng.integers(0, every)) :: every] = 1.0
    lost = rng.random(shape) < ranges(seed).missed / (4.0 if meters == "bursts" else 1.0)
    if meters == "bursts":
        for later in range(1, 4):
            lost[:, later * every :] |= lost[:, : -later * every]
    return np.where(lost, 0.0, found)
