"""Are exactly the nodes behind one unit or room hot, without a readable meter? Then the topology names the cause."""

from collections.abc import Iterator
from statistics import median

from holdfast.model.subject import Subject, kind
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLING, COOLS
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

HEAT = "gpu_temperature_celsius"
METERS = {
    "cdu": ("cdu_flow_litres_per_minute", "cdu_supply_celsius"),
    "room": ("ambient_celsius",),
}
NEARLY_ALL = 0.8
ELSEWHERE = 0.1  # share of the hot nodes; with more, they have something else in common
BEYOND_WEATHER = 6.0  # degrees
WITHOUT_INSTRUMENT = 1.6  # confidence 0.83: a pattern without a meter, but an exact one


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    above = {up for node in scene.hot for up in scene.topology.up(node, ("cools",)) if kind(up) in METERS}
    for place in sorted(above, key=lambda up: len(scene.down(up, ("cools",)))):
        if _exactly(scene, place) and not any(place in scene.seen(meter) for meter in METERS[kind(place)]):
            yield _inferred(scene, place)
            return  # the smallest matching place is named; larger ones contain it


def _exactly(scene: Scene, place: Subject) -> bool:
    """Whether nearly all working nodes behind the unit are hot, in more than one rack, and nearly none elsewhere. If no
    node works elsewhere, they must be hotter than weather explains."""
    working = scene.loaded & scene.nodes_seen(HEAT)
    inside = scene.nodes_under(place, ("cools",)) & working
    outside = working - inside
    hot = {node for node in inside if node in scene.hot}
    racks = {edge.source for node in hot for edge in scene.topology.sources.get(node, ()) if edge.kind == "cools"}
    if len(hot) < NEARLY_ALL * len(inside) or len(racks) < 2:
        return False
    if not outside:  # a warm day makes a whole fleet a little warmer
        return median(scene.hot[node].now - scene.hot[node].before for node in hot) >= BEYOND_WEATHER
    away = sum(1 for node in outside if node in scene.hot)
    return away <= ELSEWHERE * len(scene.hot)


def _inferred(scene: Scene, place: Subject) -> CauseCandidate:
    nodes = scene.nodes_under(place, ("cools",))
    one = CauseCandidate(
        cause=place,
        kind="cooling.unmetered",
        signs=[],
        reach=scene.reach(place, COOLS),
        explains=COOLING,
        began=min(scene.hot[node].since for node in nodes if node in scene.hot),
        most=WITHOUT_INSTRUMENT,
    )
    one.supported_by(2.0, f"exactly the nodes that {place} cools are hotter than their power explains")
    weigh.warms(scene, one, nodes, expected=True)
    if not scene.loaded & scene.nodes_seen(HEAT) - nodes:
        one.unknown.append(f"{place}: whether it or something above it, because no node works elsewhere")
    one.unknown.append(f"{place}: neither its flow nor its temperature is measured, so the failed part is not known")
    return one


SEAM = Seam(
    name="cooling.unmetered",
    asks="Are exactly the nodes behind one unit or room hot, although none of its meters can be read?",
    kinds=("cooling.unmetered",),
    reads=(HEAT, "gpu_power_watts", "gpu_utilization_ratio"),
    domains=("accelerators", "cooling"),
    explain=explain,
)
