"""job.passive: no busy GPU of the job runs at a lower clock than the others. For jobs without progress reports."""

from collections.abc import Sequence
from statistics import median

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Run, Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.job.facts import SPREAD, percent

CLOCK = "gpu_clock_sm_hertz"


def judge(window: Window, limits: Limits) -> Verdict:
    """GPUs that wait for a slow one spin at full clock. The slow one is busy and runs below its peers."""
    job = f"job/{window.inventory.node}"
    clocks: dict[Subject, float] = {}
    for gpu in window.values(CLOCK):
        busy = window.number(gpu, "gpu_utilization_ratio")
        runs = window.runs(gpu, CLOCK)
        if busy is not None and busy >= limits["busy_ratio"] and runs[-1].end - runs[0].start >= limits["seconds"]:
            clocks[gpu] = _held_longest(runs)
    if len(clocks) < limits["least_peers"]:
        why = f"fewer than {limits['least_peers']:.0f} busy GPUs of the job reported their clocks for long enough"
        return Verdict(rows=(Row(job, Health.UNKNOWN, reason=why),))
    usual = median(clocks.values())
    noise = SPREAD * median(abs(one - usual) for one in clocks.values()) / usual
    limit = max(limits["slow_ratio"], limits["noises"] * noise)
    rows = tuple(_row(window, gpu, usual / one - 1, limit) for gpu, one in clocks.items())
    return Verdict(rows=rows)


def _held_longest(runs: Sequence[Run]) -> float:
    """The median over time: for half of the time the clock was lower."""
    left = sum(run.end - run.start for run in runs) / 2
    for run in sorted(runs, key=lambda run: float(run.value)):
        left -= run.end - run.start
        if left <= 0:
            break
    return max(float(run.value), 1.0)


def _row(window: Window, gpu: Subject, ratio: float, limit: float) -> Row:
    if ratio < limit:
        return Row(gpu, Health.PASS, ratio, limit)
    hardware = window.value(gpu, "job_rank_hardware")
    text = f"its clock makes it {percent(ratio)} slower than the job's other busy GPUs"
    return Row(gpu, Health.DEGRADED, ratio, limit, text + (f", {hardware}" if hardware else ""))


CHECK = Check(
    name="job.passive",
    asks="Does a busy GPU of the job run at a lower clock than the job's others?",
    about="gpu",
    part="job",
    scope="job",
    reads=(),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="leave the node out at the next restart and test it; gpu.throttle and gpu.power say why",
    owner="training",
    repair=Verb.RESET_GPU,
    span=600.0,
    limits={"slow_ratio": 0.06, "noises": 6.0, "seconds": 110.0, "busy_ratio": 0.5, "least_peers": 4.0},
)
