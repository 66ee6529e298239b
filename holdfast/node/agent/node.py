"""Evaluation of one node, without clock or threads: readings in, verdicts and changes out.

The agent drives it in real time, tests and the twin in virtual time.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.model.event_log import CLEARED
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict, overall
from holdfast.node.agent.census import Census
from holdfast.node.checks.check import Check, Limits, disabled
from holdfast.node.sources.host.repairs import RepairsSource

log = logging.getLogger("holdfast.node.agent")

PRUNE_SECONDS = 3600.0
REJUDGE_SECONDS = 30.0  # windows slide and values go stale even when nothing new arrives


@dataclass(frozen=True, slots=True)
class Question:
    """A check with this node's configuration."""

    check: Check
    limits: Limits = field(default_factory=dict)
    off: str = ""  # why the check does not run here


MOST_EVIDENCE = 8  # sentences stored with a change; the verdict itself has all


@dataclass(frozen=True, slots=True)
class CheckChange:
    """A changed verdict. The agent stores and reports it; the node's history shows it."""

    at: float
    check: str
    before: str
    after: str
    reason: str
    subjects: tuple[Subject, ...]
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    owner: str = ""
    repair: str = ""


class Node:
    def __init__(self, census: Census, questions: Sequence[Question]) -> None:
        self.census = census
        self.questions = {question.check.name: question for question in questions}
        self.history = History(census.node, _retention(questions))
        self.history.inventory = census.inventory()
        self.verdicts: dict[str, Verdict] = {}
        self._depends: dict[str, set[str]] = {}  # check -> sources that it read
        self._judged_at: dict[str, float] = {}
        self._dirty: set[str] = set(self.questions)
        self._pruned_at = 0.0

    def take(self, reading: Reading) -> None:
        """Store a reading and mark the checks that it may affect."""
        if self.census.take(reading):
            self.history.inventory = self.census.inventory()
            self._dirty.update(self.questions)
        if self.history.add(reading):
            kinds = {event.kind for event in reading.events}
            self._dirty.update(
                name
                for name, question in self.questions.items()
                if reading.source in self._depends.get(name, ())
                or kinds.intersection(question.check.event_kinds)
                or (CLEARED in kinds and question.check.event_kinds)
            )

    def judge(self, now: float) -> list[CheckChange]:
        """Run every check whose verdict may have changed; return the changed verdicts."""
        due = self._dirty | {n for n in self.questions if now - self._judged_at.get(n, 0.0) >= REJUDGE_SECONDS}
        self._dirty = set()
        if now - self._pruned_at >= PRUNE_SECONDS:
            self._pruned_at = now
            self.history.prune(now)
        changes = [self._ask(name, now) for name in self.questions if name in due]
        return [change for change in changes if change is not None]

    def _ask(self, name: str, now: float) -> CheckChange | None:
        question = self.questions[name]
        self._judged_at[name] = now
        verdict = disabled(question.check, question.off) if question.off else self._judged(question, now)
        before = self.verdicts.get(name)
        self.verdicts[name] = verdict
        if before is not None and _key(before) == _key(verdict):
            return None
        return _change(verdict, before.state if before else "", now)

    def current_verdicts(self, now: float) -> list[CheckChange]:
        """Every verdict as a first report, for a controller that lost its store."""
        return [_change(verdict, "", now) for verdict in self.verdicts.values()]

    def _judged(self, question: Question, now: float) -> Verdict:
        """A check that raises an exception is UNKNOWN; the other checks continue."""
        window = self.history.window(now, question.check.span)
        try:
            verdict = question.check(window, question.limits)
        except Exception as error:
            log.exception("check %s failed", question.check.name)
            reason = f"the check itself failed: {type(error).__name__}: {error}"
            verdict = Verdict(check=question.check.name, rows=(Row(window.node, Health.UNKNOWN, reason=reason),))
        self._depends[question.check.name] = self.history.sources_of(window.touched)
        return verdict

    def doubted_sources(self) -> set[str]:
        """The sources of the failing verdicts. For checks of events, also the source that reports repairs."""
        failing = [name for name, verdict in self.verdicts.items() if verdict.health is Health.FAIL]
        doubted = {source for name in failing for source in self._depends.get(name, ())}
        return doubted | {RepairsSource.name for name in failing if self.questions[name].check.event_kinds}

    @property
    def health(self) -> Health:
        return overall(self.verdicts.values())

    def reason(self) -> str:
        """One line for a scheduler: the first verdict that is as bad as the node."""
        health = self.health
        for verdict in self.verdicts.values():
            if not verdict.disabled and verdict.health is health:
                return f"{verdict.check}: {verdict.summary()}"
        return ""


def _change(verdict: Verdict, before: str, now: float) -> CheckChange:
    guilty = tuple(row.subject for row in verdict.rows if row.health is verdict.health)
    return CheckChange(
        at=now,
        check=verdict.check,
        before=before,
        after=verdict.state,
        reason=verdict.summary(),
        subjects=guilty if verdict.health is not Health.PASS else (),
        evidence=verdict.evidence[:MOST_EVIDENCE],
        remedy=verdict.remedy,
        owner=verdict.owner,
        repair=verdict.repair,
    )


def _key(verdict: Verdict) -> tuple[str, frozenset[tuple[Subject, Health]]]:
    """The key of a change: health per subject, not the numbers in the sentence."""
    return verdict.state, frozenset((row.subject, row.health) for row in verdict.rows)


def _retention(questions: Iterable[Question]) -> Mapping[str, float]:
    """Keep each signal for the longest time span of any check."""
    keep: dict[str, float] = {}
    for question in questions:
        for name in question.check.reads:
            keep[name] = max(keep.get(name, 0.0), question.check.span * 1.1)
    return keep
