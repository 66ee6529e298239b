"""A diagnosis as the JSON document that `holdfast diagnose --json` prints."""

from collections.abc import Sequence
from typing import Any

from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.diagnose import Diagnosis, subject_of
from holdfast.diagnosis.rules.next_step import sentence
from holdfast.model.evidence import Evidence

MOST_EVENTS = 5000
MOST_EVIDENCE = 10


def document(diagnosis: Diagnosis, files: int, unread: Sequence[str], unseen: Sequence[str]) -> dict[str, Any]:
    events = [one for one in diagnosis.evidence if one.event.code != "progress"]
    events.sort(key=lambda one: (one.file, one.event.line))
    return {
        "causes": [_cause(one) for one in diagnosis.causes],
        "next": _next(diagnosis),
        "events": [_event(one) for one in events[:MOST_EVENTS]],
        "unseen": [*unseen, *_left_out(len(events))],
        "files": files,
        "unread": list(unread),
    }


def _cause(one: Candidate) -> dict[str, Any]:
    return {
        "cause": one.name,
        "says": sentence(one),
        "problem": one.problem.name if one.problem and not one.problem.is_default else "",
        "subject": subject_of(one),
        "class": one.cause.failure_class,
        "confidence": one.confidence,
        "evidence": [
            {"file": item.file, "line": item.event.line, "text": item.event.text}
            for item in one.best_evidence()[:MOST_EVIDENCE]
        ],
        "explains": one.explains,
        "contradicts": one.contradicts,
    }


def _next(diagnosis: Diagnosis) -> dict[str, Any]:
    step = diagnosis.next
    if step is None:
        return {
            "action": None,
            "exclude": [],
            "checkpoint": None,
            "settings": {},
            "reason": "nothing to do",
            "fix": [],
            "verify": "",
            "link": "",
            "report_to": "",
        }
    return {
        "action": step.action,
        "exclude": list(step.exclude),
        "checkpoint": step.checkpoint,
        "settings": step.settings,
        "reason": step.reason,
        "fix": list(step.fix),
        "verify": step.verify,
        "link": step.link,
        "report_to": step.report_to,
    }


def _event(one: Evidence) -> dict[str, Any]:
    event = one.event
    placed = {"rank": one.rank, "host": one.host or None}
    return {
        "kind": event.kind,
        "code": event.code,
        "device": event.device,
        "severity": event.severity,
        "action": event.action,
        "file": one.file,
        "line": event.line,
        "count": event.count,
        "text": event.text,
        "at": event.at or None,
        "detail": {**event.detail, **{name: value for name, value in placed.items() if value is not None}},
    }


def _left_out(events: int) -> list[str]:
    return [f"{events - MOST_EVENTS} more events are not listed"] if events > MOST_EVENTS else []
