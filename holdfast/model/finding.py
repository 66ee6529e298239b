"""Finding: the conclusion of a seam rule: a cause, its path to each symptom, and the rejected alternatives."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from holdfast.model.subject import Subject
from holdfast.model.topology import whole_of, whole_or_self


class Symptom(NamedTuple):
    """One changed signal of a subject: its begin, and the values before and now."""

    subject: Subject
    signal: str
    since: float
    before: float
    now: float

    def as_json(self) -> dict[str, Any]:
        """Numbers that were not measured are null."""
        return {name: None if value != value else value for name, value in self._asdict().items()}

    def says(self) -> str:
        return f"{self.subject} {self.signal}: {self.before:.4g} -> {self.now:.4g}"


@dataclass(frozen=True, slots=True)
class Rival:
    """Another explanation, and why it was rejected."""

    cause: Subject
    kind: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    cause: Subject
    kind: str  # a stable name such as cooling.flow_low; see docs/seams.md
    confidence: float
    """How often such a finding was right in drawn drills; `raw` is what its evidence weighs, before that is asked."""
    since: float
    raw: float = 0.0
    path: tuple[str, ...] = ()
    """From the cause to each symptom, one line each: 'cdu/c2 > rack/r4 > node/n49 > job/llama'."""
    symptoms: tuple[Symptom, ...] = ()
    evidence: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()
    owners: tuple[str, ...] = ()
    runbook: str = ""
    unknown: tuple[str, ...] = ()
    """What could not be seen and would have mattered."""

    @property
    def victims(self) -> frozenset[Subject]:
        """Every subject that this cause affects, with its node. Other subjects keep their own verdicts."""
        suffering = {symptom.subject for symptom in self.symptoms}
        with_nodes = suffering | {whole_or_self(place) for place in suffering}
        guilty = {self.cause, whole_or_self(self.cause)}
        return frozenset(place for place in with_nodes - guilty if whole_of(place) != self.cause)

    def as_json(self) -> dict[str, Any]:
        return {
            "cause": self.cause,
            "kind": self.kind,
            "confidence": round(self.confidence, 3),
            "since": self.since,
            "path": list(self.path),
            "symptoms": [one.as_json() for one in self.symptoms],
            "evidence": list(self.evidence),
            "rivals": [asdict(rival) for rival in self.rivals],
            "owners": list(self.owners),
            "runbook": self.runbook,
            "unknown": list(self.unknown),
        }
