"""Does an instrument drift alone, while everything that should change with it stays unchanged?"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_or_self
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.moved import TINY, Moves, baseline_columns, median, moves, recent_columns, resolution
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam
from holdfast.seams.work import IDLE_UNKNOWN

AGREES = 0.3  # share of its own change; witnesses that changed by as much do not contradict it
LASTS_SECONDS = 120.0
WITNESSES_MAY_LAG_SECONDS = 300.0
SEEN_BY_DRIVERS = frozenset({"node_power_watts", "fan_speed_ratio"})
"""Their witnesses' word comes once a minute and holds for some: work may have begun that they do not tell yet."""
MOST = 0.8  # confidence 0.7, lower than for a slow job: it is maintenance, and an odd reading may be true
STEPS = 3.0  # times its own resolution; less may be rounding
TOGETHER = 0.5  # share of its change; peers that changed by as much
FEW = 0.1  # share of its peers
LEAST_RISE = {
    "gpu_temperature_celsius": 8.0,
    "gpu_power_watts": 80.0,
    "node_power_watts": 1500.0,
    "fan_speed_ratio": 0.1,  # a fan whose speed falls has failed
}
FLOW = "litres_per_minute"
HEAT, POWER = "gpu_temperature_celsius", "gpu_power_watts"
CELSIUS = "celsius"

PEERS_STRAY = 4.0
LEAST_PEERS = 5
TWICE = 2.0
MAY_FOLLOW = frozenset({("ambient_celsius", "cdu_supply_celsius"), ("ambient_celsius", "gpu_temperature_celsius")})
"""A liquid loop holds its supply whatever the room does: if it moves it agrees, if not it says nothing."""
OF_LOAD = {"cdu_return_celsius": frozenset({"rack_power_watts", "gpu_power_watts"})}
"""It moves with the load; where no one measures the load, no one can say that it moved alone."""
MANY = 8  # instruments that change together do not drift alone
Witness = tuple[str, Callable[[Scene, Subject], frozenset[Subject]]]


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    found = [one for signal in WITNESSES for one in _wandering(scene, signal)]
    for one in found:
        scene.distrust(one.signs[0].signal, one.cause)
    yield from found


def _wandering(scene: Scene, signal: str) -> Iterator[CauseCandidate]:
    table = scene.panel.of(signal)
    fact = signals()[signal]._replace(bad="either")
    if not table.subjects:
        return
    found = moves(table, scene.panel.times, fact)
    signs, beyond, alone = found.symptoms(), _beyond_peers(found), _no_peer_moved(found)
    if len(signs) > max(MANY, min(0.2 * len(table.subjects), 8 * MANY)):
        return
    lasts = WITNESSES_MAY_LAG_SECONDS if signal in SEEN_BY_DRIVERS else LASTS_SECONDS
    for sign in signs:
        small = sign.now - sign.before < LEAST_RISE.get(signal, -np.inf) or not beyond(sign)
        small = small or abs(sign.now - sign.before) < STEPS * _coarseness(scene, signal, frozenset({sign.subject}))
        if small or not alone(sign) or (signal, sign.subject) in scene.distrusted or scene.now - sign.since < lasts:
            continue
        if (one := _alone(scene, sign, WITNESSES[signal])) is not None:
            yield one


def _beyond_peers(found: Moves) -> Callable[[Symptom], bool]:
    """Whether a change exceeds the usual wander of such instruments at this site, and twice the least change.

    A baseline of some minutes does not show how far an instrument wanders in an hour; its peers do.
    """
    fact = found.signal
    strayed = np.abs(found.recent - found.center) / np.maximum(np.abs(found.center), TINY)
    still = found.seen.copy()
    still[found.rows] = False
    others = strayed[still]
    usual = PEERS_STRAY * float(np.median(others)) if len(others) >= LEAST_PEERS else 0.0

    def beyond(sign: Symptom) -> bool:
        size, base = abs(sign.now - sign.before), max(abs(sign.before), TINY)
        least = 0.0 if fact.name in LEAST_RISE else TWICE * max(fact.least_absolute, fact.least_ratio * base)
        return size >= least and size / base >= usual

    return beyond


