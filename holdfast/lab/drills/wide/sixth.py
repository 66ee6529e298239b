"""Laws of the family `sixth`, which was kept out of tuning until its first run of 400 draws.

It shares no law with the others. Cooling: mixing valves that stick, stages of dry coolers, a set point for the whole
hall, pumps that purge. Instruments: gateways that repeat old values, meters that truncate digits, means since the last
reading; noise that is shared, skewed, or louder at times. Jobs that trade load, step between levels or fade. Faults
that overshoot, pulse or creep. Up to two harmless events accompany each draw.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from holdfast.lab.drills.wide.site import Floats

COOLING = ("sticks", "stages", "hall", "purges", "follows", "plain")
METERS = ("plain", "repeats", "cuts", "means", "lags")
WORK = ("steady", "trades", "levels", "fades")
SHAPES = ("step", "overshoots", "halves", "creeps", "pulses", "grows")
PURGE_SECONDS, PURGE_EVERY = 60.0, 1250.0
LAG_SECONDS = 75.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    stick: float  # degrees of error before a valve moves
    stage: float  # degrees between two stages
    hall: float  # degrees per hour
    purge: float  # share of the flow
    shared: float  # noise shared by all instruments of a kind, relative to their own
    skew: float  # shape of the noise: a small value is skewed
    louder: float  # how much louder an instrument is at times
    louder_share: float  # share of the time
    memory_seconds: float  # correlation time of the noise
    gain: float
    missed: float
    repeats: float  # share of readings at which a gateway begins to repeat old values
    less: float  # share by which a job's power drops at times
    cadences: tuple[float, ...]
    degrees: tuple[float, ...]


@lru_cache(maxsize=8)
def ranges(seed: int) -> Ranges:
    rng = np.random.default_rng([seed, 919_393])

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    return Ranges(
        stick=between(0.2, 1.2), stage=between(0.3, 1.4), hall=between(-2.5, 2.5), purge=between(0.05, 0.2),
        shared=between(0.0, 0.9), skew=between(1.5, 12.0), louder=between(1.0, 3.0), louder_share=between(0.0, 0.2),
        memory_seconds=between(5, 240), gain=between(0.0, 0.1), missed=between(0.0, 0.04), repeats=between(0.0, 0.02),
        less=between(0.05, 0.45), cadences=tuple(float(one) for one in rng.choice([8, 15, 20, 40, 60, 60], 3)),
        degrees=tuple(float(one) for one in rng.choice([0.1, 0.2, 0.5, 1.0, 1.0, 1.5], 2)),
    )  # fmt: skip


def supply(cooling: str, times: "Floats", units: int, slope: float, offset: float, seed: int) -> "Floats":
    """Normal variation of each unit's supply temperature, in degrees."""
    drawn, rng = ranges(seed), np.random.default_rng([seed, 131])
    if cooling == "sticks":  # the valve waits until the error is large, then overshoots
        phase = rng.random((units, 1))
        return np.asarray(drawn.stick * (np.abs(((times / (600 + 900 * offset) + phase) % 1.0) * 2 - 1) - 0.5).round(1))
    if cooling == "stages":  # fans of a dry cooler switch on and off, for each unit independently
        switched = np.cumsum(rng.random((units, len(times))) < (times[1] - times[0]) / 700.0, axis=1) % 2
        return np.asarray(drawn.stage * (switched - switched[:, :1]))
    if cooling == "hall":  # one set point for all
        return np.zeros((units, len(times))) + drawn.hall * times / 3600
    return np.zeros((units, len(times)))


