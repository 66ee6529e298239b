"""Do all coolant units behind one room or plant get worse together? Then the room or plant is the cause."""

from collections.abc import Iterator
from statistics import median

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLING, COOLS
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

FLOW = "cdu_flow_litres_per_minute"
SUPPLY = "cdu_supply_celsius"
AMBIENT = "ambient_celsius"
NEARLY_ALL = 0.8
OF_NO_DAY = 4.0  # degrees; set points, weather and free cooling change a supply by less every day
EVERY_DAY = 0.0
WARMS_FROM = 0.3  # share; a smaller loss of flow may not show in the GPUs
MOST = 0.5
TOGETHER_SECONDS = 900.0


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    for parent, signs in together(scene).items():
        one = CauseCandidate(
            cause=parent,
            kind="cooling.plant",
            signs=signs,
            reach=scene.reach(parent, COOLS),
            explains=COOLING,
        )
        what = "supply warmer" if signs[0].signal == SUPPLY else "deliver less"
        one.supported_by(4.0, f"all {len(signs)} coolant units behind {parent} {what} since the same minutes")
        hot = weigh.warms(scene, one, scene.nodes_under(parent, COOLS), expected=False)
        if _every_day(scene, parent, signs, hot):
            one.most = EVERY_DAY
        room = scene.rose(AMBIENT).get(parent)
        if room is not None and room.now - room.before >= max(sign.now - sign.before for sign in signs):
            one.doubted_by(5.0, "the room that takes their heat is warmer by as much")
        yield one


def _every_day(scene: Scene, parent: Subject, signs: list[Symptom], hot: float) -> bool:
    """Whether the change is one of every day: set points, weather and load change all units of a room by so much."""
    size = [sign.now - sign.before if sign.signal == SUPPLY else weigh.fall(sign) for sign in signs]
    if signs[0].signal == SUPPLY:
        return median(size) < OF_NO_DAY and not weigh.suffers(scene, scene.nodes_under(parent, COOLS))
    if weigh.follows_load(scene, scene.nodes_under(parent, COOLS), median(size)):
        return True
    return hot < MOST and median(size) < WARMS_FROM


def together(scene: Scene) -> dict[Subject, list[Symptom]]:
    """Parents of which several and nearly all units changed together, with these units."""
    found: dict[Subject, list[Symptom]] = {}
    for signal, moved in ((SUPPLY, scene.rose(SUPPLY)), (FLOW, scene.fell(FLOW))):
        units = scene.seen(signal)
        parents = {up for unit in moved for up in scene.topology.up(unit, ("cools",))}
        for parent in sorted(parents, key=lambda up: len(scene.down(up, ("cools",)))):
            mine = [unit for unit in scene.down(parent, ("cools",)) if unit in units]
            signs = [moved[unit] for unit in mine if unit in moved]
            since = [sign.since for sign in signs]
            several = len(signs) > 1 and len(signs) >= NEARLY_ALL * len(mine)
            if several and max(since) - min(since) <= TOGETHER_SECONDS:
                found.setdefault(parent, signs)
    return found


SEAM = Seam(
    name="cooling.plant",
    asks="Do all coolant units behind one room or chiller plant get worse together?",
    kinds=("cooling.plant",),
    reads=(SUPPLY, FLOW, AMBIENT, "gpu_temperature_celsius"),
    domains=("cooling", "accelerators"),
    explain=explain,
)
