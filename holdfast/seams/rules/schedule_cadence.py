"""Does a job save too rarely or too often for its failure rate?"""

from collections.abc import Iterator
from math import isfinite, sqrt

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

INTERVAL = "job_checkpoint_interval_seconds"
TAKES = "job_checkpoint_seconds"
MTBF = "job_mtbf_seconds"
LONGEST_MTBF = 24 * 3600.0  # assumed for a job without an observed failure
LEAST_FAILURES = 2
FAILURES_OF_A_RATE = 4  # needed for a rate if the interval is unchanged; two failures in a bad hour are not a rate
NEVER_WRITTEN = 60.0  # seconds assumed for a checkpoint before the first one is finished
EXCESS = 0.04  # share of all time lost in addition to the loss at the best interval
FACTOR = 2.0  # an interval within this of the best one is good enough


def explain(scene: Scene) -> Iterator[CauseCandidate]:
    for job in sorted(scene.seen(INTERVAL)):
        written = job in scene.seen(TAKES)
        interval, takes = scene.recent(INTERVAL, job), scene.recent(TAKES, job) if written else NEVER_WRITTEN
        if interval > 0 and takes > 0:
            yield from _judge(scene, job, interval, takes, written)


def _judge(scene: Scene, job: Subject, interval: float, takes: float, written: bool) -> Iterator[CauseCandidate]:
    deaths = [event.at for event in scene.panel.events_of("job_failed") if event.subject == job]
    mtbf, how = _mtbf(scene, job, deaths)
    best = sqrt(2 * takes * mtbf)
    excess = _lost(interval, takes, mtbf) - _lost(best, takes, mtbf)
    if excess < EXCESS or best / FACTOR < interval < best * FACTOR:
        return
    long = interval > best
    if not long and not written:
        return
    least = LEAST_FAILURES if job in scene.moved(INTERVAL) else FAILURES_OF_A_RATE
    if long and len(deaths) < least and how != MTBF:
        return
    signs = [Symptom(job, "job_failed", at, 0.0, 1.0) for at in deaths[-1:]] if long else []
    if job in scene.moved(INTERVAL):
        signs.insert(0, scene.moved(INTERVAL)[job])
    one = CauseCandidate(
        cause=job,
        kind="schedule.cadence_long" if long else "schedule.cadence_short",
        signs=signs,
        reach=frozenset({job}) | scene.down(job, ("blocks",)),
        explains=frozenset({"checkpoint", "interval"}),
        began=float(scene.panel.times[0]),
        proven=job in scene.moved(INTERVAL),
    )
    one.supported_by(
        2.5, f"saving every {interval:.0f} s loses {100 * excess:.0f} % of all time more than every {best:.0f} s would"
    )
    one.supported_by(0.5, f"a checkpoint takes {takes:.0f} s and the job dies every {mtbf:.0f} s ({how})")
    if not written:
        one.unknown.append(f"{job}: how long a checkpoint takes: it has not written one yet; {takes:.0f} s is assumed")
    if job in scene.moved(INTERVAL):
        one.supported_by(2.0, weigh.moved_text(scene.moved(INTERVAL)[job], " s"))
    yield one


def _mtbf(scene: Scene, job: Subject, deaths: list[float]) -> tuple[float, str]:
    reported = scene.panel.row(MTBF, job)
    if reported is not None and isfinite(float(reported[-1])):
        return float(reported[-1]), MTBF
    span = scene.now - float(scene.panel.times[0])
    how = f"{len(deaths)} failures in {span:.0f} s"
    if len(deaths) >= LEAST_FAILURES:
        return span / len(deaths), how
    if not deaths and job in scene.moved(INTERVAL):
        return LONGEST_MTBF, how
    # The shortest time between failures that so short an observation supports.
    return span / (len(deaths) + 3), how


def _lost(interval: float, takes: float, mtbf: float) -> float:
    """The share of time lost to saving and to rework."""
    return takes / interval + min(1.0, interval / 2 / mtbf)


SEAM = Seam(
    name="schedule.cadence",
    asks="Does a job save too rarely or too often, given its checkpoint time and its failure rate?",
    kinds=("schedule.cadence_long", "schedule.cadence_short"),
    reads=(INTERVAL, TAKES),
    domains=("runtime", "schedule"),
    explain=explain,
)