def flow(cooling: str, times: "Floats", power: "Floats", offset: float) -> "Floats":
    """Requested flow of each unit's pump, relative to normal. `power`: power of the racks behind each unit."""
    if cooling == "purges":  # purges of a minute now and then, one unit after the other
        since = (times + 3600 * offset - 300.0 * np.arange(len(power))[:, None]) % PURGE_EVERY
        return np.asarray(1 + 0.15 * (since < PURGE_SECONDS))
    if cooling == "follows":  # half of the flow follows the load of the whole hall
        whole = power.sum(axis=0, keepdims=True)
        usual = np.median(whole[:, : max(3, whole.shape[1] // 4)])
        return np.asarray(np.ones_like(power) * np.clip(0.5 + 0.5 * whole / max(float(usual), 1e-9), 0.55, 1.3))
    return np.ones_like(power)


def valves(cooling: str, load: "Floats") -> "Floats":
    return np.ones_like(load)


def work(how: str, times: "Floats", number: int, offset: float, seed: int) -> "Floats":
    """A job's power over time: jobs trade load with each other, step between levels, or fade and begin again."""
    less = ranges(seed).less
    if how == "trades":
        wave = np.sin(2 * np.pi * (times / (700 + 1500 * offset) + offset))
        return np.asarray(1 - less / 2 * (0.5 + 0.5 * wave * (-1) ** number))
    if how == "levels":
        rng = np.random.default_rng([seed, 137, number])
        return np.asarray(1 - less * rng.random(len(times))[(times // (300 + 600 * offset)).astype(int)])
    if how == "fades":
        return np.asarray(1 - less / 2 * ((times / 3600 + offset + 0.3 * number) % 1.0))
    return np.ones_like(times)


def shape(times: "Floats", since: "Floats", ramp: float, seed: int) -> "Floats":
    """Level of a lasting fault over time: at once, overshooting, in halves, creeping, in pulses, or accelerating."""
    rng = np.random.default_rng([seed, 139])
    how, takes = str(rng.choice(SHAPES)), float(rng.uniform(120, 600))
    late = np.maximum(since, 0.0)
    if how == "overshoots":
        return np.asarray(0.75 + 0.25 * np.exp(-late / takes))
    if how == "halves":
        return np.where(since < takes, 0.5, 1.0)
    if how == "creeps":
        return np.asarray(1 / (1 + np.exp(-(late - takes) / (takes / 4))))
    if how == "pulses":
        return np.where(late % 400.0 < 200.0, 1.0, 0.65)
    if how == "grows":
        return np.asarray(0.45 + 0.55 * np.clip(late / max(float(times[-1]) - takes, 600.0), 0, 1))
    return np.clip(since / ramp, 0, 1) if ramp else (since >= 0).astype(float)


def returns(since: "Floats", seed: int) -> "Floats":
    """1 while an intermittent fault is present: durations grow, and intervals never repeat."""
    rng = np.random.default_rng([seed, 149])
    found, at, lasts = np.zeros_like(since), 0.0, 70.0
    while at < since[-1]:
        found = np.where((since >= at) & (since < at + lasts), 1.0, found)
        at += lasts + float(rng.uniform(140, 420))
        lasts *= float(rng.uniform(1.0, 1.4))
    return found


def noise(shape: tuple[int, ...], step: float, seed: int, rng: np.random.Generator) -> "Floats":
    """Noise in units of its usual value: skewed, with a memory, louder at times, and partly common to all of a kind."""
    drawn = ranges(seed)
    keep = np.exp(-step / drawn.memory_seconds)

    def remembered(rows: int) -> "Floats":
        fresh = (rng.gamma(drawn.skew, size=(rows, shape[1])) - drawn.skew) / np.sqrt(drawn.skew)
        for column in range(1, shape[1]):
            fresh[:, column] = keep * fresh[:, column - 1] + np.sqrt(1 - keep**2) * fresh[:, column]
        return np.asarray(fresh)

    minutes = rng.random((shape[0], shape[1] * int(step) // 300 + 2)) < drawn.louder_share
    loud = np.repeat(minutes, max(1, 300 // int(step)) + 1, axis=1)[:, : shape[1]]
    own = remembered(shape[0]) * np.where(loud, drawn.louder, 1.0)
    return np.asarray(own + drawn.shared * remembered(1))


def gains(rows: int, seed: int, rng: np.random.Generator) -> "Floats":
    return 1 + ranges(seed).gain * rng.standard_normal((rows, 1)).clip(-2, 2)


def reported(meters: str, values: "Floats", step: float) -> "Floats":
    """Values as a facility's meter reports them: truncated digits, the mean of a minute, or a lag."""
    if meters == "cuts":
        size = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(values), 1e-9))) - 2)
        return np.asarray(np.floor(values / size) * size)
    if meters == "means":
        width = max(1, round(60 / step))
        sums = np.cumsum(np.concatenate([values[:, :1].repeat(width, axis=1), values], axis=1), axis=1)
        return np.asarray((sums[:, width:] - sums[:, :-width]) / width)
    if meters == "lags":
        share, found = 1 - np.exp(-step / LAG_SECONDS), values.copy()
        for column in range(1, values.shape[1]):
            found[:, column] = found[:, column - 1] + share * (values[:, column] - found[:, column - 1])
        return found
    return values


def due(meters: str, values: "Floats", every: int, seed: int, rng: np.random.Generator) -> "Floats":
    """1 where a reading arrives.

    A gateway that repeats its cache sends old values for one to three minutes; they cannot be told from new ones.
    """
    drawn, read = ranges(seed), np.zeros(values.shape)
    for row in range(len(values)):
        read[row, int(rng.integers(0, every)) :: every] = 1.0
    if meters == "repeats":
        begins = np.flatnonzero(rng.random(values.shape[1]) < drawn.repeats)
        for column in begins[begins > 0]:
            until = column + int(rng.integers(2, 8))
            values[:, column:until] = values[:, column - 1 : column]
    return np.where(rng.random(values.shape) < drawn.missed, 0.0, read)


def holds(meters: str) -> int:
    """Longest time between two reports, in cadences."""
    return 1
