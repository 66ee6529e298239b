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
    """Changes of its own sensors: on the cause itself, or with no other possible cause."""
    reach: frozenset[Subject]
    """Subjects it can affect."""
    explains: frozenset[str]
    """Families of signals that it changes within its reach."""
    backwards: frozenset[str] = frozenset()
    """Families that it changes on its parents: a blocked rack changes the flow of its coolant unit."""
    began: float = inf
    """Start time, if it is known from an event and not from a sensor."""
    score: float = NOTHING_YET
    most: float = 4.0
    """Maximum of the score; lower for a candidate that rests on a pattern without a sensor."""
    proven: bool = False
    """A fault by itself, even without victims so far."""
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
    """The score as a confidence between 0 and 1."""
    return 1.0 / (1.0 + exp(-max(-20.0, min(most, score))))
