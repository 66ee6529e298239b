"""Is the loop of one rack blocked, while the unit and the neighbouring racks are healthy?"""

from collections.abc import Collection, Iterator

import numpy as np

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLING, COOLS
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

FLOW = "rack_flow_litres_per_minute"
UNIT_FLOW = "cdu_flow_litres_per_minute"
FAN = "fan_speed_ratio"
HEAT = "gpu_temperature_celsius"
EVERY_DAY = 0.0
BEGINS = 0.3  # share of this rack's own rise
PRESSURE = "cdu_differential_pressure_pascals"
WARMS_FROM = 0.35
MOST_OF_IT = 0.7
SHOWS_WITHIN_SECONDS = 900.0
LEAST_RISE_CELSIUS = 5.0  # least rise of a rack whose flow is not measured
WITHOUT_INSTRUMENT = 1.2  # confidence 0.77, the maximum for a pattern alone


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    for rack, sign in scene.fell(FLOW).items():
        yield _measured(scene, rack, sign)
    seen = scene.seen(FLOW)
    for rack in sorted(_hot_racks(scene) - seen):
        yield _inferred(scene, rack)


def _measured(scene: Scene, rack: Subject, sign: Symptom) -> CauseCandidate:
    one = _candidate(scene, rack, [sign])
    one.supported_by(2.5, weigh.moved_text(sign, " l/min"))
    siblings = _siblings(scene, rack) & scene.seen(FLOW)
    fallen = [other for other in siblings if other in scene.fell(FLOW) or _falling(scene, other, weigh.fall(sign))]
    if siblings and len(fallen) >= 0.5 * len(siblings):
        one.doubted_by(3.0, f"{len(fallen)} of {len(siblings)} neighbouring racks lost flow too")
        behind = {node for other in {rack, *siblings} for node in scene.nodes_under(other, COOLS)}
        if weigh.follows_load(scene, behind, weigh.fall(sign)):
            one.most = EVERY_DAY
    elif siblings:
        one.supported_by(1.0, f"flow is normal in {len(siblings) - len(fallen)} of {len(siblings)} neighbouring racks")
    units = scene.topology.up(rack, ("cools",))
    if any(unit in scene.fell(PRESSURE) for unit in units):
        one.doubted_by(3.0, "its unit delivers less: the pressure fell")
    elif any(unit in scene.rose(PRESSURE) for unit in units):
        one.supported_by(1.0, "the pressure of its unit rose")
    nodes = scene.nodes_under(rack, COOLS)
    confirmed = bool(siblings) and len(fallen) < 0.5 * len(siblings)
    confirmed = confirmed or any(unit in scene.rose(PRESSURE) for unit in units)
    hotter = weigh.warms(scene, one, nodes, weigh.fall(sign) >= WARMS_FROM)
    rise = weigh.unexplained_rise(scene, nodes)
    if weigh.follows_load(scene, nodes, weigh.fall(sign)):
        one.doubted_by(5.0, "the load that it cools fell as much and no GPU is slowed: its valve reduces the flow")
        one.most = EVERY_DAY
    elif not confirmed and not (hotter >= weigh.FEW and _in_time(scene, sign, nodes)):
        one.most = EVERY_DAY
        one.unknown.append(f"{rack}: nothing but its flow meter shows it")
    if not hotter and weigh.fall(sign) < WARMS_FROM and rise is not None and rise < weigh.LEAST_RISE_CELSIUS:
        one.doubted_by(4.0, "no GPU that it cools is warmer: its valve may reduce the flow")
    return one


def _in_time(scene: Scene, sign: Symptom, nodes: Collection[Subject]) -> bool:
    """Whether the rack's GPUs got hot soon after. A small change of a valve long before did not heat them."""
    first = min((scene.hot[node].since for node in nodes if node in scene.hot), default=np.inf)
    return weigh.fall(sign) >= WARMS_FROM or first - sign.since <= SHOWS_WITHIN_SECONDS


def _falling(scene: Scene, rack: Subject, beside: float) -> bool:
    """Whether a rack loses flow too, at least half as much as its neighbour, even if too little to be reported."""
    usual = scene.usual(FLOW, rack)
    return usual > 0 and 1 - scene.recent(FLOW, rack) / usual >= 0.5 * beside


