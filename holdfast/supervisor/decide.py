"""Restart decision: whether, when and without which nodes, from a budget per cause. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.diagnosis.rules.diagnose import Diagnosis
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event
from holdfast.supervisor.attempt import Attempt, Decision

DO_NOT_REQUEUE = 93
_SHOWN_EVIDENCE = 3
# Causes in the program itself: the same end at the same step will happen again.
_OF_THE_PROGRAM = (
    "job.exception", "job.cuda_oom", "job.illegal_access", "job.dataloader", "job.collective_mismatch", "job.nan",
    "job.loss_spike", "host.oom", "launcher.setup",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    same_cause: int = 3  # attempts that end with the same cause and without progress
    storm_restarts: int = 10  # attempts of any kind
    storm_seconds: float = 1800.0  # within this time
    first_wait_seconds: float = 5.0
    longest_wait_seconds: float = 300.0


def decide(diagnosis: Diagnosis, attempts: Sequence[Attempt], budget: Budget, spares: int | None) -> Decision:
    """The decision after the last of `attempts`. `spares`: number of standby nodes; None if the job uses only this
    machine."""
    last = attempts[-1]
    evidence = _evidence(diagnosis)
    if last.exit_code == 0 and not last.ended_by:
        return Decision(action="done", reason=_done(last), evidence=evidence)
    stop = _why_stop(diagnosis, attempts, budget)
    if stop is not None:
        reason, code = stop
        return Decision(action="stop", reason=reason, exit_code=code, evidence=evidence)
    step = diagnosis.next
    action = step.action if step else "restart_same"
    wait = _wait(attempts, budget)
    checkpoint = (step.checkpoint or "") if step else ""
    if action == "wait_for_storage":
        return Decision(
            action=action, reason=last.says, exit_code=shell_code(last.exit_code), wait_seconds=wait,
            storage=_path(diagnosis), checkpoint=checkpoint, evidence=evidence,
        )  # fmt: skip
    exclude = step.exclude if step else ()
    if len(exclude) > (spares or 0):
        return _without_spare(last, exclude, evidence, attempts, wait, spares)
    return Decision(
        action="restart", reason=last.says, exit_code=shell_code(last.exit_code), wait_seconds=wait, exclude=exclude,
        checkpoint=checkpoint, probe=action == "restart_after_probe", evidence=evidence,
    )  # fmt: skip


def _why_stop(diagnosis: Diagnosis, attempts: Sequence[Attempt], budget: Budget) -> tuple[str, int] | None:
    last, earlier = attempts[-1], attempts[:-1]
    if diagnosis.next is not None and diagnosis.next.action == "stop":
        return diagnosis.next.reason, DO_NOT_REQUEUE
    alike = [one for one in earlier if one.cause == last.cause and one.last_step == last.last_step]
    if last.cause in _OF_THE_PROGRAM and alike:
        where = f"step {last.last_step}" if last.last_step is not None else "the first step"
        return f"{last.says}, for the second time at {where}: another run would end there too", DO_NOT_REQUEUE
    stuck = 0
    for one in reversed(attempts):
        stuck += one.cause == last.cause
        if one.advanced:
            break
    if stuck >= budget.same_cause:
        return f"{last.says}, {stuck} times without coming further", DO_NOT_REQUEUE
    recent = [one for one in attempts if one.ended > last.ended - budget.storm_seconds]
    if len(recent) >= budget.storm_restarts:
        minutes = budget.storm_seconds / 60
        return f"{len(recent)} attempts ended within {minutes:.0f} minutes: {last.says}", shell_code(last.exit_code)
    return None


def _wait(attempts: Sequence[Attempt], budget: Budget) -> float:
    """Seconds to wait: 0 after an attempt that made progress, else twice as long each time."""
    idle = 0
    for one in reversed(attempts):
        if one.advanced:
            break
        idle += 1
    return 0.0 if not idle else min(budget.first_wait_seconds * 2 ** (idle - 1), budget.longest_wait_seconds)


def _without_spare(
    last: Attempt,
    exclude: tuple[str, ...],
    evidence: tuple[str, ...],
    attempts: Sequence[Attempt],
    wait: float,
    spares: int | None,
) -> Decision:
    """Without a spare, the scheduler must provide another node. On a single machine the command is tried once more."""
    names = ", ".join(exclude)
    tried = any(one.cause == last.cause for one in attempts[:-1])
    if spares is None and not tried:
        reason = f"{last.says}; there is no other node than {names}: one more attempt here"
        return Decision(
            action="restart", reason=reason, exit_code=shell_code(last.exit_code), wait_seconds=wait, evidence=evidence
        )
    reason = f"{last.says}; no spare is left for {names}: give the job another node"
    return Decision(
        action="stop", reason=reason, exit_code=shell_code(last.exit_code), exclude=exclude, evidence=evidence
    )


def _done(last: Attempt) -> str:
    return f"ended well; but {last.says}" if last.cause else "ended well"


def _path(diagnosis: Diagnosis) -> str:
    found = [path for one in diagnosis.causes[0].evidence if (path := one.word("path"))] if diagnosis.causes else []
    saves = [path for one in diagnosis.evidence if one.event.kind == "save" and (path := one.word("path"))]
    return (found or saves[-1:] or [""])[0]


def _evidence(diagnosis: Diagnosis) -> tuple[str, ...]:
    best = diagnosis.causes[0].best_evidence()[:_SHOWN_EVIDENCE] if diagnosis.causes else []
    return tuple(f"{one.file}:{one.event.line}: {one.event.text}" for one in best)


def shell_code(exit_code: int) -> int:
    """The exit code as a shell reports it: 128 plus the signal number if a signal ended the process."""
    return 128 - exit_code if exit_code < 0 else exit_code or 1


def lost_node_evidence(lost: Sequence[str], at: float, *, hang: bool) -> list[Evidence]:
    """Evidence for a lost node. A host that dies closes its connections, so its peers fail at once; if they only
    wait, its link may be the cause."""
    return [_lost(name, at, hang) for name in lost]


def _lost(name: str, at: float, hang: bool) -> Evidence:
    says = f"{name} no longer answers" + (": its link or the host itself is down" if hang else "")
    event = Event(kind="node", code="lost", at=at, text=says, severity="fatal", detail={"says": says})
    cause = "fabric.unreachable" if hang else "host.other"
    return Evidence(event=event, file="supervisor", host=name, role="strong", cause=cause)


def without_lost_nodes(decision: Decision, lost: tuple[str, ...], spares: int | None) -> Decision:
    """Excludes lost nodes, whatever the cause. If too few are left, the scheduler must give the job another node."""
    if not lost or not decision.goes_on:
        return decision
    exclude = tuple(dict.fromkeys([*decision.exclude, *lost]))
    if spares is not None and spares < len(exclude):
        reason = f"{decision.reason}; no spare is left for {', '.join(lost)}: give the job another node"
        return replace(decision, action="stop", reason=reason, exclude=exclude)
    return replace(decision, exclude=exclude)


def without_leader(decision: Decision, leader: str, spares: int | None) -> Decision:
    """The leader's node cannot be excluded, because decisions are made there. The scheduler must give the job
    another node."""
    if spares is None or leader not in decision.exclude or not decision.goes_on:
        return decision
    reason = f"{decision.reason}; {leader} leads the job and cannot be left out: give the job another node"
    return replace(decision, action="stop", reason=reason)
