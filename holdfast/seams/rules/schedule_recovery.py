"""Does a job take much longer than usual to recover from a failure?"""

from collections.abc import Iterator

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import WORK
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

USUAL = "job_restart_seconds"
USUAL_WITHOUT = 600.0  # seconds, if the job's usual recovery is unknown
TOO_LONG = 1.8
REMEMBERED_SECONDS = 3600.0  # the finding stays this long after the job is back


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    down: dict[Subject, float] = {}
    took: dict[Subject, tuple[float, float]] = {}
    for event in sorted(scene.panel.events_of("job_failed", "job_restarted"), key=lambda event: event.at):
        if event.kind == "job_failed":
            down[event.subject] = event.at
        elif event.subject in down:
            since = down.pop(event.subject)
            took[event.subject] = (since, event.at)
    for job, since in down.items():
        yield from _judge(scene, job, since, scene.now, back=False)
    for job, (since, at) in took.items():
        if job not in down and scene.now - at <= REMEMBERED_SECONDS:
            yield from _judge(scene, job, since, at, back=True)


def _judge(scene: Scene, job: Subject, since: float, until: float, *, back: bool) -> Iterator[CauseCandidate]:
    row = scene.panel.row(USUAL, job)
    usual = float(row[-1]) if row is not None and row[-1] == row[-1] else USUAL_WITHOUT
    if until - since < TOO_LONG * usual:
        return
    one = CauseCandidate(
        cause=job,
        kind="schedule.slow_recovery",
        signs=[Symptom(job, "job_down", since, usual, until - since)],
        reach=frozenset({job}) | scene.down(job, ("blocks",)),
        explains=WORK | {"compute", "utilization", "gpu_power", "node_power", "rack_power"},
        proven=True,
    )
    text = "took" if back else "is down for"
    one.supported_by(4.0, f"{job} {text} {until - since:.0f} s after a failure; {usual:.0f} s are usual")
    yield one


SEAM = Seam(
    name="schedule.recovery",
    asks="Does a job take much longer than usual to recover from a failure?",
    kinds=("schedule.slow_recovery",),
    reads=(USUAL,),
    domains=("runtime", "schedule"),
    explain=explain,
)
