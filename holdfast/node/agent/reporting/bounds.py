"""Bounds of a report: texts and lists are shortened, and values that cannot be encoded are dropped."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from holdfast.model.signal import Event
from holdfast.model.wire.report import (
    LARGEST_SEQUENCE,
    LARGEST_TIME,
    LONGEST_NAME,
    MOST_EVIDENCE,
    MOST_SUBJECTS,
    VerdictChange,
)
from holdfast.node.agent.node import CheckChange
from holdfast.node.agent.reporting.spool import Losses

LONGEST_MESSAGE = 4_096
T = TypeVar("T")


def verdict_change(change: CheckChange) -> VerdictChange:
    return VerdictChange(
        at=change.at,
        check=change.check,
        before=change.before,
        after=change.after,
        reason=_reportable(change.reason),
        subjects=tuple(islice((name for name in change.subjects if len(name) <= LONGEST_NAME), MOST_SUBJECTS)),
        evidence=tuple(_reportable(words) for words in change.evidence),
        remedy=_reportable(change.remedy),
        owner=_reportable(change.owner),
        repair=change.repair,
    )


def shortened(event: Event) -> Event:
    """Shorten an event: kernel lines have any length and content, reports are bounded."""
    code = _reportable(event.code) if isinstance(event.code, str) else event.code
    detail = {
        _reportable(name): _reportable(value) if isinstance(value, str) else value
        for name, value in islice(event.detail.items(), MOST_EVIDENCE)
        if isinstance(value, str) or abs(value) <= sys.float_info.max  # no NaN, and no integer that a float cannot hold
    }
    at = event.at if abs(event.at) <= LARGEST_TIME else 0.0
    count = min(max(event.count, 0), LARGEST_SEQUENCE)
    device = _reportable(event.device)[:LONGEST_NAME]
    return replace(event, at=at, count=count, text=_reportable(event.text), device=device, code=code, detail=detail)


def _reportable(text: str) -> str:
    return text[:LONGEST_MESSAGE].encode("utf-8", "replace").decode()


def loss(lost: Losses, now: float) -> Event:
    what = f"{lost.heartbeats} heartbeats and {lost.reports} reports of changes or events"
    return Event(
        kind="spool_dropped",
        at=now,
        text=f"the agent's spool gave up {what} while the controller was away",
        severity="warning" if lost.reports else "info",
        count=lost.heartbeats + lost.reports,
        detail={"first": lost.first, "last": lost.last},
    )


def chunks(items: Iterable[T], size: int) -> list[tuple[T, ...]]:
    left = iter(items)
    return list(iter(lambda: tuple(islice(left, size)), ()))
