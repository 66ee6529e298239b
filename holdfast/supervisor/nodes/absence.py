"""Nodes whose heartbeat stopped: evidence, and the decision to go on without them. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event
from holdfast.supervisor.attempt import Decision


def evidence(lost: Sequence[str], at: float, *, hang: bool) -> list[Evidence]:
    """A host that dies closes its connections and its peers fail at once; where they only wait, its link may be it."""
    return [_lost(name, at, hang) for name in lost]


def _lost(name: str, at: float, hang: bool) -> Evidence:
    says = f"{name} does not answer any more" + (": its link or the host itself is down" if hang else "")
    event = Event(kind="node", code="lost", at=at, text=says, severity="fatal", detail={"says": says})
    cause = "fabric.unreachable" if hang else "host.other"
    return Evidence(event=event, file="supervisor", host=name, role="strong", cause=cause)


def without(decision: Decision, lost: tuple[str, ...], spares: int | None) -> Decision:
    """Lost nodes are excluded, whatever the cause. With too few left, the scheduler must give the job another node."""
    if not lost or not decision.goes_on:
        return decision
    exclude = tuple(dict.fromkeys([*decision.exclude, *lost]))
    if spares is not None and spares < len(exclude):
        reason = f"{decision.reason}; no spare is left for {', '.join(lost)}: give the job another node"
        return replace(decision, action="stop", reason=reason, exclude=exclude)
    return replace(decision, exclude=exclude)


def of_leader(decision: Decision, leader: str, spares: int | None) -> Decision:
    """Decisions are made on the leader's node, so it cannot be left out: the scheduler must give the job another."""
    if spares is None or leader not in decision.exclude or not decision.goes_on:
        return decision
    reason = f"{decision.reason}; {leader} leads the job and cannot be left out: give the job another node"
    return replace(decision, action="stop", reason=reason)
