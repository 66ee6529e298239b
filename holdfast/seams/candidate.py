"""Candidate: a possible cause, evidence for and against it, and its expected effects."""

from dataclasses import dataclass, field
from math import exp, inf

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject

NOTHING_YET = -2.0  # a candidate without evidence is unlikely


@dataclass(slots=True, kw_only=True)
class CauseCandidate:
    cause: Subject
    kind: str
    signs: list[Symptom]
    """Its own instruments: what moved on the cause itself or is no one else's doing."""
    reach: frozenset[Subject]
    """Subjects it can affect."""
    explains: frozenset[str]
    """Families of signals that it moves within its reach."""
    backwards: frozenset[str] = frozenset()
    """Families that it also moves on what acts on it: a blocked rack is seen in the flow of its unit."""
    began: float = inf
    """When, where an event and no instrument tells it."""
    score: float = NOTHING_YET
    most: float = 4.0
    """The score it cannot pass, where it is concluded from a pattern that no instrument confirms."""
    proven: bool = False
    """Bad in itself, whether or not anybody suffers from it yet."""
    reasons: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def since(self) -> float:
        return min((one.since for one in self.signs), default=self.began)

    def supported_by(self, weight: float, why: str) -> None:
        self.score += weight
        self.reasons.append(why)

    def doubted_by(self, weight: float, why: str) -> None:
        self.score -= weight
        self.doubts.append(why)


def sure(score: float, most: float) -> float:
    """A score as a share of one."""
    return 1.0 / (1.0 + exp(-max(-20.0, min(most, score))))
