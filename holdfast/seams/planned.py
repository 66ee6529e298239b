"""Announced work: its subjects, times, and the findings it explains."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.model.finding import Finding
from holdfast.model.topology import Topology

DOMAINS = ("cooling", "power", "fabric", "storage", "software", "serving", "schedule", "sensor")
AFTER_SECONDS = 900.0  # after its end: water, metal and jobs take some minutes to recover
BEFORE_SECONDS = 60.0  # tolerance for clocks


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWork:
    name: str
    subjects: tuple[str, ...]
    start: float
    end: float
    what: str = ""
    """The domain it is done in; '' explains a finding of any domain."""
    source: str = ""
    """Where it was announced: api, ical, slurm."""

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.subjects:
            raise ValueError("planned work: expected a name and at least one subject")
        if not self.end > self.start:
            raise ValueError(f"planned work {self.name}: expected an end after its start")
        if self.what and self.what not in DOMAINS:
            raise ValueError(
                f"planned work {self.name}: what: expected one of {', '.join(DOMAINS)}, found {self.what!r}"
            )

    def runs(self, at: float) -> bool:
        return self.start - BEFORE_SECONDS <= at < self.end + AFTER_SECONDS


def explained_by(finding: Finding, works: Sequence[PlannedWork], topology: Topology, now: float) -> PlannedWork | None:
    """The announced work that explains a finding: on its cause, on a parent of the cause, or on all its victims."""
    for work in works:
        if not work.runs(now) or finding.since < work.start - BEFORE_SECONDS - AFTER_SECONDS:
            continue
        if _about(finding, work) and _touches(finding, work, topology):
            return work
    return None


def _about(finding: Finding, work: PlannedWork) -> bool:
    """Whether the domains match. Work in any domain may silence a sensor or slow a job."""
    domain = finding.kind.partition(".")[0]
    return not work.what or domain in (work.what, "sensor", "job", "node", "gpu", "schedule")


def _touches(finding: Finding, work: PlannedWork, topology: Topology) -> bool:
    for subject in work.subjects:
        below = {subject, *topology.down(subject)}
        if finding.cause in below or any(finding.cause.startswith(place + "/") for place in (subject,)):
            return True
        whole = {symptom.subject for symptom in finding.symptoms}
        if whole and all(one in below or any(one.startswith(f"{place}/") for place in below) for one in whole):
            return True
    return False
