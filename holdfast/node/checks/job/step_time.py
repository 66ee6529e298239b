"""job.step_time: the job as a whole keeps its usual step time. Separates "all ranks are slow" from "one is slow"."""

from statistics import median

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.job import slow_ranks as job_slow_ranks
from holdfast.node.checks.job.facts import percent, slow_ranks

STEADY_SECONDS = 20.0  # a step time that stayed constant for this long counts as usual
LASTS_SECONDS = 25.0  # three readings in a row are slow before it is reported
PARTS = {
    "data": ("all ranks wait for data", "check storage and the data loaders", "storage"),
    "checkpoint": ("all ranks wait for checkpoints", "check storage", "storage"),
    "wait": ("all ranks wait in communication and no rank computes longer", "check the fabric", "network"),
    "own": ("all ranks compute longer", "check cooling, power caps and clocks", "facility"),
}

NOT_APART = (
    "a rank, the fabric or all ranks: waiting is not distinguished from computing",
    "`watch` the model, or put `waiting` around its communication, to know which",
    "training",
)


def judge(window: Window, limits: Limits) -> Verdict:
    job = f"job/{window.inventory.node}"
    readings = int(limits["readings"])
    runs = window.runs(job, "job_step_seconds")[-readings:]
    steps = [float(run.value) for run in runs]
    usual = window.number(job, "job_usual_step_seconds")
    young = len(runs) < readings and (not runs or runs[-1].end - runs[0].start < STEADY_SECONDS)
    if young or not usual:
        return Verdict(rows=(Row(job, Health.UNKNOWN, reason="the usual step time of this job is not known yet"),))
    ratio = median(steps) / usual - 1
    since = window.number(job, "job_slow_since_seconds")
    noise = limits["noises"] * (window.number(job, "job_usual_step_noise_ratio") or 0.0)
    limit = max(limits["slow_ratio"], noise) if since is None else max(limits["well_ratio"], noise / 2)
    recent = [float(run.value) for run in runs if run.end > window.now - LASTS_SECONDS]
    # A quick one between slow ones is noise. No step ends during an evaluation, so only few readings may be recent.
    several = len(runs) == readings and min(steps) / usual - 1 >= limit
    steady = runs[-1].end - runs[-1].start >= STEADY_SECONDS
    lasts = since is not None or ((several or steady) and min(recent, default=0.0) / usual - 1 >= limit)
    if ratio < limit or not lasts:
        return Verdict(rows=(Row(job, Health.PASS, ratio, limit),))
    _, ranks = slow_ranks(window, job_slow_ranks.LIMITS)
    alone = max((one.own - one.usual for one in ranks.values()), default=0.0)  # reported before it is proven slow
    if alone >= limits["explains"] * (median(steps) - usual):
        return Verdict(rows=(Row(job, Health.PASS, ratio, limit, "one rank is slow, not all: see job.slow_ranks"),))
    grown = {part: _growth(window, job, part) for part in PARTS}
    part = max(grown, key=lambda name: grown[name])
    words, advice, owner = NOT_APART if part == "own" and _mixed(window) else PARTS[part]
    reported = f"job {window.inventory.node} is {percent(ratio)} slow: {words}"
    shared = window.value(job, "job_hardware")
    reported += f"; {shared}" if shared and part == "own" else ""
    return Verdict(
        rows=(Row(job, Health.DEGRADED, ratio, limit, reported),), reason=reported, remedy=advice, owner=owner
    )


def _mixed(window: Window) -> bool:
    """Whether the compute time of a rank includes its waiting for others."""
    split = window.values("job_rank_split")
    return len(split) > 1 and not all(split.values())


def _growth(window: Window, job: str, part: str) -> float:
    now, usual = window.number(job, f"job_{part}_seconds"), window.number(job, f"job_usual_{part}_seconds")
    return 0.0 if now is None or usual is None else now - usual


CHECK = Check(
    name="job.step_time",
    asks="Is the job as a whole as fast as usual, and if not, what do all ranks wait for?",
    about="job",
    part="job",
    scope="job",
    reads=(),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="check what all ranks wait for: storage, the fabric, cooling or power",
    owner="training",
    span=300.0,
    limits={"slow_ratio": 0.1, "well_ratio": 0.05, "noises": 4.0, "readings": 3.0, "explains": 0.5},
)
