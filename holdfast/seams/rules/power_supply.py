"""Did a feed or a power supply fail, so that the remaining ones cannot power its racks?"""

from collections.abc import Iterator

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import POWER, POWERS
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

VOLTS = "feed_voltage_volts"
HEALTHY = "psu_healthy"
OUTPUT = "psu_output_watts"
GONE = 0.5  # share of its output
SUPPLY_FAILS_FROM = 0.2  # share of the voltage; supplies tolerate smaller sags


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    for feed, sign in scene.fell(VOLTS).items():
        yield _feed(scene, feed, sign)
    silent = {psu: sign for psu, sign in scene.fell(OUTPUT).items() if weigh.fall(sign) >= GONE and _alone(scene, psu)}
    for psu in sorted({*scene.fell(HEALTHY), *silent}):
        yield _supply(scene, psu, silent)


def _feed(scene: Scene, feed: Subject, sign: Symptom) -> CauseCandidate:
    one = _candidate(scene, feed, "power.feed_lost", [sign])
    one.supported_by(3.0, weigh.moved_text(sign, " V"))
    if weigh.fall(sign) >= SUPPLY_FAILS_FROM:
        behind = {place for place in scene.down(feed, ("powers",)) if place.startswith("psu/")}
        weigh.companions(one, "supplies behind it", scene.fell(HEALTHY), scene.seen(HEALTHY) & behind)
    return one


def _supply(scene: Scene, psu: Subject, silent: dict[Subject, Symptom]) -> CauseCandidate:
    signs = [found[psu] for found in (scene.fell(HEALTHY), silent) if psu in found]
    one = _candidate(scene, psu, "power.psu", signs)
    if psu in scene.fell(HEALTHY):
        one.supported_by(3.0, f"{psu} reports itself as failed")
    if psu in silent:
        one.supported_by(1.5, weigh.moved_text(silent[psu], " W"))
    feeds = {edge.source for edge in scene.topology.sources.get(psu, ()) if edge.kind == "powers"}
    if any(feed in scene.fell(VOLTS) for feed in feeds):
        one.doubted_by(2.0, "its feed lost voltage")
    return one


def _alone(scene: Scene, psu: Subject) -> bool:
    """Whether the load moved to the supplies beside it. If all deliver less, the rack needs less."""
    racks = [edge.target for edge in scene.topology.targets.get(psu, ()) if edge.kind == "powers"]
    beside = {edge.source for rack in racks for edge in scene.topology.sources[rack] if edge.kind == "powers"}
    return any(other in scene.rose(OUTPUT) for other in beside - {psu})


def _candidate(scene: Scene, cause: Subject, kind: str, signs: list[Symptom]) -> CauseCandidate:
    return CauseCandidate(
        cause=cause, kind=kind, signs=signs, reach=scene.reach(cause, POWERS), explains=POWER, proven=True
    )


SEAM = Seam(
    name="power.supply",
    asks="Did a feed or a power supply fail, so that the rest cannot carry the racks behind it?",
    kinds=("power.feed_lost", "power.psu"),
    reads=(VOLTS, HEALTHY, OUTPUT, "gpu_clock_sm_hertz", "job_step_seconds"),
    domains=("power", "accelerators", "runtime"),
    explain=explain,
)
