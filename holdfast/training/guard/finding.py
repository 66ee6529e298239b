"""Guard finding: rank, first step, confidence, affected checkpoints, next step. Pure."""

from dataclasses import dataclass, replace
from enum import StrEnum

QUIET_STEPS = 1000  # without an occurrence for this many steps, the next one is another event
FAR_ABOVE = 4.0  # multiple of the largest rounding error from which on there is no doubt


class GuardFindingKind(StrEnum):
    NOT_A_NUMBER = "not a number"
    JUMP = "jump"
    REPLICA = "replica differs"
    CHECKSUM = "checksum"
    HARDWARE = "hardware event"


@dataclass(frozen=True, slots=True)
class GuardFinding:
    """One event. A repetition is counted and is not another finding."""

    kind: GuardFindingKind
    step: int  # when it was last seen
    since: int  # the first step that may be wrong: the one after the last verified step
    ranks: tuple[int, ...]  # suspected ranks; all possible ones if the rank is not named
    named: bool
    what: str
    sure: str = ""  # confidence, and its reason
    count: int = 1

    @property
    def who(self) -> str:
        text = ", ".join(map(str, self.ranks))
        many = len(self.ranks) > 1
        return f"rank{'s' if many else ''} {text}" if self.named or not many else f"one of the ranks {text}"

    def sentence(self) -> str:
        times = f" (seen {self.count} times)" if self.count > 1 else ""
        sure = f" ({self.sure})" if self.sure else ""
        return f"{self.who}: {self.kind} at step {self.step}{times}: {self.what}{sure}; {self.advice()}"

    def advice(self) -> str:
        """What to do, in one sentence."""
        if self.kind in (GuardFindingKind.NOT_A_NUMBER, GuardFindingKind.JUMP):
            return "replay the step to distinguish the data from the machine; if it repeats, go back and skip the batch"
        back = f"checkpoints of steps {self.since} to {self.step} are suspect: use an earlier one"
        if self.kind is GuardFindingKind.HARDWARE:
            return f"{back} unless the next vote agrees"
        return f"{back}, and take the machine of {self.who} out of service for a test"


def wrong_product(layer: str, error: float, precision: str) -> tuple[str, str]:
    """The finding and its confidence for a checksum that does not match. `error` is a multiple of the largest
    rounding error."""
    if error >= 1e6:
        what = f"layer {layer} computed a number that its inputs cannot give"
        return what, "certain: no rounding does this"
    what = (
        f"layer {layer} computed a wrong matrix product: its sum differs by {error:.1f} times the maximum that "
        f"rounding of {precision} can make"
    )
    if error >= FAR_ABOVE:
        return what, "almost certain: far beyond rounding"
    return what, "likely: just beyond rounding; certain if it is seen again on this rank"


class Events:
    """Findings by event: announces the first, 10th, 100th and 1000th occurrence."""

    def __init__(self) -> None:
        self.findings: list[GuardFinding] = []
        self._open: dict[tuple[GuardFindingKind, tuple[int, ...], str], int] = {}  # event: its index in the list

    def add(self, finding: GuardFinding) -> GuardFinding | None:
        """The finding to announce, with its count; None if there is nothing to announce."""
        key = (
            finding.kind,
            finding.ranks,
            finding.what if finding.kind in (GuardFindingKind.HARDWARE, GuardFindingKind.JUMP) else "",
        )
        at = self._open.get(key)
        if at is None or finding.step - self.findings[at].step > QUIET_STEPS:
            self._open[key] = len(self.findings)
            self.findings.append(finding)
            return finding
        known = self.findings[at]
        since, count = min(known.since, finding.since), known.count + finding.count
        sure = "certain: it was seen again" if finding.kind is GuardFindingKind.CHECKSUM else finding.sure
        self.findings[at] = replace(finding, since=since, count=count, sure=sure)
        return self.findings[at] if len(str(count)) > len(str(known.count)) else None


def finding_row(finding: GuardFinding) -> list[object]:
    return [
        str(finding.kind),
        finding.step,
        finding.since,
        list(finding.ranks),
        finding.named,
        finding.what,
        finding.sure,
    ]


def finding_of(row: list[object]) -> GuardFinding:
    match row:
        case [str(kind), int(step), int(since), list(ranks), bool(named), str(what), str(sure)]:
            return GuardFinding(
                GuardFindingKind(kind), step, since, tuple(int(rank) for rank in ranks), named, what, sure
            )
    raise ValueError("not a finding")
