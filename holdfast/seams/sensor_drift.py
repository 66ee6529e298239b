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

Witness = tuple[str, frozenset[Subject]]
Witnesses = Callable[[Scene, Subject], tuple[Witness, ...]]


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
    for sign in moves(table, scene.panel.times, fact).symptoms():
        small = signal == "gpu_temperature_celsius" and sign.now - sign.before < CHIP_CELSIUS
        if small or (signal, sign.subject) in scene.distrusted or scene.now - sign.since < LASTS_SECONDS:
            continue
        if (one := _alone(scene, sign, WITNESSES[signal](scene, sign.subject))) is not None:
            yield one


def _alone(scene: Scene, sign: Symptom, witnesses: tuple[Witness, ...]) -> Candidate | None:
    """None where a witness moved too, or where none of them could have been seen to."""
    told = []
    for signal, subjects in witnesses:
        change = _change(scene, signal, subjects)
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
    moved: float  # in the witnesses' own unit; of flows the sum, of others the middle one
    usual: float
    seen: int


def _change(scene: Scene, signal: str, subjects: frozenset[Subject]) -> Change | None:
    index, found = scene.panel.of(signal).index, scene.moves(signal)
    rows = [index[one] for one in subjects if one in index and (signal, one) not in scene.distrusted]
    rows = [row for row in rows if found.seen[row]]
    if not rows:
        return None
    joined = np.sum if _unit(signal) == FLOW else np.median
    before, now = found.center[rows], found.recent[rows]
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
    table = scene.panel.of("gpu_temperature_celsius").subjects
    return frozenset(gpu for gpu, node in zip(table, scene.wholes(table), strict=True) if node in nodes)


def _units_over(scene: Scene, place: Subject) -> frozenset[Subject]:
    return frozenset(one for one in scene.topology.up(place, ("cools",)) if one.startswith("cdu/"))


def _rooms_over(scene: Scene, place: Subject) -> frozenset[Subject]:
    return frozenset(one for one in scene.topology.up(place, ("cools",)) if one.startswith("room/"))


def _mates(scene: Scene, gpu: Subject) -> frozenset[Subject]:
    node = whole_of(gpu) or gpu
    table = scene.panel.of("gpu_temperature_celsius").subjects
    return frozenset(other for other in table if other.startswith(node + "/") and other != gpu)


WITNESSES: dict[str, Witnesses] = {
    "cdu_flow_litres_per_minute": lambda scene, cdu: (
        ("rack_flow_litres_per_minute", _of_unit(scene, cdu)),
        ("cdu_differential_pressure_pascals", frozenset({cdu})),
    ),
    "cdu_supply_celsius": lambda scene, cdu: (
        ("rack_inlet_celsius", _of_unit(scene, cdu)),
        ("gpu_temperature_celsius", _gpus_under(scene, cdu)),
    ),
    "cdu_return_celsius": lambda scene, cdu: (
        ("cdu_flow_litres_per_minute", frozenset({cdu})),
        ("cdu_supply_celsius", frozenset({cdu})),
        ("rack_power_watts", _of_unit(scene, cdu)),
    ),
    "cdu_differential_pressure_pascals": lambda scene, cdu: (
        ("cdu_flow_litres_per_minute", frozenset({cdu})),
        ("rack_flow_litres_per_minute", _of_unit(scene, cdu)),
    ),
    "cdu_pump_speed_ratio": lambda scene, cdu: (
        ("cdu_flow_litres_per_minute", frozenset({cdu})),
        ("cdu_differential_pressure_pascals", frozenset({cdu})),
    ),
    "rack_inlet_celsius": lambda scene, rack: (
        ("cdu_supply_celsius", _units_over(scene, rack)),
        ("gpu_temperature_celsius", _gpus_under(scene, rack)),
    ),
    "rack_flow_litres_per_minute": lambda scene, rack: (
        ("gpu_temperature_celsius", _gpus_under(scene, rack)),
        ("cdu_flow_litres_per_minute", _units_over(scene, rack)),
    ),
    "ambient_celsius": lambda scene, room: (
        ("node_inlet_celsius", scene.nodes_under(room, ("cools",))),
        ("cdu_supply_celsius", frozenset(one for one in scene.down(room, ("cools",)) if one.startswith("cdu/"))),
    ),
    "node_inlet_celsius": lambda scene, node: (
        ("ambient_celsius", _rooms_over(scene, node)),
        ("gpu_temperature_celsius", _gpus_under(scene, node)),
    ),
    "gpu_temperature_celsius": lambda scene, gpu: (
        ("gpu_temperature_celsius", _mates(scene, gpu)),
        ("fan_speed_ratio", frozenset({whole_of(gpu) or gpu})),
        ("gpu_power_watts", frozenset({gpu})),
        ("gpu_clock_sm_hertz", frozenset({gpu})),
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
