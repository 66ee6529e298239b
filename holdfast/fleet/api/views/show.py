"""Converts store records to API types."""

from collections.abc import Iterable, Sequence
from dataclasses import fields

from holdfast.fleet.api.views.common import (
    ActionView,
    HistoryEntry,
    HistoryView,
    IncidentView,
    TransitionView,
    VerdictView,
)
from holdfast.fleet.inbox.incident_figures import IncidentFigures
from holdfast.fleet.inbox.next_step import explaining, of_symptom, of_verdict
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import NodeState
from holdfast.model.records import HistoryPage, StoredAction, Transition
from holdfast.model.wire.report import VerdictChange


def verdict_view(change: VerdictChange, root: Incident | None = None) -> VerdictView:
    """A verdict. `root`: the incident of which the verdict is a symptom."""
    remedy = of_symptom(root) if root is not None else of_verdict(change)
    return VerdictView(
        check=change.check,
        health=change.after,
        reason=change.reason,
        since=change.at,
        evidence=change.evidence,
        remedy=remedy.text,
        owner=remedy.owner,
        runbook=remedy.runbook,
    )


def verdict_views(
    node: NodeState | None, changes: Iterable[VerdictChange], incidents: Sequence[Incident]
) -> list[VerdictView]:
    """Verdicts of a node; a symptom of an open incident has the remedy of that incident."""
    return [verdict_view(one, explaining(node, one, incidents) if node is not None else None) for one in changes]


def transition_view(step: Transition) -> TransitionView:
    return TransitionView(
        node=step.node,
        at=step.at,
        before=step.before,
        after=step.after,
        event=step.event.kind,
        cause=step.event.cause,
        reason=step.reason,
        evidence=step.event.evidence,
        by=step.event.by,
    )


def incident_view(incident: Incident, figures: IncidentFigures) -> IncidentView:
    return IncidentView(**{one.name: getattr(incident, one.name) for one in fields(incident)}, figures=figures)


def action_view(stored: StoredAction) -> ActionView:
    action = stored.action
    return ActionView(
        id=stored.id,
        node=action.node,
        verb=action.verb,
        state=stored.state,
        attempts=stored.attempts,
        at=action.at,
        cause=action.cause,
        reason=action.reason,
        detail=stored.detail,
    )


def history_view(page: HistoryPage) -> HistoryView:
    entries = tuple(
        HistoryEntry(at=line.at, kind=line.kind, title=line.what, detail=line.reason, facts=line.detail)
        for line in page.lines
    )
    return HistoryView(entries=entries, next=page.older)