def _inferred(scene: Scene, rack: Subject) -> CauseCandidate:
    """The cause without a flow meter: all nodes of the rack are hot, its siblings' are not, fans are unchanged."""
    nodes = scene.nodes_under(rack, COOLS)
    hot = [scene.hot[node] for node in nodes if node in scene.hot]
    one = _candidate(scene, rack, [])
    one.began = min(symptom.since for symptom in hot)
    one.most = WITHOUT_INSTRUMENT
    one.unknown.append(f"{rack}: its flow is not measured")
    weigh.warms(scene, one, nodes, expected=True)
    siblings = _siblings(scene, rack)
    warming = [sister for sister in sorted(siblings) if _rise(scene, sister) >= BEGINS * _rise(scene, rack)]
    if siblings & _hot_racks(scene):
        one.doubted_by(3.0, "neighbouring racks are hot too")
    elif warming:
        # Racks of one unit do not heat up at the same speed: the first hot one need not be the cause.
        one.doubted_by(3.0, f"{warming[0]} next to it is getting warmer too")
    else:
        one.supported_by(1.0, "the neighbouring racks are not hotter")
    if any(node in scene.fell(FAN) for node in nodes):
        one.doubted_by(3.0, "fans of its nodes turn more slowly")
    rise, others = weigh.unexplained_rise(scene, nodes), weigh.unexplained_rise(scene, scene.loaded - nodes)
    if rise is not None and (rise < LEAST_RISE_CELSIUS or (others or 0.0) >= BEGINS * rise):
        one.doubted_by(3.0, "it is only slightly warmer than its power explains, or the other nodes are warmer too")
    for unit in (place for place in scene.topology.up(rack, ("cools",)) if place in scene.fell(UNIT_FLOW)):
        if weigh.follows_load(scene, scene.nodes_under(unit, COOLS), weigh.fall(scene.fell(UNIT_FLOW)[unit])):
            one.doubted_by(3.0, f"{unit} delivers less because the load behind it fell")
            one.most = EVERY_DAY
    return one


def _rise(scene: Scene, rack: Subject) -> float:
    """Median rise of the GPUs of the rack's working nodes in degrees."""
    nodes = scene.nodes_under(rack, COOLS) & scene.loaded
    gpus = [gpu for node in nodes for gpu in scene.gpus_of.get(node, ())]
    rises = [scene.recent(HEAT, gpu) - scene.usual(HEAT, gpu) for gpu in gpus]
    seen = [rise for rise in rises if rise == rise]
    return float(np.median(seen)) if seen else 0.0


def _candidate(scene: Scene, rack: Subject, signs: list[Symptom]) -> CauseCandidate:
    return CauseCandidate(
        cause=rack,
        kind="cooling.rack_blocked",
        signs=signs,
        reach=scene.reach(rack, COOLS),
        explains=COOLING,
        backwards=frozenset({"flow", "pressure", "pump", "return", "supply"}),
    )


def _siblings(scene: Scene, rack: Subject) -> set[Subject]:
    parents = {edge.source for edge in scene.topology.sources.get(rack, ()) if edge.kind == "cools"}
    beside = {edge.target for parent in parents for edge in scene.topology.targets[parent] if edge.kind == "cools"}
    return {other for other in beside if other.startswith("rack/")} - {rack}


def _hot_racks(scene: Scene) -> set[Subject]:
    """Racks where most of the working nodes are hot, and at least two."""
    racks: dict[Subject, set[Subject]] = {}
    for node in scene.hot:
        for edge in scene.topology.sources.get(node, ()):
            if edge.kind == "cools" and edge.source.startswith("rack/"):
                racks.setdefault(edge.source, set()).add(node)
    working = scene.loaded & scene.nodes_seen("gpu_temperature_celsius") if racks else frozenset()
    return {
        rack
        for rack, hot in racks.items()
        if len(hot) > 1 and len(hot) >= MOST_OF_IT * len(scene.nodes_under(rack, COOLS) & working)
    }


SEAM = Seam(
    name="cooling.rack",
    asks="Is the loop of one rack blocked, while its coolant unit and the neighbouring racks are normal?",
    kinds=("cooling.rack_blocked",),
    reads=(FLOW, UNIT_FLOW, FAN, PRESSURE, "gpu_temperature_celsius", "job_step_seconds"),
    domains=("cooling", "accelerators", "runtime"),
    explain=explain,
)
