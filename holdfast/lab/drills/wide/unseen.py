"""Laws of the family `unseen`, which is kept out of tuning: no rule was written after a look at it.

It shares no law with the others. Cooling: loops with a limit cycle, chilled water reset by outdoor air, trim and
respond, dry coolers with hysteresis, a loop driven in part by gravity, shared heat recovery. Instruments: meters that
report the mean of the previous window, counters whose differences are reported, gateways with jitter, change of value;
noise with outliers, and a hum that instruments of a bus share with either sign. Jobs: rollouts, evaluations, experts
and pipelines. Faults that foul, are compensated, chatter, give an early sign, or grow with the load. Sites have 16 to
128 nodes.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from holdfast.lab.drills.wide.site import Floats

COOLING = ("limit_cycle", "outdoor_reset", "trim_respond", "hysteresis", "siphon", "heat_recovery")
METERS = ("plain", "window", "counter", "jitter", "cov")
WORK = ("steady", "rollouts", "evaluations", "experts", "pipeline")
SHAPES = ("step", "fouls", "compensated", "chatters", "foreshadows", "with_load")
# building management system
PROFILES = ({"cdu_": 1.2, "rack_": 1.2, "link_": 0.5, "port_": 0.4, "rank_": 0.5, "pool_": 0.8},
            {"cdu_": 0.6, "rack_": 0.3, "ambient_": 0.5, "feed_": 0.4, "psu_": 0.6, "port_": 1.3},  # host telemetry
            {"node_": 0.4, "fan_": 0.5, "gpu_": 1.2, "job_": 1.3, "rank_": 1.3, "storage_": 1.2})  # fmt: skip
RESET_SECONDS, TRIM_SECONDS = 300.0, 180.0
WINDOW_SECONDS, COUNTER_SECONDS, COUNTS = 90.0, 60.0, 150.0
HEARTBEATS = 3  # cadences after which a change subscription is renewed


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    cycle: float  # degrees
    outdoor: float  # degrees an hour
    trim: float  # degrees
    band: float  # degrees between the two limits of a dry cooler
    recovered: float  # degrees
    outliers: float  # share of readings with three times the noise
    hum: float  # share of the noise that is common to a bus, in units of the noise
    hum_seconds: float
    batch: float  # difference between instruments of two makes
    increment: float  # share of the value below which a change is not reported
    missed: float
    less: float  # share by which a job's power drops at times
    spread: float  # spread of the work of ranks
    cadences: tuple[float, ...]
    degrees: tuple[float, ...]


@lru_cache(maxsize=8)
def ranges(seed: int) -> Ranges:
    rng = np.random.default_rng([seed, 377_231])

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    return Ranges(
        cycle=between(0.15, 0.6), outdoor=between(-3.0, 3.0), trim=between(0.05, 0.2), band=between(0.3, 1.2),
        recovered=between(0.4, 1.5), outliers=between(0.0, 0.06), hum=between(0.0, 0.8), hum_seconds=between(30, 600),
        batch=between(0.0, 0.05), increment=between(0.004, 0.015), missed=between(0.0, 0.04), less=between(0.1, 0.3),
        spread=between(0.015, 0.05), cadences=tuple(float(one) for one in rng.choice([30, 30, 40, 60, 60, 90, 120], 3)),
        degrees=tuple(float(one) for one in rng.choice([0.1, 0.5, 1.0, 1.0, 1.0], 2)),
    )  # fmt: skip


def constants(usual: dict[str, float], seed: int) -> dict[str, float]:
    """Constants of a plant in which even the warmest GPU stays below its limit at full power in normal operation."""
    rng = np.random.default_rng([seed, 383])
    found = usual | {"throttle": float(rng.uniform(83, 92)), "setpoint": float(rng.uniform(17, 40))}
    room = found["throttle"] - float(rng.uniform(4, 14)) - found["setpoint"] - 3.0
    return found | {"rise": float(rng.uniform(0.65, 1.0)) * room / (1 + 3 * found["rise_spread"]) / 1.1}


def metered(name: str, usual: float, seed: int) -> float:
    """Probability that this site has such meters; it depends on which team chose them."""
    profile = PROFILES[int(np.random.default_rng([seed, 389]).integers(len(PROFILES)))]
    return min(0.97, usual * next((share for one, share in profile.items() if name.startswith(one)), 1.0))


def start(rng: np.random.Generator) -> float:
    """Start of an event, as a share of the drill."""
    return float(rng.uniform(0.3, 0.55))


def repaired(rng: np.random.Generator) -> float:
    """Seconds after which a fault is repaired; most are not."""
    return float(rng.uniform(1200, 1800)) if rng.random() < 0.1 else float("inf")


def supply(cooling: str, times: "Floats", units: int, slope: float, offset: float, seed: int) -> "Floats":
    """Normal variation of each unit's supply temperature, in degrees."""
    drawn, rng = ranges(seed), np.random.default_rng([seed, 397])
    moved = np.zeros((units, len(times)))
    if cooling == "limit_cycle":  # oscillation of each unit's valve, with varying amplitude
        period, phase = rng.uniform(240, 700, (units, 1)), rng.random((units, 1))
        breath = 0.6 + 0.4 * np.sin(2 * np.pi * (times / (5.3 * period) + phase))
        moved = moved + drawn.cycle * breath * np.sin(2 * np.pi * (times / period + phase))
    elif cooling == "outdoor_reset":  # colder water for warmer air, recomputed every five minutes
        air = drawn.outdoor * times / 3600 + 0.6 * (np.sin(2 * np.pi * (times / 2500 + offset)) - np.sin(6.28 * offset))
        moved = moved + _every(RESET_SECONDS, np.clip(-0.5 * air, -1.5, 1.5), times)
    elif cooling == "trim_respond":  # a little warmer each time, until a unit requests colder water
        at = 0.0
        for begins in np.arange(TRIM_SECONDS, times[-1], TRIM_SECONDS):
            at = float(np.clip(at + (-3 * drawn.trim if rng.random() < 0.25 else drawn.trim), -1.2, 1.2))
            moved[:, times >= begins] = at
    elif cooling == "hysteresis":  # one bank of fans for all: slow warming and fast cooling, or the reverse
        place, up = (times / (500 + 1000 * offset) + offset) % 1.0, 0.3 + 0.5 * offset
        moved = moved + drawn.band * (np.where(place < up, place / up, (1 - place) / (1 - up)) - 0.5)
    elif cooling == "heat_recovery":
        moved = moved - drawn.recovered * _heating(times, offset)
    return np.asarray(moved)


