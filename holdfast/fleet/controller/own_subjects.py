"""Limits a report to its own node, the node's parts, and jobs. Other entries are dropped and counted."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.model import subject
from holdfast.model.signal import Event
from holdfast.model.wire.report import Report, VerdictChange


def only(reports: Sequence[Report]) -> tuple[list[Report], int]:
    """The reports without entries about other subjects, and the number of entries dropped."""
    kept = [_own(report) for report in reports]
    return [report for report, _ in kept], sum(dropped for _, dropped in kept)


def _own(report: Report) -> tuple[Report, int]:
    events = tuple(event for event in report.events if _is_own(event, report.node))
    changes = tuple(_own_change(change, report.node) for change in report.changes)
    dropped = len(report.events) - len(events)
    dropped += sum(len(a.subjects) - len(b.subjects) for a, b in zip(report.changes, changes, strict=True))
    return (replace(report, events=events, changes=changes) if dropped else report), dropped


def _is_own(event: Event, node: str) -> bool:
    """Whether an event concerns the node itself. Events of a job name the job in their detail, never as their
    subject."""
    return not event.subject or _of_node(event.subject, node)


def _own_change(change: VerdictChange, node: str) -> VerdictChange:
    own = tuple(one for one in change.subjects if _of_node(one, node) or one.startswith("job/"))
    return change if len(own) == len(change.subjects) else replace(change, subjects=own)


def _of_node(about: str, node: str) -> bool:
    here = subject.node(node)
    return about == here or about.startswith(f"{here}/")
