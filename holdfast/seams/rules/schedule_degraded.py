"""Does a degraded node stay in a job although its delay already costs more than its replacement?"""

from collections.abc import Iterator

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_of, whole_or_self
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import CARRIES, DEVICE
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

STEP = "job_step_seconds"
REPLACING = "job_replace_seconds"
RESTART = "job_restart_seconds"
WITHOUT = 600.0
CLOCK = "gpu_clock_sm_hertz"
COMPUTE = "rank_compute_seconds"


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    known: dict[Subject, float] = {}
    for event in scene.panel.events_of("verdict"):
        node = whole_or_self(event.subject)
        if event.detail.get("health") in ("degraded", "fail"):
            known.setdefault(node, event.at)
        else:
            known.pop(node, None)
    for node, since in known.items():
        for job in sorted(job for job, nodes in scene.jobs.items() if node in nodes):
            yield from _judge(scene, node, job, since)


def _judge(scene: Scene, node: Subject, job: Subject, since: float) -> Iterator[CauseCandidate]:
    slower = scene.rose(STEP).get(job)
    parts = [sign for sign in scene.fell(CLOCK).values() if whole_of(sign.subject) == node]
    if slower is None or not parts:
        return
    lost = 1 - slower.before / slower.now
    cost = _reported(scene, REPLACING, job) or _reported(scene, RESTART, job) or WITHOUT
    held = scene.now - max(since, slower.since)
    if held * lost < cost:
        return
    one = CauseCandidate(
        cause=node,
        kind="schedule.degraded_kept",
        signs=[Symptom(node, "verdict", since, 0.0, 1.0), *parts],
        reach=scene.reach(node, CARRIES),
        explains=DEVICE,
        proven=True,
    )
    one.supported_by(3.0, f"{node} has been degraded for {scene.now - since:.0f} s and is still in {job}")
    one.supported_by(2.5, f"it has cost {held * lost:.0f} s of the whole job; replacing it costs {cost:.0f} s")
    yield one


def _reported(scene: Scene, signal: str, job: Subject) -> float:
    row = scene.panel.row(signal, job)
    return float(row[-1]) if row is not None and row[-1] == row[-1] else 0.0


SEAM = Seam(
    name="schedule.degraded",
    asks="Does a job keep a degraded node for longer than a replacement would cost?",
    kinds=("schedule.degraded_kept",),
    reads=(STEP, CLOCK, RESTART),
    domains=("runtime", "schedule", "accelerators"),
    explain=explain,
)
