"""Does a coolant unit deliver less, or warmer, than before to every rack behind it?"""

from collections.abc import Iterator

import numpy as np

from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLING, COOLS
from holdfast.seams.rules.cooling_plant import together
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

FLOW = "cdu_flow_litres_per_minute"
RACK_FLOW = "rack_flow_litres_per_minute"
SUPPLY = "cdu_supply_celsius"
INLET = "rack_inlet_celsius"
AMBIENT = "ambient_celsius"
PRESSURE = "cdu_differential_pressure_pascals"
POWER, USE = "gpu_power_watts", "gpu_utilization_ratio"
AS_MUCH = 0.5  # of the loss of flow: a unit that holds its temperature difference delivers as much as is needed
WARMS_FROM = 0.3  # a smaller loss of flow need not show in the chips
SUPPLY_WARMS_FROM = 5.0


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    shared = {(sign.subject, sign.signal): up for up, signs in together(scene).items() for sign in signs}
    for signal, made in ((FLOW, _flow), (SUPPLY, _supply)):
        for cdu in scene.fell(FLOW) if signal == FLOW else scene.rose(SUPPLY):
            one = made(scene, cdu)
            if (cdu, signal) in shared:
                one.doubt(3.0, f"all units behind {shared[cdu, signal]} moved with it")
            yield one


def _flow(scene: Scene, cdu: Subject) -> CauseCandidate:
    sign = scene.moved(FLOW)[cdu]
    one = _candidate(scene, cdu, "cooling.flow_low", FLOW)
    one.speaks(2.5, weigh.moved_text(sign, " l/min"))
    seen = scene.seen(RACK_FLOW) & _racks(scene, cdu)
    if cdu in scene.rose(PRESSURE):
        one.doubt(3.0, "its pressure rose: something behind it is shut, it does not push less")
    elif cdu in scene.fell(PRESSURE):
        one.speaks(0.5, weigh.moved_text(scene.moved(PRESSURE)[cdu], " Pa"))
    confirmed = weigh.companions(one, "flow into its racks", scene.fell(RACK_FLOW), seen)
    nodes = scene.nodes_under(cdu, COOLS)
    hotter = weigh.warms(scene, one, nodes, weigh.fall(sign) >= WARMS_FROM and not confirmed)
    if not hotter and _load_fell(scene, nodes) >= AS_MUCH * weigh.fall(sign):
        one.doubt(5.0, "the load that it cools fell as much and no GPU is hotter: its control asks for less")
    return one


def _load_fell(scene: Scene, nodes: frozenset[Subject]) -> float:
    """By what share the GPUs of these nodes draw less than before; where no power is read, work less."""
    for signal in (POWER, USE):
        found = scene.moves(signal)
        wholes = scene.wholes(found.subjects)
        mine = np.array([row for row in np.flatnonzero(found.seen) if wholes[row] in nodes], np.intp)
        before = float(found.center[mine].sum()) if len(mine) else 0.0
        if before > 0:
            return 1.0 - float(found.recent[mine].sum()) / before
    return 0.0


def _supply(scene: Scene, cdu: Subject) -> CauseCandidate:
    sign = scene.moved(SUPPLY)[cdu]
    one = _candidate(scene, cdu, "cooling.supply_warm", SUPPLY)
    one.speaks(2.0, weigh.moved_text(sign, " °C"))
    weigh.companions(one, "coolant into its racks", scene.rose(INLET), scene.seen(INLET) & _racks(scene, cdu))
    weigh.warms(scene, one, scene.nodes_under(cdu, COOLS), sign.now - sign.before >= SUPPLY_WARMS_FROM)
    rooms = [scene.rose(AMBIENT)[up] for up in scene.topology.up(cdu, ("cools",)) if up in scene.rose(AMBIENT)]
    if rooms:
        follows = any(room.now - room.before >= sign.now - sign.before for room in rooms)
        one.doubt(5.0 if follows else 1.0, "the room it gives its heat to is warmer too")
    if cdu in scene.fell(FLOW):
        one.doubt(1.5, "its flow fell as well")
    return one


def _candidate(scene: Scene, cdu: Subject, kind: str, signal: str) -> CauseCandidate:
    sign = scene.moved(signal)[cdu]
    return CauseCandidate(
        cause=cdu,
        kind=kind,
        signs=[sign],
        reach=scene.reach(cdu, COOLS),
        explains=COOLING,
        backwards=frozenset({"flow", "pressure", "pump", "return"}),
    )


def _racks(scene: Scene, cdu: Subject) -> set[Subject]:
    return {one for one in scene.down(cdu, ("cools",)) if one.startswith("rack/")}


SEAM = Seam(
    name="cooling.flow",
    asks="Does a coolant unit deliver less, or warmer, than before to the racks whose GPUs get hot?",
    kinds=("cooling.flow_low", "cooling.supply_warm"),
    reads=(FLOW, SUPPLY, PRESSURE, RACK_FLOW, INLET, "gpu_temperature_celsius", "job_step_seconds"),
    domains=("cooling", "accelerators", "runtime"),
    explain=explain,
)
