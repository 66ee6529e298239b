"""Laws of the family `seventh`, which was kept out of tuning until its first run of 400 draws.

It shares no law with the others. Cooling: supply that follows the wet bulb, adiabatic pads, standby pumps that are
exercised, pressure that several units share. Instruments: meters that count pulses, have backlash or a limited rate of
change, buses that sleep, pink noise, bursts on a whole bus. Jobs: surges, stairs and gaps. Faults that run away, saw,
ease off, worsen, or are repaired. Sites have almost every meter or almost none.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from holdfast.lab.drills.wide.site import Floats

COOLING = ("wet_bulb", "pads", "standby", "pressure", "plain")
METERS = ("plain", "pulses", "backlash", "slew", "sleeps")
WORK = ("steady", "surges", "stairs", "gaps")
SHAPES = ("step", "ramp", "runs_away", "saws", "eases", "worsens")
DOMAINS = ("cdu_", "rack_", "node_", "gpu_", "link_", "port_", "storage_", "job_", "rank_", "psu_", "feed_")
EXERCISE_SECONDS = 180.0
COUNTS = 150.0  # pulses of a meter in one reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    wet_bulb: float  # degrees, half of the swing
    wet_bulb_seconds: float
    pads: float  # degrees
    standby: float  # share of the flow
    pressure: float  # share of the flow
    pink: tuple[float, ...]  # weights of fast, medium and slow noise
    bursts: float  # bursts per hour on a whole bus
    burst: float  # size of a burst, in units of the noise
    offset: float  # difference between instruments of one kind
    backlash: float  # share of the value
    slew: float  # largest change in ten seconds, as a share of the value
    missed: float
    sleeps: float  # sleeps per hour
    less: float  # share by which a job's power drops at times
    cadences: tuple[float, ...]
    degrees: tuple[float, ...]


@lru_cache(maxsize=8)
def ranges(seed: int) -> Ranges:
    rng = np.random.default_rng([seed, 271_829])

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    weights = rng.dirichlet([2.0, 1.0, 1.0]) ** 0.5
    return Ranges(
        wet_bulb=between(0.3, 1.8), wet_bulb_seconds=between(5000, 15000), pads=between(0.5, 2.0),
        standby=between(0.04, 0.15), pressure=between(0.01, 0.05), pink=tuple(float(one) for one in weights),
        bursts=between(0.0, 4.0), burst=between(1.0, 4.0), offset=between(0.0, 0.08), backlash=between(0.002, 0.012),
        slew=between(0.01, 0.05), missed=between(0.0, 0.05), sleeps=between(0.0, 3.0), less=between(0.05, 0.4),
        cadences=tuple(float(one) for one in rng.choice([10, 20, 30, 30, 45, 60], 3)),
        degrees=tuple(float(one) for one in rng.choice([0.06, 0.25, 0.5, 1.0, 1.0], 2)),
    )  # fmt: skip


def metered(name: str, usual: float, seed: int) -> float:
    """Probability that this site has such meters: of each domain it has most or few."""
    domain = next((place for place, one in enumerate(DOMAINS) if name.startswith(one)), len(DOMAINS))
    rich = float(np.random.default_rng([seed, 313, domain]).uniform(0.25, 1.5))
    return min(0.97, usual * rich)


def start(rng: np.random.Generator) -> float:
    """Start of an event, as a share of the drill."""
    return float(rng.uniform(0.27, 0.6))


def repaired(rng: np.random.Generator) -> float:
    """Seconds after which a fault is repaired; most are not."""
    return float(rng.uniform(1000, 1700)) if rng.random() < 0.12 else float("inf")


def supply(cooling: str, times: "Floats", units: int, slope: float, offset: float, seed: int) -> "Floats":
    """Normal variation of each unit's supply temperature, in degrees."""
    drawn, rng = ranges(seed), np.random.default_rng([seed, 311])
    still = np.zeros((units, len(times)))
    if cooling == "wet_bulb":
        wave = 2 * np.pi * (times / drawn.wet_bulb_seconds + offset)
        return np.asarray(still + drawn.wet_bulb * (np.sin(wave) - np.sin(wave[0])))
    if cooling == "pads":  # wet for a while, for each unit at its own time
        begins = rng.uniform(0, 0.9, (units, 1)) * times[-1]
        wet = np.clip((times - begins) / 240.0, 0, 1) - np.clip((times - begins - 1500.0) / 400.0, 0, 1)
        return np.asarray(-drawn.pads * wet)
    return still


def flow(cooling: str, times: "Floats", power: "Floats", offset: float) -> "Floats":
    """Requested flow of each unit's pump, relative to normal. `power`: power of the racks behind each unit."""
    rng = np.random.default_rng([int(offset * 1e6), 331])
    if cooling == "standby":  # a second pump runs next to the first for three minutes
        begins = rng.uniform(0, 1.0, (len(power), 1)) * times[-1]
        return np.asarray(1 + 0.1 * ((times >= begins) & (times < begins + EXERCISE_SECONDS)))
    if cooling == "pressure":  # all units share a header whose pressure varies
        wander = np.sin(2 * np.pi * (times / (900 + 2400 * offset) + offset)) - np.sin(2 * np.pi * offset)
        return np.asarray(np.ones_like(power) + 0.03 * wander)
    return np.ones_like(power)