def _no_peer_moved(found: Moves) -> Callable[[Symptom], bool]:
    """Whether no instrument of the same kind changed too. A change of several has a real cause."""
    change = np.where(found.seen, found.recent - found.center, 0.0)
    if found.signal.least_ratio > 0:
        change = change / np.maximum(np.abs(found.center), TINY)
    place = {subject: row for row, subject in enumerate(found.subjects)}

    def alone(sign: Symptom) -> bool:
        mine = float(change[place[sign.subject]])
        with_it = int((change * np.sign(mine) >= TOGETHER * abs(mine)).sum()) - 1
        return with_it < max(1.0, FEW * (int(found.seen.sum()) - 1))

    return alone


def _alone(scene: Scene, sign: Symptom, witnesses: tuple[Witness, ...]) -> CauseCandidate | None:
    """The candidate; None if a witness changed too, or if no witness could have shown a change."""
    reported, steady = [], set()
    for signal, who in witnesses:
        change = _change(scene, signal, who(scene, sign.subject), sign.since)
        if change is None:
            continue
        same = _unit(signal) == _unit(sign.signal)
        least = AGREES * abs(sign.now - sign.before) if same else 0.5 * _least(signal, change)
        if sign.signal == HEAT and signal == POWER:
            least = max(least, _power_for(scene, sign, change))
        # Opposite changes of temperature do not agree. Opposite flows do: other branches get what one loses.
        warmer = same and _unit(signal) == CELSIUS
        way = np.sign(sign.now - sign.before)
        if max(moved * way if warmer else abs(moved) for moved in (change.moved, change.lately)) >= least:
            return None
        if (sign.signal, signal) in MAY_FOLLOW:
            continue
        if same and least < 2 * _coarseness(scene, signal, who(scene, sign.subject)):
            continue  # too coarse to have shown it
        if not same or abs(sign.now - sign.before) >= _least(signal, change):
            reported.append(f"{signal} of {change.seen} next to it is unchanged")
            steady.add(signal)
    if not reported or (sign.signal in OF_LOAD and not OF_LOAD[sign.signal] & steady):
        return None
    one = CauseCandidate(
        cause=sign.subject,
        kind="sensor.drift",
        signs=[sign],
        reach=frozenset({sign.subject}),
        explains=frozenset({signals()[sign.signal].family}),
        proven=True,
        most=MOST,
    )
    one.supported_by(3.0, f"{sign.subject} {sign.signal} went from {sign.before:.4g} to {sign.now:.4g} alone")
    for words in reported:
        one.supported_by(0.5, words)
    one.unknown.append(f"{sign.subject} {sign.signal}: not known while its instrument drifts")
    return one


def _power_for(scene: Scene, sign: Symptom, change: "DriftChange") -> float:
    """Watts by which a GPU's power must have changed to explain a part of its sensor's change."""
    degrees = max(sign.before - scene.coolant, 1.0)
    return AGREES * abs(sign.now - sign.before) / degrees * abs(change.usual) / IDLE_UNKNOWN


class DriftChange(NamedTuple):
    moved: float  # in the witnesses' own unit; the sum of flows and powers, the mean of others
    lately: float  # the same, over the last minute alone
    usual: float
    seen: int


def _change(scene: Scene, signal: str, subjects: frozenset[Subject], since: float) -> DriftChange | None:
    """Change of the witnesses over the whole time of the instrument's change: an instrument may lag behind them."""
    table, times = scene.panel.of(signal), scene.panel.times
    rows = [table.index[one] for one in subjects if one in table.index and (signal, one) not in scene.distrusted]
    first = int(np.searchsorted(times, since))
    before = median(table.values[rows, : baseline_columns(times)])
    now = np.array([np.nan if np.isnan(row).all() else np.nanmean(row) for row in table.values[rows, first:]])
    last = median(table.values[rows, -recent_columns(times) :])
    both = np.isfinite(before) & np.isfinite(now) & np.isfinite(last)
    if not both.any():
        return None
    joined = np.sum if _unit(signal) in (FLOW, "watts") else np.mean
    moved, lately = (float(joined((late - before)[both])) for late in (now, last))
    return DriftChange(moved, lately, float(joined(before[both])), int(both.sum()))


def _coarseness(scene: Scene, signal: str, subjects: frozenset[Subject]) -> float:
    table = scene.panel.of(signal)
    rows = [table.index[one] for one in subjects if one in table.index]
    return float(resolution(table.values[rows]).max(initial=0.0))


