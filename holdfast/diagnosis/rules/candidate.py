"""A candidate: one cause of one subject, with its evidence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.catalog import causes, job_problems
from holdfast.model.evidence import Evidence

MOST_OF_HINTS = 0.78  # maximum for hints, below 80 %: often the second line only repeats the first
_WEIGHT = {"strong": 0.85, "likely": 0.65, "weak": 0.45, "hint": 0.25}
_MOST = 0.97


@dataclass(slots=True)
class Candidate:
    cause: causes.Cause
    host: str = ""
    device: str = ""
    ranks: tuple[int, ...] = ()
    evidence: list[Evidence] = field(default_factory=list)
    explains: list[str] = field(default_factory=list)
    contradicts: list[str] = field(default_factory=list)
    base: float | None = None  # weight from a comparison of ranks, instead of the weights of lines
    factor: float = 1.0  # below 1 if there is evidence against it
    known: str = ""  # name of a known problem that a comparison found and no line names
    note: str = ""  # detail for the reader: the exception, the path, the exit code

    @property
    def name(self) -> str:
        return self.cause.name

    @property
    def began(self) -> float:
        """Time of the first evidence; 0.0 if unknown."""
        return min((one.at for one in self.evidence if one.at), default=0.0)

    @property
    def place(self) -> tuple[str, int]:
        first = self.evidence[0]
        return first.file, first.event.line

    @property
    def confidence(self) -> float:
        if self.base is not None:
            return round(self.base * self.factor, 2)
        doubt = 1.0
        kinds = {(one.event.kind, one.role) for one in self.evidence}
        for kind in kinds:
            doubt *= 1.0 - _WEIGHT.get(kind[1], 0.2)
        most = _MOST if _is_plain(role for _, role in kinds) else MOST_OF_HINTS
        return round(min(most, (1.0 - doubt)) * self.factor, 2)

    @property
    def problem(self) -> job_problems.JobProblem | None:
        """The known problem that the evidence shows; otherwise the general description of the cause."""
        if self.known:
            return job_problems.named(self.known)
        for one in self.best_evidence():
            known = job_problems.named(one.word("problem"))
            if known and known.cause == self.name:
                return known
        return job_problems.of_cause(self.name)

    @property
    def parts(self) -> Mapping[str, object]:
        """Details named in the line that shows the problem: a peer, a path, a size."""
        shown = next((one for one in self.best_evidence() if one.word("problem")), None)
        if shown is None:
            return {}
        return {"peer": shown.word("peer"), **({"host": self.host} if self.host else {}), **shown.event.detail}

    def against(self, factor: float, why: str) -> None:
        self.factor *= factor
        if why not in self.contradicts:
            self.contradicts.append(why)

    def best_evidence(self) -> list[Evidence]:
        order = {"strong": 0, "likely": 1, "weak": 2, "exit": 3, "watchdog": 4, "hint": 5}
        ranked = sorted(enumerate(self.evidence), key=lambda pair: (order.get(pair[1].role, 5), pair[0]))
        return [one for _, one in ranked]


def _is_plain(roles: Iterable[str]) -> bool:
    """Whether a single line proves it, or two lines that usually do."""
    found = [*roles]
    return "strong" in found or found.count("likely") > 1
