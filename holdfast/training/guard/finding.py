"""What the guard says: which rank, since when, which checkpoints, and what to do. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    NOT_A_NUMBER = "not a number"
    JUMP = "jump"
    REPLICA = "replica differs"
    CHECKSUM = "checksum"
    HARDWARE = "hardware event"


@dataclass(frozen=True, slots=True)
class Finding:
    kind: Kind
    step: int  # when it was seen
    since: int  # the first step that may be wrong: the one after the last that was proven good
    ranks: tuple[int, ...]  # who is suspected; all that are possible where it is not named
    named: bool
    what: str

    @property
    def who(self) -> str:
        text = ", ".join(map(str, self.ranks))
        many = len(self.ranks) > 1
        return f"rank{'s' if many else ''} {text}" if self.named or not many else f"one of the ranks {text}"

    def sentence(self) -> str:
        return f"{self.who}: {self.kind} at step {self.step}: {self.what}; {self.advice()}"

    def advice(self) -> str:
        """What to do, in one sentence."""
        if self.kind in (Kind.NOT_A_NUMBER, Kind.JUMP):
            return "replay the step to tell the data from the machine; if it stays, go back and skip the batch"
        back = f"checkpoints of steps {self.since} to {self.step} are suspect: go back to one before"
        if self.kind is Kind.HARDWARE:
            return f"{back} unless the next vote agrees"
        return f"{back}, and take the machine of {self.who} out to be tested"


def finding_row(finding: Finding) -> list[object]:
    return [
        str(finding.kind),
        finding.step,
        finding.since,
        list(finding.ranks),
        finding.named,
        finding.what,
    ]


def finding_of(row: list[object]) -> Finding:
    match row:
        case [str(kind), int(step), int(since), list(ranks), bool(named), str(what)]:
            return Finding(Kind(kind), step, since, tuple(int(rank) for rank in ranks), named, what)
    raise ValueError("not a finding")