def flow(cooling: str, times: "Floats", power: "Floats", offset: float) -> "Floats":
    """Requested flow of each unit's pump, relative to normal. `power`: power of the racks behind each unit."""
    if cooling == "siphon":  # a warmer riser flows faster; a pump assists
        most = np.maximum(power.max(axis=1, keepdims=True), 1e-9)
        return np.asarray(np.clip(power / most, 0.15, 1.0) ** (1 / 3))
    if cooling == "heat_recovery":
        return np.asarray(np.ones_like(power) - 0.03 * _heating(times, offset))
    return np.ones_like(power)


def valves(cooling: str, load: "Floats") -> "Floats":
    return np.ones_like(load)


def _every(seconds: float, values: "Floats", times: "Floats") -> "Floats":
    places = np.searchsorted(times, np.floor(times / seconds) * seconds)
    return np.asarray(values[places])


def _heating(times: "Floats", offset: float) -> "Floats":
    """Share of the heat that neighbouring houses take, from 0 to 1; demand comes once or twice an hour."""
    rng = np.random.default_rng([int(offset * 1e6), 401])
    found, at = np.zeros_like(times), float(rng.uniform(0, 900))
    while at < times[-1]:
        lasts = float(rng.uniform(500, 1100))
        found = found + np.clip((times - at) / 300, 0, 1) - np.clip((times - at - lasts) / 300, 0, 1)
        at += lasts + 300 + float(rng.uniform(400, 1200))
    return np.asarray(found)


def work(how: str, times: "Floats", number: int, offset: float, seed: int) -> "Floats":
    """A job's power over time: it generates until the longest answer is complete, then trains; other jobs vary a
    little."""
    less, rng = ranges(seed).less, np.random.default_rng([seed, 409, number])
    if how == "rollouts":
        found, at, generates = np.ones_like(times), -float(rng.uniform(0, 300)), True
        while at < times[-1]:
            ends = at + float(np.exp(rng.normal(0.0, 0.35))) * (240.0 if generates else 150.0)
            found = np.where(generates & (times >= at) & (times < ends), 1 - less, found)
            at, generates = ends, not generates
        return found
    if how in ("experts", "pipeline"):
        return np.asarray(1 - 0.05 * np.abs(slow(1, len(times), (times[1] - times[0]) / 240, rng)[0]).clip(0, 2))
    return np.ones_like(times)


def _shape_of(seed: int) -> tuple[str, float, np.random.Generator]:
    rng = np.random.default_rng([seed, 433])
    return str(rng.choice(SHAPES)), float(rng.uniform(150, 700)), rng


def shape(times: "Floats", since: "Floats", ramp: float, seed: int) -> "Floats":
    """Level of a lasting fault over time: at once, slowing down, partly compensated, chattering, or after an early
    sign."""
    how, takes, rng = _shape_of(seed)
    late = np.maximum(since, 0.0)
    if how == "fouls":
        return np.asarray(np.sqrt(np.clip(late / takes, 0, 1)))
    if how == "compensated":
        return np.asarray(1 - 0.35 * np.clip((late - takes) / 300, 0, 1))
    if how == "chatters":
        switched = np.cumsum(rng.random(len(times)) < (times[1] - times[0]) / 180.0) % 2
        return np.where(switched > 0, 0.55, 1.0)
    if how == "foreshadows":
        return np.select([late < 120.0, late < 120.0 + takes / 2], [0.4, 0.0], 1.0)
    return (since >= 0).astype(float)


