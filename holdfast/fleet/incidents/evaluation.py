"""Evaluation of the seam rules on one panel: findings that persist, and jobs that stand still without a cause."""

from collections.abc import Mapping
from dataclasses import replace

from holdfast import seams
from holdfast.fleet.incidents.account import account
from holdfast.fleet.incidents.baseline import Baseline
from holdfast.fleet.incidents.business_context import BusinessContext
from holdfast.fleet.incidents.learned import LearnedBaseline
from holdfast.fleet.incidents.open_incidents import explaining
from holdfast.fleet.incidents.stops import JobStops
from holdfast.model.account import Account
from holdfast.model.finding import Finding
from holdfast.model.panel import Panel
from holdfast.model.topology import Topology
from holdfast.seams.persistence import FindingMemory
from holdfast.seams.planned import PlannedWork, explained_by
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam
from holdfast.seams.stopped import STOPPED, stopped

YOUNG_SECONDS = 1800.0  # a shorter window has no calm beginning of its own


class Evaluation:
    """State between evaluations: the baseline and the earlier findings."""

    def __init__(self, business_context: BusinessContext) -> None:
        self._context = business_context
        self.baseline, self.learned = Baseline(), LearnedBaseline()
        self.planned: tuple[PlannedWork, ...] = ()
        self.failed_rules: dict[str, Exception] = {}
        """Rules that raised in the last evaluation. Incidents that such a rule found stay open."""
        self.blind_kinds: set[str] = set()
        """The kinds of finding of those rules."""
        self._findings = FindingMemory()

    @property
    def explained(self) -> Mapping[tuple[str, str], str]:
        """Findings (root, kind) that announced work explains, with the name of that work."""
        return self._findings.explained

    def judge(
        self, panel: Panel, topology: Topology, open_: Mapping[str, Account], stops: Mapping[str, JobStops]
    ) -> dict[str, Account]:
        """Findings by root. `open_`: accounts of the open incidents."""
        self.blind_kinds.clear()
        self.failed_rules.clear()
        past = self._past(panel)
        findings = seams.explain(self.baseline.window(panel), topology, baseline=past, on_error=self._rule_failed)
        found: dict[str, Account] = {}
        for finding in self._findings.take(findings, topology, panel.now, self.planned):
            if finding.cause not in found:  # one incident per root; the most likely finding comes first
                found[finding.cause] = self.account(finding, panel, topology, open_.get(finding.cause))
        return found | self._unexplained_stops(found, panel, topology, open_, stops)

    def account(self, finding: Finding, panel: Panel, topology: Topology, before: Account | None) -> Account:
        same = before if before is not None and before.kind == finding.kind else None
        return account(finding, panel, topology, self._context, same)

    def keep_baseline(self, panel: Panel, open_since: list[float]) -> None:
        """Updates the baseline. `open_since`: begins of the open incidents."""
        self.baseline.keep(panel, open_since, self.learned.panel(panel) if open_since else None)

    def _unexplained_stops(
        self,
        found: Mapping[str, Account],
        panel: Panel,
        topology: Topology,
        open_: Mapping[str, Account],
        stops: Mapping[str, JobStops],
    ) -> dict[str, Account]:
        """Stopped jobs that no finding or open incident explains. An unexplained slowdown that ends in a stop is the
        same incident."""
        opened: dict[str, Account] = {}
        scene: Scene | None = None
        for job, one in stops.items():
            if one.since is None or not one.known or explaining(job, one.since, {**open_, **found}):
                continue
            scene = scene or Scene(panel, topology, self._past(panel))
            until = None if one.goes_on else one.spans[-1][1]
            finding = stopped(scene, job, one.since, until, one.step, one.usual)
            if explained_by(finding, self.planned, topology, panel.now) is None:
                known = open_.get(job)
                before = replace(known, kind=STOPPED) if known is not None else None
                opened[job] = self.account(finding, panel, topology, before)
        return opened

    def _past(self, panel: Panel) -> Panel | None:
        """The baseline to compare with; the stored one while the window is too young to have its own."""
        if self.baseline.panel is not None:
            return self.baseline.panel
        return self.learned.panel(panel) if panel.now - float(panel.times[0]) < YOUNG_SECONDS else None

    def _rule_failed(self, seam: Seam, error: Exception) -> None:
        self.blind_kinds.update(seam.kinds)
        self.failed_rules.setdefault(seam.name, error)  # a rule may run twice in an evaluation
