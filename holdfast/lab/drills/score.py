"""Scores findings: right cause first, right cause among the first three, delay, false findings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from holdfast.model.finding import Finding

Named = tuple[str, str]  # cause and kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    cause: str
    kind: str
    start: float
    end: float = inf
    visible: float | None = None
    """When the fault can first be seen; None: not within the drill."""
    accepts: tuple[Named, ...] = ()
    """Findings that count neither as right nor as false: a slow node that stays in service may also be reported as
    slow."""

    @property
    def named(self) -> Named:
        return self.cause, self.kind


@dataclass(frozen=True, slots=True)
class ScoredMoment:
    """Findings of one moment, highest confidence first."""

    at: float
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    top1: bool
    top3: bool
    detect_seconds: float | None
    """Time from when the fault could first be seen, for the slowest of several faults. None: not found, or nothing
    to find."""
    false_findings: int
    first_alert_seconds: float | None = None
    """When the first alert of a single component would have fired."""
    before_alert: bool | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "top1": self.top1, "top3": self.top3, "detect_seconds": self.detect_seconds,
            "false_findings": self.false_findings, "first_alert_seconds": self.first_alert_seconds,
            "before_alert": self.before_alert,
        }  # fmt: skip


def score(
    truths: Sequence[Truth],
    judged: Sequence[ScoredMoment],
    first_alert: float | None = None,
    tolerated: frozenset[Named] = frozenset(),
) -> Score:
    """Scores the findings; `tolerated` findings are neither required nor false."""
    made_up = _made_up(truths, judged) - tolerated
    seen = {truth.named: _first(judged, truth.named) for truth in truths}
    late = [_delay(truth, seen[truth.named]) for truth in truths]
    found = [at for at in seen.values() if at is not None]
    return Score(
        top1=all(_rank(truths, judged, truth, tolerated) < 1 for truth in truths) if truths else not made_up,
        top3=all(_rank(truths, judged, truth, tolerated) < 3 for truth in truths) if truths else not made_up,
        detect_seconds=None if not late or None in late else max(one for one in late if one is not None),
        false_findings=len(made_up),
        first_alert_seconds=first_alert,
        before_alert=None if first_alert is None or len(found) < len(truths) or not found else max(found) < first_alert,
    )


def first_seen(judged: Iterable[ScoredMoment]) -> dict[Named, tuple[float, Finding]]:
    """Each cause and kind once: when it was first found, and its last form."""
    found: dict[Named, tuple[float, Finding]] = {}
    for moment in judged:
        for finding in moment.findings:
            named = (finding.cause, finding.kind)
            found[named] = (found.get(named, (moment.at, finding))[0], finding)
    return found


def verdict(truth: Truth, judged: Sequence[ScoredMoment]) -> Named | None:
    """The top finding at the last moment of the fault, for the confusion matrix."""
    last = _last(judged, truth)
    if last is None or not last.findings:
        return None
    for finding in last.findings:
        if (finding.cause, finding.kind) == truth.named:
            return truth.named
    return last.findings[0].cause, last.findings[0].kind


def _first(judged: Sequence[ScoredMoment], named: Named) -> float | None:
    found = first_seen(judged).get(named)
    return None if found is None else found[0]


def _delay(truth: Truth, at: float | None) -> float | None:
    if at is None:
        return None
    return max(0.0, at - (truth.start if truth.visible is None else truth.visible))


def _last(judged: Sequence[ScoredMoment], truth: Truth) -> ScoredMoment | None:
    during = [moment for moment in judged if truth.start <= moment.at < truth.end]
    return during[-1] if during else None


def _rank(truths: Sequence[Truth], judged: Sequence[ScoredMoment], truth: Truth, tolerated: frozenset[Named]) -> float:
    """Number of wrong answers before the right one; rejected rivals count after the first answer."""
    last = _last(judged, truth)
    if last is None:
        return inf
    right = {one.named for one in truths} | {one for each in truths for one in each.accepts} | tolerated
    wrong = 0
    for finding in last.findings:
        named = (finding.cause, finding.kind)
        if named == truth.named:
            return wrong
        wrong += named not in right
    lost = [(rival.cause, rival.kind) for finding in last.findings[:1] for rival in finding.rivals]
    return 1 + lost.index(truth.named) if truth.named in lost else inf


def _made_up(truths: Sequence[Truth], judged: Sequence[ScoredMoment]) -> set[Named]:
    right = {one.named for one in truths} | {one for each in truths for one in each.accepts}
    return set(first_seen(judged)) - right