def _least(signal: str, change: DriftChange) -> float:
    fact = signals()[signal]
    return max(fact.least_absolute, fact.least_ratio * abs(change.usual), TINY)


def _unit(signal: str) -> str:
    return FLOW if signal.endswith(FLOW) else signal.rpartition("_")[2]


def _below(scene: Scene, place: Subject) -> frozenset[Subject]:
    return scene.down(place, ("cools",))


def _above(scene: Scene, place: Subject) -> frozenset[Subject]:
    return frozenset(scene.topology.up(place, ("cools",)))


def _gpus_under(scene: Scene, place: Subject) -> frozenset[Subject]:
    nodes = scene.nodes_under(place, ("cools",)) & scene.loaded
    return frozenset(gpu for node in nodes for gpu in scene.gpus_of.get(node, ()))


def _all_gpus_under(scene: Scene, place: Subject) -> frozenset[Subject]:
    """All GPUs below, of idle nodes too: all their heat warms the return."""
    return frozenset(gpu for node in scene.nodes_under(place, ("cools",)) for gpu in scene.gpus_of.get(node, ()))


def _gpus_in(scene: Scene, node: Subject) -> frozenset[Subject]:
    return frozenset(scene.gpus_of.get(node, ()))


def _mates(scene: Scene, gpu: Subject) -> frozenset[Subject]:
    return frozenset(scene.gpus_of.get(whole_or_self(gpu), ())) - {gpu}


def _itself(scene: Scene, place: Subject) -> frozenset[Subject]:
    return frozenset({place})


def _its_node(scene: Scene, gpu: Subject) -> frozenset[Subject]:
    return frozenset({whole_or_self(gpu)})


def _nodes_under(scene: Scene, place: Subject) -> frozenset[Subject]:
    return scene.nodes_under(place, ("cools",))


WITNESSES: dict[str, tuple[Witness, ...]] = {
    "cdu_flow_litres_per_minute": (
        ("rack_flow_litres_per_minute", _below),
        ("cdu_differential_pressure_pascals", _itself),
    ),
    "cdu_supply_celsius": (("rack_inlet_celsius", _below), ("gpu_temperature_celsius", _gpus_under)),
    "cdu_return_celsius": (
        ("cdu_flow_litres_per_minute", _itself),
        ("cdu_supply_celsius", _itself),
        ("rack_power_watts", _below),
        ("gpu_power_watts", _all_gpus_under),
    ),
    "cdu_differential_pressure_pascals": (
        ("cdu_flow_litres_per_minute", _itself),
        ("rack_flow_litres_per_minute", _below),
    ),
    "cdu_pump_speed_ratio": (
        ("cdu_flow_litres_per_minute", _itself),
        ("cdu_differential_pressure_pascals", _itself),
    ),
    "rack_inlet_celsius": (("cdu_supply_celsius", _above), ("gpu_temperature_celsius", _gpus_under)),
    "rack_flow_litres_per_minute": (
        ("gpu_temperature_celsius", _gpus_under),
        ("cdu_flow_litres_per_minute", _above),
    ),
    "ambient_celsius": (
        ("node_inlet_celsius", _nodes_under),
        ("cdu_supply_celsius", _below),
        ("gpu_temperature_celsius", _gpus_under),
    ),
    "node_inlet_celsius": (("ambient_celsius", _above), ("gpu_temperature_celsius", _gpus_under)),
    "fan_speed_ratio": (("gpu_temperature_celsius", _gpus_in), ("node_inlet_celsius", _itself)),
    "rack_power_watts": (("node_power_watts", _nodes_under),),
    "node_power_watts": (("gpu_power_watts", _gpus_in),),
    "gpu_power_watts": (("gpu_temperature_celsius", _itself), ("gpu_clock_sm_hertz", _itself)),
    "gpu_temperature_celsius": (
        ("gpu_temperature_celsius", _mates),
        ("fan_speed_ratio", _its_node),
        ("gpu_power_watts", _itself),
        ("gpu_clock_sm_hertz", _itself),
    ),
}
"""Who must move with an instrument if what it says is so."""

SEAM = Seam(
    name="sensor.drift",
    asks="Does an instrument drift alone, while everything that should move with it stays constant?",
    kinds=("sensor.drift",),
    reads=tuple(WITNESSES),
    domains=("cooling", "power", "accelerators"),
    explain=explain,
    asked_first=True,
)
