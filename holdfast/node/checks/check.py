"""Check: the one place that implements "missing data never passes"."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.remedies import for_this_node

Limits = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question, answered from a window alone: no I/O, no clock, no state."""

    name: str
    asks: str  # the question, for operators
    about: str  # the kind of subject that gets a row: gpu, nic, pci, nvswitch, mount, node
    part: str  # the hardware part it needs; where catalog or manifest say a node lacks it: not_applicable
    reads: tuple[str, ...]  # signals a subject cannot pass without; node-level signals count for every subject
    judge: Callable[[Window, Limits], Verdict]
    failure_class: FailureClass
    remedy: str = ""
    owner: str = ""
    repair: Verb = Verb.REBOOT  # the first repair step that can help: a GPU reset repairs no port and no lost GPU
    scope: str = "node"
    span: float = 600.0  # seconds of history it looks at
    limits: Limits = field(default_factory=dict)
    event_kinds: tuple[str, ...] = ()  # event kinds after which it runs again at once

    def __call__(self, window: Window, overrides: Limits | None = None) -> Verdict:
        """Evaluate a window. Expected subjects without data are UNKNOWN; parts that the node lacks are skipped."""
        if lacking := window.inventory.lacks.get(self.part):
            subjects = window.inventory.expected(self.about) or (window.node,)
            rows = tuple(Row(subject, Health.NOT_APPLICABLE, reason=lacking) for subject in subjects)
            return Verdict(check=self.name, rows=rows)
        verdict = self.judge(window, {**self.limits, **(overrides or {})})
        rows = tuple(self._never_pass_blind(window, row) for row in verdict.rows)
        rows += self._rows_for_unseen(window, {row.subject for row in rows})
        full = replace(
            verdict,
            check=self.name,
            rows=rows,
            remedy=verdict.remedy or self.remedy,
            owner=verdict.owner or self.owner,
            repair=verdict.repair or self.repair.value,
            failure_class=verdict.failure_class or self.failure_class,
        )
        if full.health not in (Health.PASS, Health.NOT_APPLICABLE):
            full = replace(full, runbook=self.name)
        if full.health in (Health.FAIL, Health.DEGRADED):
            return replace(full, remedy=for_this_node(window, full))
        if any(row.health is Health.DEGRADED for row in rows):  # a fault next to unknown rows still needs a remedy
            return replace(full, failure_class=None)
        return replace(full, failure_class=None, remedy=verdict.remedy, owner=verdict.owner, repair="")

    def _never_pass_blind(self, window: Window, row: Row) -> Row:
        if row.health is Health.PASS and (why := self._blindness(window, row.subject)):
            return replace(row, health=Health.UNKNOWN, reason=why)
        return row

    def _rows_for_unseen(self, window: Window, seen: set[Subject]) -> tuple[Row, ...]:
        expected = window.inventory.expected(self.about)
        if not expected and seen:
            return ()
        unseen = [s for s in expected or (window.node,) if s not in seen]
        return tuple(Row(s, Health.UNKNOWN, reason=self._blindness(window, s) or "not seen") for s in unseen)

    def _blindness(self, window: Window, subject: Subject) -> str:
        """Why this subject could not be evaluated, or '' if all its data was read."""
        reasons = [
            window.why_absent(subject, name)
            for name in self.reads
            if window.value(subject, name) is None and window.value(window.node, name) is None
        ]
        return "; ".join(dict.fromkeys(reasons))


def disabled(check: Check, why: str) -> Verdict:
    """The verdict of a check that is switched off here."""
    return Verdict(check=check.name, rows=(), disabled=True, reason=why)
