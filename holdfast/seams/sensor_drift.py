"""Does an instrument wander off alone, while all that should move with it stays where it was?"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_of
from holdfast.seams.candidate import Candidate
from holdfast.seams.moved import moves
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

AGREES = 0.3  # of its own change: witnesses that moved so much at least do not contradict it
LASTS_SECONDS = 120.0
OF_ONE_CHIP = 1.2  # a chip may really be hot alone: confidence 0.77 at most
CHIP_CELSIUS = 8.0
FLOW = "litres_per_minute"

MANY = 8  # that move together are no lone instrument
Witness = tuple[str, Callable[[Scene, Subject], frozenset[Subject]]]


def explain(scene: Scene) -> Iterator[Candidate]:
    found = [one for signal in WITNESSES for one in _wandering(scene, signal)]
    for one in found:
        scene.distrust(one.signs[0].signal, one.cause)
    yield from found


def _wandering(scene: Scene, signal: str) -> Iterator[Candidate]:
    table = scene.panel.of(signal)
    fact = signals()[signal]._replace(bad="either")
    if not table.subjects:
        return
    signs = moves(table, scene.panel.times, fact).symptoms()
    if len(signs) > max(MANY, 0.2 * len(table.subjects)):
        return
    for sign in signs:
        small = signal == "gpu_temperature_celsius" and sign.now - sign.before < CHIP_CELSIUS
        if small or (signal, sign.subject) in scene.distrusted or scene.now - sign.since < LASTS_SECONDS:
            continue
        if (one := _alone(scene, sign, WITNESSES[signal])) is not None:
            yield one


def _alone(scene: Scene, sign: Symptom, witnesses: tuple[Witness, ...]) -> Candidate | None:
    """None where a witness moved too, or where none of them could have been seen to."""
    told = []
    for signal, who in witnesses:
        change = _change(scene, signal, who(scene, sign.subject), sign.since)
        if change is None:
            continue
        same = _unit(signal) == _unit(sign.signal)
        least = AGREES * abs(sign.now - sign.before) if same else 0.5 * _least(signal, change)
        if abs(change.moved) >= least:
            return None
        if not same or abs(sign.now - sign.before) >= _least(signal, change):
            told.append(f"{signal} of {change.seen} beside it is as ever")
    if not told:
        return None
    one = Candidate(
        cause=sign.subject,
        kind="sensor.drift",
        signs=[sign],
        reach=frozenset({sign.subject}),
        explains=frozenset({signals()[sign.signal].family}),
        proven=True,
        most=OF_ONE_CHIP if "/gpu/" in sign.subject else 4.0,
    )
    one.speaks(3.0, f"{sign.subject} {sign.signal} went from {sign.before:.4g} to {sign.now:.4g} alone")
    for words in told:
        one.speaks(0.5, words)
    one.unknown.append(f"{sign.subject} {sign.signal}: not known while its instrument drifts")
    return one


class Change(NamedTuple):
    moved: float  # in the witnesses' own unit; of flows the sum, of others the mean
    usual: float
    seen: int


def _change(scene: Scene, signal: str, subjects: frozenset[Subject], since: float) -> Change | None:
    """How the witnesses moved over the whole time of the move: what lags behind them is no drift."""
    index, found = scene.panel.of(signal).index, scene.moves(signal)
    rows = [index[one] for one in subjects if one in index and (signal, one) not in scene.distrusted]
    rows = [row for row in rows if found.seen[row]]
    if not rows:
        return None
    joined = np.sum if _unit(signal) == FLOW else np.mean
    first = int(np.searchsorted(scene.panel.times, since))
    before, now = found.center[rows], np.nanmean(scene.panel.of(signal).values[rows, first:], axis=1)
    return Change(float(joined(now - before)), float(joined(before)), len(rows))


def _least(signal: str, change: Change) -> float:
    fact = signals()[signal]
    return max(fact.least_absolute, fact.least_ratio * abs(change.usual), 1e-9)


def _unit(signal: str) -> str:
    return FLOW if signal.endswith(FLOW) else signal.rpartition("_")[2]


def _of_unit(scene: Scene, cdu: Subject) -> frozenset[Subject]:
    return frozenset(one for one in scene.down(cdu, ("cools",)) if one.startswith("rack/"))


def _gpus_under(scene: Scene, place: Subject) -> frozenset[Subject]:
    nodes = scene.nodes_under(place, ("cools",)) & scene.loaded
    return frozenset(gpu for node in nodes for gpu in scene.gpus_of.get(node, ()))


def _units_under(scene: Scene, room: Subject) -> frozenset[Subject]:
    return frozenset(one for one in scene.down(room, ("cools",)) if one.startswith("cdu/"))


def _units_over(scene: Scene, place: Subject) -> frozenset[Subject]:
    return frozenset(one for one in scene.topology.up(place, ("cools",)) if one.startswith("cdu/"))


def _rooms_over(scene: Scene, place: Subject) -> frozenset[Subject]:
    return frozenset(one for one in scene.topology.up(place, ("cools",)) if one.startswith("room/"))


def _mates(scene: Scene, gpu: Subject) -> frozenset[Subject]:
    return frozenset(scene.gpus_of.get(whole_of(gpu) or gpu, ())) - {gpu}


def _itself(scene: Scene, place: Subject) -> frozenset[Subject]:
    return frozenset({place})


def _its_node(scene: Scene, gpu: Subject) -> frozenset[Subject]:
    return frozenset({whole_of(gpu) or gpu})


def _nodes_under(scene: Scene, place: Subject) -> frozenset[Subject]:
    return scene.nodes_under(place, ("cools",))


WITNESSES: dict[str, tuple[Witness, ...]] = {
    "cdu_flow_litres_per_minute": (
        ("rack_flow_litres_per_minute", _of_unit),
        ("cdu_differential_pressure_pascals", _itself),
    ),
    "cdu_supply_celsius": (("rack_inlet_celsius", _of_unit), ("gpu_temperature_celsius", _gpus_under)),
    "cdu_return_celsius": (
        ("cdu_flow_litres_per_minute", _itself),
        ("cdu_supply_celsius", _itself),
        ("rack_power_watts", _of_unit),
    ),
    "cdu_differential_pressure_pascals": (
        ("cdu_flow_litres_per_minute", _itself),
        ("rack_flow_litres_per_minute", _of_unit),
    ),
    "cdu_pump_speed_ratio": (
        ("cdu_flow_litres_per_minute", _itself),
        ("cdu_differential_pressure_pascals", _itself),
    ),
    "rack_inlet_celsius": (("cdu_supply_celsius", _units_over), ("gpu_temperature_celsius", _gpus_under)),
    "rack_flow_litres_per_minute": (
        ("gpu_temperature_celsius", _gpus_under),
        ("cdu_flow_litres_per_minute", _units_over),
    ),
    "ambient_celsius": (("node_inlet_celsius", _nodes_under), ("cdu_supply_celsius", _units_under)),
    "node_inlet_celsius": (("ambient_celsius", _rooms_over), ("gpu_temperature_celsius", _gpus_under)),
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
    asks="Does an instrument wander off alone, while all that should move with it stays where it was?",
    kinds=("sensor.drift",),
    reads=tuple(WITNESSES),
    domains=("cooling", "power", "accelerators"),
    explain=explain,
    asked_first=True,
)
