"""A month of a fleet, from the controller's store: productive node-seconds, and the causes of the unproductive ones.

An allocated node counts as productive unless it was degraded, because the controller does not see the job's progress.
If a job died with a node and its checkpoint interval is known, half an interval counts as rework.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.economics.costs.claims import Outage
from holdfast.economics.costs.history import NodeStageChange
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import OUT_OF_SERVICE, EventKind, Stage

DIED = frozenset({JobState.FAILED, JobState.NODE_FAILED})
IDLE = frozenset({Stage.READY, Stage.SPARE})
BETWEEN = frozenset({Stage.CLEANING, Stage.TESTING})
NO_JOB = "no job"
UNSEEN = "before anybody watched"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageChange(NodeStageChange):
    cause: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some seconds of one node: their use, the job, and the cause if they were lost."""

    node: str
    begin: float
    end: float
    part: str  # a name of the ledger
    job: str = NO_JOB
    team: str = NO_JOB
    cause: str = ""
    seen: str = ""  # the cause's reason when it took the node out

    @property
    def seconds(self) -> float:
        return self.end - self.begin


def slices(
    nodes: Sequence[str],
    changes: Sequence[StageChange],
    jobs: Sequence[Job],
    begin: float,
    end: float,
    checkpoint_interval: float = 0.0,
) -> list[Slice]:
    """The whole month of every node, without gap or overlap."""
    moves_by_node: dict[str, list[StageChange]] = {name: [] for name in nodes}
    for change in sorted(changes, key=lambda one: one.at):
        moves_by_node.setdefault(change.node, []).append(change)
    ran: dict[str, list[Job]] = {}
    for job in jobs:
        for node in job.nodes:
            ran.setdefault(node, []).append(job)
    found = []
    for node, moves in moves_by_node.items():
        for one in _staged(node, moves, begin, end):
            found += _split_by_job(one, ran.get(node, ()), checkpoint_interval) if _allocated(one) else [one]
    return found


def outages(found: Iterable[Slice]) -> list[Outage]:
    """Times that a node was out of service after a failure, each as one outage: the evidence of a claim."""
    made: list[Outage] = []
    for one in found:
        if one.part != "waiting":
            continue
        last = made[-1] if made else None
        if last is not None and (last.node, last.end, last.what) == (one.node, one.begin, one.cause):
            made[-1] = replace(last, end=one.end)
        else:
            made.append(Outage(node=one.node, begin=one.begin, end=one.end, what=one.cause, seen=one.seen))
    return made


def _allocated(one: Slice) -> bool:
    return one.part in ("productive", "degraded")


def _staged(node: str, moves: Sequence[StageChange], begin: float, end: float) -> list[Slice]:
    """Slices by the node's stages. The time before its first change is unknown."""
    found: list[Slice] = []
    since, part, cause, out, seen, degraded = begin, "unknown", UNSEEN, "", "", ""
    for change in moves:
        at = min(max(change.at, begin), end)
        if at > since:
            found.append(Slice(node=node, begin=since, end=at, part=part, cause=cause, seen=seen))
        since = at
        out, seen = _out_by(change, out, seen)
        degraded = _degraded_by(change, degraded)
        part, cause = _meaning(change.after, out, degraded)
    if end > since:
        found.append(Slice(node=node, begin=since, end=end, part=part, cause=cause, seen=seen))
    return found


def _out_by(change: StageChange, before: str, seen: str) -> tuple[str, str]:
    """Why a node is out of service, with the reason; nothing after it is ready again. Later events, such as an operator
    who takes over the node, do not change the cause."""
    if change.after in IDLE or change.after is Stage.ALLOCATED:
        return "", ""
    failed = change.event in (EventKind.FAILED, EventKind.TEST_FAILED)
    if not before and (failed or change.after in OUT_OF_SERVICE):
        return change.cause or change.event.value, change.reason
    return before, seen


def _degraded_by(change: StageChange, before: str) -> str:
    if change.event is EventKind.DEGRADED:
        return change.cause or "degraded"
    return "" if change.event in (EventKind.RECOVERED, EventKind.TEST_PASSED) else before


def _meaning(stage: Stage, out: str, degraded: str) -> tuple[str, str]:
    if stage is Stage.ALLOCATED:
        return ("degraded", degraded) if degraded else ("productive", "")
    if stage in IDLE:
        return "idle", ""
    if stage in BETWEEN and not out:
        return "restart", "tested between workloads"
    return "waiting", out or "not in service yet"


def _split_by_job(one: Slice, jobs: Sequence[Job], checkpoint_interval: float) -> list[Slice]:
    """Splits allocated time by job. Of two jobs on a node at once, the first counts."""
    found: list[Slice] = []
    since = one.begin
    for job in sorted((job for job in jobs if job.start is not None), key=lambda job: job.start or 0.0):
        begin, end = max(since, job.start or 0.0), min(one.end, one.end if job.end is None else job.end)
        if end <= begin:
            continue
        if begin > since:
            found.append(_like(one, since, begin))
        found += _job_slices(one, job, begin, end, checkpoint_interval)
        since = end
    return [*found, _like(one, since, one.end)] if one.end > since else found


def _like(one: Slice, begin: float, end: float, **more: str) -> Slice:
    return Slice(node=one.node, begin=begin, end=end, **{"part": one.part, "cause": one.cause, **more})


def _job_slices(one: Slice, job: Job, begin: float, end: float, checkpoint_interval: float) -> list[Slice]:
    whose = {"job": job.shown_as or job.id, "team": job.account or "no account"}
    lost = checkpoint_interval / 2 if job.state in DIED and job.end is not None and job.end <= one.end else 0.0
    kept = max(begin, end - lost)
    found = [_like(one, begin, kept, **whose)] if kept > begin else []
    if end > kept:
        found.append(_like(one, kept, end, **{**whose, "part": "rework", "cause": f"job ended {job.state.value}"}))
    return found
