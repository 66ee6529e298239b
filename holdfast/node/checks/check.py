"""Check: the one place that implements "missing data never passes"."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window

Limits = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question, answered from a window alone: no I/O, no clock, no state."""

    name: str
    asks: str  # the question, in an operator's words
    about: str  # the kind of subject that gets a row: gpu, nic, pci, nvswitch, mount, node
    part: str  # the hardware part it needs; where catalog or manifest say a node lacks it: not_applicable
    reads: tuple[str, ...]  # signals a subject cannot pass without; node-level signals count for every subject
    judge: Callable[[Window, Limits], Verdict]
    failure_class: FailureClass
    remedy: str = ""
    owner: str = ""
    scope: str = "node"
    span: float = 600.0  # seconds of history it looks at
    limits: Limits = field(default_factory=dict)
    event_kinds: tuple[str, ...] = ()  # event kinds that make it worth asking again at once

    def __call__(self, window: Window, overrides: Limits | None = None) -> Verdict:
        """Judge what was seen; what was expected and not seen is UNKNOWN, what is known to lack is not asked."""
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
            failure_class=verdict.failure_class or self.failure_class,
        )
        if full.health in (Health.FAIL, Health.DEGRADED):
            return replace(full, remedy=_with_the_tools_of(window, full))
        if any(row.health is Health.DEGRADED for row in rows):  # beside what is not known: it still needs a remedy
            return replace(full, failure_class=None)
        return replace(full, failure_class=None, remedy=verdict.remedy, owner=verdict.owner)

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
        """Why this subject could not be judged, or '' if everything it needs was read."""
        reasons = [
            window.why_absent(subject, name)
            for name in self.reads
            if window.value(subject, name) is None and window.value(window.node, name) is None
        ]
        return "; ".join(dict.fromkeys(reasons))


AMD_TOOLS = {
    "nvidia-smi --gpu-reset": "amd-smi reset --gpureset",
    "nvidia-smi -rgc, -rac": "amd-smi reset --clocks",
    "nvidia-smi -pl": "amd-smi set --power-cap",
    "nvidia-bug-report.sh": "the kernel log and `amd-smi metric`",
    "(nvidia-smi -e 1) ": "in the firmware's settings ",
}  # one question, several vendors: a remedy names the tools of the GPU that it is about


def _with_the_tools_of(window: Window, verdict: Verdict) -> str:
    bad = (row.subject for row in verdict.rows if row.health is verdict.health)
    if not any(str(window.value(subject, "gpu_model") or "").startswith("AMD") for subject in bad):
        return verdict.remedy
    return with_amd_tools(verdict.remedy)


def with_amd_tools(remedy: str) -> str:
    for nvidia, amd in AMD_TOOLS.items():
        remedy = remedy.replace(nvidia, amd)
    return remedy


def disabled(check: Check, why: str) -> Verdict:
    """The visible state of a check that is not asked here."""
    return Verdict(check=check.name, rows=(), disabled=True, reason=why)