def valves(cooling: str, load: "Floats") -> "Floats":
    return np.ones_like(load)


def work(how: str, times: "Floats", number: int, offset: float, seed: int) -> "Floats":
    """A job's power over time: surges, another level every quarter of an hour, or gaps while it waits for data."""
    less, rng = ranges(seed).less, np.random.default_rng([seed, 337, number])
    if how == "surges":
        begun = rng.random(len(times)) < (times[1] - times[0]) / 600.0
        width = max(1, int(90 / (times[1] - times[0])))
        surge = np.convolve(begun, np.ones(width))[: len(times)] > 0
        return np.where(surge, 1.0, 1 - less / 2)
    if how == "stairs":
        levels = 1 - less * rng.random(int(times[-1] // 900) + 2)
        return np.asarray(levels[(times // 900).astype(int)])
    if how == "gaps":
        period = 360 + 400 * offset
        return np.where((times + 77.0 * number) % period < 35.0, 1 - less, 1.0)
    return np.ones_like(times)


def shape(times: "Floats", since: "Floats", ramp: float, seed: int) -> "Floats":
    """Level of a lasting fault over time: at once, as a ramp, accelerating, as a saw, with a pause, or worse at the
    end."""
    rng = np.random.default_rng([seed, 347])
    how, takes = str(rng.choice(SHAPES)), float(rng.uniform(150, 700))
    late = np.maximum(since, 0.0)
    if how == "ramp":
        return np.clip(late / takes, 0, 1)
    if how == "runs_away":
        return np.asarray(np.clip(np.expm1(3 * late / takes) / np.expm1(3.0), 0, 1))
    if how == "saws":
        return np.asarray(0.55 + 0.45 * ((late / takes) % 1.0))
    if how == "eases":
        return np.where((late > takes) & (late < takes + 150), 0.4, 1.0)
    if how == "worsens":
        return np.where(late < takes + 200, 0.6, 1.0)
    return (since >= 0).astype(float)


def returns(since: "Floats", seed: int) -> "Floats":
    """1 while an intermittent fault is present: durations and pauses are random."""
    rng = np.random.default_rng([seed, 349])
    found, at = np.zeros_like(since), 0.0
    while at < since[-1]:
        ends = at + float(rng.uniform(90, 240))
        found = np.where((since >= at) & (since < ends), 1.0, found)
        at = ends + float(rng.uniform(150, 380))
    return found


def noise(shape: tuple[int, ...], step: float, seed: int, rng: np.random.Generator) -> "Floats":
    """Noise in units of its usual value: pink, and bursts that all instruments of a bus see at once."""
    drawn, found = ranges(seed), np.zeros(shape)
    for weight, seconds in zip(drawn.pink, (1.0, 120.0, 900.0), strict=True):
        keep, fresh = np.exp(-step / seconds), rng.standard_normal(shape)
        for column in range(1, shape[1]):
            fresh[:, column] = keep * fresh[:, column - 1] + np.sqrt(1 - keep**2) * fresh[:, column]
        found += weight * fresh
    struck = rng.random(shape[1]) < drawn.bursts * step / 3600
    return np.asarray(found + drawn.burst * struck * rng.standard_normal(shape))


def gains(rows: int, seed: int, rng: np.random.Generator) -> "Floats":
    return 1 + ranges(seed).offset * rng.uniform(-1.5, 1.5, (rows, 1))


def reported(meters: str, values: "Floats", step: float) -> "Floats":
    """Values as a facility's meter reports them: whole pulses, with backlash, or with a limited rate of change."""
    if meters == "pulses":
        size = np.maximum(np.abs(values[:, :1]), 1e-9) / COUNTS
        return np.asarray(np.floor(values / size + 0.5 * (np.arange(values.shape[1]) % 2)) * size)
    if meters in ("backlash", "slew"):
        found = values.copy()
        share = 0.008 if meters == "backlash" else 0.03 * step / 10.0
        for column in range(1, values.shape[1]):
            before, room = found[:, column - 1], share * np.abs(values[:, column - 1])
            if meters == "backlash":
                found[:, column] = np.clip(before, values[:, column] - room, values[:, column] + room)
            else:
                found[:, column] = np.clip(values[:, column], before - room, before + room)
        return found
    return values


def due(meters: str, values: "Floats", every: int, seed: int, rng: np.random.Generator) -> "Floats":
    """1 where a reading arrives.

    Readings of one round arrive one after the other. A sleeping bus reads nothing for up to two minutes.
    """
    drawn, read = ranges(seed), np.zeros(values.shape)
    for row in range(len(values)):
        read[row, row % every :: every] = 1.0
    if meters == "sleeps":
        begins = np.flatnonzero(rng.random(values.shape[1]) < drawn.sleeps / 180.0)
        for column in begins:
            read[:, column : column + int(rng.integers(2, 6))] = 0.0
    return np.where(rng.random(values.shape) < drawn.missed, 0.0, read)


def holds(meters: str) -> int:
    """Longest time between two reports, in cadences."""
    return 1
