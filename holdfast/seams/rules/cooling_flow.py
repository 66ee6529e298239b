"""Does a coolant unit deliver less, or warmer, than before to every rack behind it?"""

from collections.abc import Iterator

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLING, COOLS
from holdfast.seams.moved import TINY
from holdfast.seams.rules.cooling_plant import EVERY_DAY, OF_NO_DAY, WARMS_FROM, together
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

FLOW = "cdu_flow_litres_per_minute"
RACK_FLOW = "rack_flow_litres_per_minute"
SUPPLY = "cdu_supply_celsius"
RETURN = "cdu_return_celsius"
INLET = "rack_inlet_celsius"
AMBIENT = "ambient_celsius"
PRESSURE = "cdu_differential_pressure_pascals"
SUPPLY_WARMS_FROM = 5.0
LEAST_DIFFERENCE_CELSIUS = 2.0  # between return and supply; a smaller difference is within the resolution of the meters


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    shared = {(sign.subject, sign.signal): up for up, signs in together(scene).items() for sign in signs}
    for signal, made in ((FLOW, _flow), (SUPPLY, _supply)):
        for cdu in scene.fell(FLOW) if signal == FLOW else scene.rose(SUPPLY):
            one = made(scene, cdu)
            if (cdu, signal) in shared:
                one.doubted_by(3.0, f"all units behind {shared[cdu, signal]} moved with it")
            yield one


def _flow(scene: Scene, cdu: Subject) -> CauseCandidate:
    sign = scene.moved(FLOW)[cdu]
    one = _candidate(scene, cdu, "cooling.flow_low", FLOW)
    one.supported_by(2.5, weigh.moved_text(sign, " l/min"))
    seen = scene.seen(RACK_FLOW) & scene.down(cdu, ("cools",))
    if cdu in scene.rose(PRESSURE):
        one.doubted_by(3.0, "its pressure rose: something behind it is closed, the unit does not pump less")
    elif cdu in scene.fell(PRESSURE):
        one.supported_by(0.5, weigh.moved_text(scene.moved(PRESSURE)[cdu], " Pa"))
    confirmed = weigh.companions(one, "flow into its racks", scene.fell(RACK_FLOW), seen)
    nodes = scene.nodes_under(cdu, COOLS)
    hotter = weigh.warms(scene, one, nodes, weigh.fall(sign) >= WARMS_FROM and not confirmed)
    if weigh.follows_load(scene, nodes, weigh.fall(sign)):
        one.doubted_by(5.0, "the load that it cools fell as much and no GPU is slowed: its control reduces the flow")
        one.most = EVERY_DAY
    elif not hotter:
        _asked_for_less(scene, one, sign)
    return one


def _asked_for_less(scene: Scene, one: CauseCandidate, sign: Symptom) -> None:
    """Units follow the load: a lower flow is a fault only if it fell by more than the load, or if GPUs get warmer."""
    nodes, lost = scene.nodes_under(sign.subject, COOLS), weigh.fall(sign)
    rise = weigh.unexplained_rise(scene, nodes)
    if (heat := _heat_carried(scene, sign.subject)) is not None and 1 - heat >= weigh.AS_MUCH * lost:
        one.doubted_by(5.0, "its return is not warmer: it removes less heat because less is produced")
    elif lost < WARMS_FROM and (rise is None or rise < weigh.LEAST_RISE_CELSIUS):
        one.doubted_by(4.0, "no GPU that it cools is warmer: its control may reduce the flow")
        one.most = EVERY_DAY


def _heat_carried(scene: Scene, cdu: Subject) -> float | None:
    """The heat carried now as a share of the usual heat: flow times the degrees between return and supply."""
    before = scene.usual(RETURN, cdu) - scene.usual(SUPPLY, cdu)
    now = scene.recent(RETURN, cdu) - scene.recent(SUPPLY, cdu)
    flow = scene.recent(FLOW, cdu) / max(scene.usual(FLOW, cdu), TINY)
    return flow * now / before if before >= LEAST_DIFFERENCE_CELSIUS else None


def _supply(scene: Scene, cdu: Subject) -> CauseCandidate:
    sign = scene.moved(SUPPLY)[cdu]
    one = _candidate(scene, cdu, "cooling.supply_warm", SUPPLY)
    one.supported_by(2.0, weigh.moved_text(sign, " °C"))
    weigh.companions(one, "coolant into its racks", scene.rose(INLET), scene.seen(INLET) & scene.down(cdu, ("cools",)))
    warmer, nodes = sign.now - sign.before, scene.nodes_under(cdu, COOLS)
    weigh.warms(scene, one, nodes, warmer >= SUPPLY_WARMS_FROM)
    if warmer < OF_NO_DAY and not weigh.suffers(scene, nodes):
        one.most = EVERY_DAY
    rooms = [scene.rose(AMBIENT)[up] for up in scene.topology.up(cdu, ("cools",)) if up in scene.rose(AMBIENT)]
    if rooms:
        follows = any(room.now - room.before >= sign.now - sign.before for room in rooms)
        one.doubted_by(5.0 if follows else 1.0, "the room that takes its heat is warmer too")
    if cdu in scene.fell(FLOW):
        one.doubted_by(1.5, "its flow fell as well")
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


SEAM = Seam(
    name="cooling.flow",
    asks="Does a coolant unit deliver less coolant, or warmer coolant, to the racks whose GPUs get hot?",
    kinds=("cooling.flow_low", "cooling.supply_warm"),
    reads=(FLOW, SUPPLY, RETURN, PRESSURE, RACK_FLOW, INLET, "gpu_temperature_celsius", "job_step_seconds"),
    domains=("cooling", "accelerators", "runtime"),
    explain=explain,
)