def with_load(seed: int) -> bool:
    return _shape_of(seed)[0] == "with_load"


def loaded(load: "Floats") -> "Floats":
    """Level of a fault that grows with the load."""
    low, high = float(load.min()), float(load.max())
    return np.asarray(0.55 + 0.45 * (load - low) / (high - low)) if high > low else np.ones_like(load)


def returns(since: "Floats", seed: int) -> "Floats":
    """1 while an intermittent fault is present: for some minutes, at shorter and shorter intervals."""
    rng = np.random.default_rng([seed, 439])
    found, at, pause = np.zeros_like(since), 0.0, float(rng.uniform(350, 600))
    while at < since[-1]:
        ends = at + float(rng.uniform(150, 320))
        found = np.where((since >= at) & (since < ends), 1.0, found)
        at, pause = ends + pause, max(200.0, 0.85 * pause)
    return found


def noise(shape: tuple[int, ...], step: float, seed: int, rng: np.random.Generator) -> "Floats":
    """Noise in units of its usual value: outliers, and a hum of the bus that each instrument adds or subtracts."""
    drawn = ranges(seed)
    own = rng.standard_normal(shape) * np.where(rng.random(shape) < drawn.outliers, 3.0, 0.9)
    hum = slow(1, shape[1], step / drawn.hum_seconds, rng)
    return np.asarray(own + drawn.hum * rng.uniform(-1, 1, (shape[0], 1)) * hum)


def gains(rows: int, seed: int, rng: np.random.Generator) -> "Floats":
    return 1 + ranges(seed).batch * (rng.choice([-1.0, 1.0], (rows, 1)) + 0.1 * rng.standard_normal((rows, 1)))


def reported(meters: str, values: "Floats", step: float) -> "Floats":
    """Values as a facility's meter reports them: the mean of the previous window, or the difference of a counter."""
    if meters == "window":
        width = max(1, round(WINDOW_SECONDS / step))
        found = values.copy()
        for begins in range(0, values.shape[1], width):
            before = max(0, begins - width)
            found[:, begins : begins + width] = values[:, before : before + width].mean(axis=1, keepdims=True)
        return found
    if meters == "counter":
        width = max(1, round(COUNTER_SECONDS / step))
        size = np.maximum(np.abs(np.nanmedian(values, axis=1, keepdims=True)), 1e-9) * width / COUNTS
        padded = np.concatenate([values[:, :1].repeat(width, axis=1), values], axis=1)
        counted = np.floor(np.cumsum(padded, axis=1) / size)
        return np.asarray((counted[:, width:] - counted[:, :-width]) * size / width)
    return values


def due(meters: str, values: "Floats", every: int, seed: int, rng: np.random.Generator) -> "Floats":
    """1 where a reading arrives.

    A gateway with jitter delivers readings up to one cadence late. A change subscription reports only changes that are
    large enough, and all values after three cadences.
    """
    drawn, read = ranges(seed), np.zeros(values.shape)
    for row in range(len(values)):
        read[row, int(rng.integers(0, every)) :: every] = 1.0
    if meters == "jitter":
        read = _delayed(values, read, every, rng)
    if meters == "cov":
        read = _changed(values, read, drawn.increment)
    return np.where(rng.random(values.shape) < drawn.missed, 0.0, read)


def holds(meters: str) -> int:
    """Longest time between two reports, in cadences."""
    return {"cov": HEARTBEATS, "jitter": 2}.get(meters, 1)


def _delayed(values: "Floats", read: "Floats", every: int, rng: np.random.Generator) -> "Floats":
    found, old, last = np.zeros_like(read), values.copy(), values.shape[1] - 1
    for row, column in np.argwhere(read > 0):
        arrives = min(last, column + int(rng.integers(0, every + 1)))
        found[row, arrives], values[row, arrives] = 1.0, old[row, column]
    return found


def _changed(values: "Floats", read: "Floats", increment: float) -> "Floats":
    found = np.zeros_like(read)
    for row in range(len(values)):
        last, waited = np.inf, 0
        for column in np.flatnonzero(read[row]):
            waited += 1
            if waited >= HEARTBEATS or abs(values[row, column] - last) > increment * abs(last):
                found[row, column], last, waited = 1.0, values[row, column], 0
    return found


def slow(rows: int, columns: int, share: float, rng: np.random.Generator) -> "Floats":
    """A random walk that returns to zero, with a spread of one."""
    found, keep = rng.standard_normal((rows, columns)), np.exp(-share)
    for column in range(1, columns):
        found[:, column] = keep * found[:, column - 1] + np.sqrt(1 - keep**2) * found[:, column]
    return found
