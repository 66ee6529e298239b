"""Laws of the family `fifth`, which was kept out of tuning until its first run of 400 draws.

All of these are drawn per site: weather, control loops that ring, pumps that alternate, pollers that miss whole rounds,
meters that report changes only, noise per instrument, and faults that come in stages, settle slowly, recover in part or
return at random times.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from holdfast.lab.drills.wide.site import Floats

COOLING = ("weather", "rings", "turns", "header", "plain")
METERS = ("plain", "rounds", "changes", "peaks", "digits")
WORK = ("steady", "evaluates", "grows", "bursts")
SHAPES = ("step", "stages", "settles", "recovers", "rough")
SWAP_SECONDS = 90.0
HEARTBEATS = 4  # cadences after which a meter that reports only changes reports anyway


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    weather: float  # degrees
    weather_seconds: float
    ring: float  # degrees
    ring_seconds: float
    spread: float  # spread of the noise of single instruments, as a logarithm
    hum: float  # amplitude of a periodic part of the noise, in units of the noise
    hum_seconds: float
    popcorn: float  # distance of the two levels between which an instrument jumps, in units of its noise
    popcorn_share: float  # share of all instruments
    gain: float
    missed: float
    rounds: float  # share of a poller's rounds that fail as a whole
    less: float  # share by which a job's power drops at times
    cadences: tuple[float, ...]
    degrees: tuple[float, ...]


@lru_cache(maxsize=8)
def ranges(seed: int) -> Ranges:
    rng = np.random.default_rng([seed, 808_017])

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    return Ranges(
        weather=between(0.2, 2.2), weather_seconds=between(900, 5400), ring=between(0.2, 1.5),
        ring_seconds=between(200, 900), spread=between(0.0, 0.7), hum=between(0.0, 1.5), hum_seconds=between(70, 1300),
        popcorn=between(0.5, 3.5), popcorn_share=between(0.0, 0.1), gain=between(0.0, 0.15), missed=between(0.0, 0.05),
        rounds=between(0.0, 0.06), less=between(0.05, 0.5),
        cadences=tuple(float(one) for one in rng.choice([5, 12, 30, 30, 60, 60], 3)),
        degrees=tuple(float(one) for one in rng.choice([0.05, 0.125, 0.5, 1.0, 1.0, 2.0], 2)),
    )  # fmt: skip


def supply(cooling: str, times: "Floats", units: int, slope: float, offset: float, seed: int) -> "Floats":
    """Normal variation of each unit's supply temperature, in degrees."""
    drawn, rng = ranges(seed), np.random.default_rng([seed, 31])
    moved = np.zeros((units, len(times)))
    step = float(times[1] - times[0])
    if cooling == "weather":  # a common part, and a small part of each unit's own
        moved = moved + drawn.weather * _slow(1, len(times), step / drawn.weather_seconds, rng)
        moved = moved + 0.2 * drawn.weather * _slow(units, len(times), step / drawn.weather_seconds, rng)
    elif cooling == "rings":  # after a change of its set point, a loop overshoots and settles
        since = np.maximum(0.0, times - offset * times[-1] - 120.0 * np.arange(units)[:, None])
        settled = 1 - np.exp(-since / drawn.ring_seconds) * np.cos(2 * np.pi * since / drawn.ring_seconds)
        moved = moved + drawn.ring * np.sign(slope) * settled * (since > 0)
    return np.asarray(moved)


