"""Do the fans of a node fail? Its GPUs get hot while the coolant of its rack is unchanged."""

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_or_self
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import CARRIES, DEVICE
from holdfast.seams.moved import baseline_columns, median, recent_columns
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

FAN = "fan_speed_ratio"
HEAT = "gpu_temperature_celsius"
RACK_FLOW = "rack_flow_litres_per_minute"
WITHOUT_INSTRUMENT = 1.0
HALF = 0.5  # share of its speed: a slower fan is broken if its GPUs work
RESTING = 0.3
STOPPED = 0.01
SEVERAL = 3
FEW_FANS = 0.02  # share of the nodes: a new fan curve affects many nodes, a failure one
COOL = 1.0  # confidence 0.73
TO_BE_SEEN = 0.0  # maximum score until the GPUs get warmer; until then a wrong reading is as likely
COOLER_CELSIUS = 3.0
LEAST_RISE_CELSIUS = 5.0  # least rise of a node whose fans are not measured
AS_OTHERS = 0.5
HOT_BY_CHANCE = 0.5  # share of the nodes with stopped fans that may be hot for another reason
FEW = 0.5  # share of the working nodes of a rack; with more, the cause is the rack's


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    slower = {whole_or_self(part): sign for part, sign in scene.fell(FAN).items()}
    misread = _misread(scene, slower)
    if misread:
        yield _instruments(scene, misread)
    seen = scene.nodes_seen(FAN)
    for node, sign in slower.items():
        if node in misread:
            continue
        one = _candidate(scene, node)
        one.signs.append(sign)
        far = weigh.fall(sign) >= HALF
        one.supported_by(3.0 if far else 2.0, weigh.moved_text(sign))
        if _rests(scene, node, slower):
            one.doubted_by(3.0, "its GPUs have less load: fans may stop then, and those of other nodes do")
        elif _cooler(scene, node):
            one.doubted_by(3.0, "its GPUs are cooler than before: fans may turn slower then")
        alone = far and node in scene.loaded and len(slower) <= max(1, FEW_FANS * len(seen))
        weigh.warms(scene, one, [node], expected=far and not alone)
        if node not in scene.hot and scene.now - sign.since < weigh.HEAT_NEEDS_SECONDS:
            one.most = TO_BE_SEEN
        elif alone and node not in scene.hot:
            one.most = COOL  # the coolant may remove the heat
        _not_the_rack(scene, one, node, 0.5 if far else 2.0)
        yield one
    for node in sorted(set(scene.hot) - seen):
        if _alone(scene, node):
            yield _inferred(scene, node)


def _misread(scene: Scene, slower: Mapping[Subject, Symptom]) -> dict[Subject, Symptom]:
    """Fans of several nodes that stopped in the same minutes while no GPU got hotter: a wrong reading."""
    stopped = {node: sign for node, sign in slower.items() if sign.now <= STOPPED}
    stopped = {node: sign for node, sign in stopped.items() if node not in scene.hot or sign.now == 0.0}
    hot = sum(1 for node in stopped if node in scene.hot)
    if len(stopped) < SEVERAL or hot > HOT_BY_CHANCE * len(stopped):
        return {}
    since = [sign.since for sign in stopped.values()]
    return stopped if max(since) - min(since) <= weigh.SLACK_SECONDS else {}


def _instruments(scene: Scene, stopped: Mapping[Subject, Symptom]) -> CauseCandidate:
    shared = [set(scene.topology.up(node, ("cools",))) for node in stopped]
    above = sorted(set.intersection(*shared), key=lambda up: len(scene.down(up)))
    one = CauseCandidate(
        cause=above[0] if above else min(stopped),
        kind="sensor.absurd",
        signs=list(stopped.values()),
        reach=frozenset(stopped),
        explains=frozenset({"fan"}),
        proven=True,
    )
    one.supported_by(
        3.0, f"the fans of {len(stopped)} nodes read 0 since the same minutes, and none of their GPUs is hotter"
    )
    one.unknown.append("fan speed of these nodes: not known while their BMCs misread it")
    return one


def _rests(scene: Scene, node: Subject, slower: Collection[Subject]) -> bool:
    """Whether the node has less work than before, and the fans of other such nodes, if any, are slower too."""
    idle = scene.nodes_seen(FAN) - scene.loaded
    alike = idle if node in idle else scene.drawing_less & scene.nodes_seen(FAN)
    part = weigh.share(slower, alike - {node})
    return node in alike and (part is None or part > RESTING)


def _cooler(scene: Scene, node: Subject) -> bool:
    """Whether the node's GPUs got cooler, which a failed fan excludes."""
    table, times = scene.panel.of(HEAT), scene.panel.times
    rows = [table.index[gpu] for gpu in scene.gpus_of.get(node, ())]
    before = median(table.values[rows, : baseline_columns(times)])
    change = median(table.values[rows, -recent_columns(times) :]) - before
    seen = change[np.isfinite(change)]
    return bool(len(seen)) and float(seen.mean()) <= -COOLER_CELSIUS


def _candidate(scene: Scene, node: Subject) -> CauseCandidate:
    return CauseCandidate(
        cause=node, kind="cooling.fan", signs=[], reach=scene.reach(node, CARRIES), explains=DEVICE | {"inlet"}
    )


def _inferred(scene: Scene, node: Subject) -> CauseCandidate:
    one = _candidate(scene, node)
    one.began = scene.hot[node].since
    one.most = WITHOUT_INSTRUMENT
    one.unknown.append(f"{node}: its fans are not measured")
    weigh.warms(scene, one, [node], expected=True)
    _not_the_rack(scene, one, node, 2.0)
    rise, others = weigh.unexplained_rise(scene, [node]), weigh.unexplained_rise(scene, scene.loaded - {node})
    if rise is not None and (rise < LEAST_RISE_CELSIUS or (others or 0.0) >= AS_OTHERS * rise):
        one.doubted_by(3.0, "it is only slightly warmer, or the other nodes are warmer too")
    return one


def _not_the_rack(scene: Scene, one: CauseCandidate, node: Subject, against: float) -> None:
    racks = {edge.source for edge in scene.topology.sources.get(node, ()) if edge.kind == "cools"}
    if any(rack in scene.fell(RACK_FLOW) for rack in racks):
        one.doubted_by(against, "the coolant of its rack flows more slowly")
    elif racks & scene.seen(RACK_FLOW):
        one.supported_by(1.0, "the coolant of its rack flows normally")


def _alone(scene: Scene, node: Subject) -> bool:
    racks = [edge.source for edge in scene.topology.sources.get(node, ()) if edge.kind == "cools"]
    for rack in racks:
        mates = (scene.nodes_under(rack, ("cools",)) & scene.loaded) - {node}
        if mates and sum(1 for mate in mates if mate in scene.hot) >= FEW * len(mates):
            return False
    return True


SEAM = Seam(
    name="cooling.fan",
    asks="Do the fans of a node fail, so that its GPUs get hot while the coolant of its rack is normal?",
    kinds=("cooling.fan", "sensor.absurd"),
    reads=(FAN, RACK_FLOW, HEAT, "job_step_seconds"),
    domains=("cooling", "accelerators", "runtime"),
    explain=explain,
)