def flow(cooling: str, times: "Floats", power: "Floats", offset: float) -> "Floats":
    """Requested flow of each unit's pump, relative to normal. `power`: power of the racks behind each unit."""
    asked = np.ones_like(power)
    if cooling == "turns":  # the pumps of a unit alternate: for a minute and a half both run slower
        since = times - offset * times[-1] - 400.0 * np.arange(len(power))[:, None]
        asked = asked - 0.12 * ((since >= 0) & (since < SWAP_SECONDS))
    elif cooling == "header" and len(power) > 1:  # flow that one unit takes is missing from the others
        usual = np.median(power[:, : max(3, power.shape[1] // 4)], axis=1, keepdims=True)
        load = power / np.maximum(usual, 1e-9)
        others = (load.sum(axis=0) - load) / (len(power) - 1)
        asked = np.clip(1 + 0.3 * (load - others), 0.7, 1.2)
    return np.asarray(asked)


def valves(cooling: str, load: "Floats") -> "Floats":
    """Valve positions of the racks: constant."""
    return np.ones_like(load)


def work(how: str, times: "Floats", number: int, offset: float, seed: int) -> "Floats":
    """A job's power over time: evaluations now and then, growing sequences, or bursts of requests."""
    less = ranges(seed).less
    if how == "evaluates":
        period = 500 + 1500 * offset
        return np.where((times + 211.0 * number) % period < 100.0, 1.0 - less, 1.0)
    if how == "grows":
        return np.asarray(1 - less / 2 + less / 2 * ((times + 700.0 * number) % 2600.0) / 2600.0)
    if how == "bursts":
        rng = np.random.default_rng([seed, 79, number])
        return np.asarray(1 - less / 2 * np.clip(_slow(1, len(times), 0.1, rng)[0], 0, 2))
    return np.ones_like(times)


def shape(times: "Floats", since: "Floats", ramp: float, seed: int) -> "Floats":
    """Level of a lasting fault over time: at once, in stages, approaching it slowly, recovering in part, or uneven."""
    rng = np.random.default_rng([seed, 53])
    how, settles = str(rng.choice(SHAPES)), float(rng.uniform(60, 500))
    if how == "stages":
        return np.asarray(np.clip(np.floor(since / max(ramp / 3, 120.0) + 1) / 3, 0, 1))
    if how == "settles":
        return np.asarray(1 - np.exp(-np.maximum(since, 0) / settles))
    if how == "recovers":
        return np.where(since < float(rng.uniform(600, 1200)), 1.0, 0.75)
    if how == "rough":
        return np.asarray(np.clip(1 + 0.2 * _slow(1, len(times), 0.3, rng)[0], 0.5, 1.0))
    return np.clip(since / ramp, 0, 1) if ramp else (since >= 0).astype(float)


def returns(since: "Floats", seed: int) -> "Floats":
    """1 while an intermittent fault is present, at random times."""
    rng = np.random.default_rng([seed, 59])
    found, at = np.zeros_like(since), 0.0
    while at < since[-1]:
        ends = at + float(rng.uniform(70, 200))
        found = np.where((since >= at) & (since < ends), 1.0, found)
        at = ends + float(rng.uniform(150, 400))
    return found


def noise(shape: tuple[int, ...], step: float, seed: int, rng: np.random.Generator) -> "Floats":
    """Noise of one kind of instrument, in units of its usual noise. Amplitudes differ; some instruments hum, some
    jump."""
    drawn = ranges(seed)
    loud = np.exp(drawn.spread * rng.standard_normal((shape[0], 1)).clip(-2, 2))
    places = np.arange(shape[1])[None, :] * step
    hum = drawn.hum * np.sin(2 * np.pi * (places / drawn.hum_seconds + rng.random((shape[0], 1))))
    switched = np.cumsum(rng.random(shape) < step / 900.0, axis=1) % 2
    jumps = drawn.popcorn * switched * (rng.random((shape[0], 1)) < drawn.popcorn_share)
    return np.asarray(loud * (rng.standard_normal(shape) + hum) + jumps)


def gains(rows: int, seed: int, rng: np.random.Generator) -> "Floats":
    return 1 + ranges(seed).gain * rng.standard_normal((rows, 1)).clip(-2, 2)


def reported(meters: str, values: "Floats", step: float) -> "Floats":
    """Values as a facility's meter reports them: the maximum of two minutes, or three significant digits."""
    if meters == "peaks":
        width = max(1, round(120 / step))
        found = values.copy()
        for back in range(1, width):
            found[:, back:] = np.maximum(found[:, back:], values[:, :-back])
        return found
    if meters == "digits":
        size = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(values), 1e-9))) - 2)
        return np.asarray(np.round(values / size) * size)
    return values


def due(meters: str, values: "Floats", every: int, seed: int, rng: np.random.Generator) -> "Floats":
    """1 where a reading arrives.

    A poller reads all instruments at once and misses whole rounds. A meter that reports changes reports differences
    above 1 %, and every fourth time in any case.
    """
    drawn, read = ranges(seed), np.zeros(values.shape)
    together = meters == "rounds"
    for row in range(len(values)):
        read[row, (0 if together else int(rng.integers(0, every))) :: every] = 1.0
    if together:
        read[:, rng.random(values.shape[1]) < drawn.rounds] = 0.0
    if meters == "changes":
        read = _changes(values, read)
    return np.where(rng.random(values.shape) < drawn.missed, 0.0, read)


def holds(meters: str) -> int:
    """Longest time between two reports, in cadences."""
    return HEARTBEATS if meters == "changes" else 1


def _changes(values: "Floats", read: "Floats") -> "Floats":
    found = np.zeros_like(read)
    for row in range(len(values)):
        last, waited = np.inf, 0
        for column in np.flatnonzero(read[row]):
            waited += 1
            if waited >= HEARTBEATS or abs(values[row, column] - last) > 0.01 * abs(last):
                found[row, column], last, waited = 1.0, values[row, column], 0
    return found


def _slow(rows: int, columns: int, share: float, rng: np.random.Generator) -> "Floats":
    """A random walk that returns to zero, with a spread of one, starting at zero."""
    found = np.zeros((rows, columns))
    fresh = rng.standard_normal((rows, columns))
    keep = np.exp(-share)
    for column in range(1, columns):
        found[:, column] = keep * found[:, column - 1] + np.sqrt(1 - keep**2) * fresh[:, column]
    return found
