"""The ledger of loss: every lost hour of a job is attributed once, to the incidents that hold it up at that time.

A job loses time by running slowly, by stopping, or by repeating work. An hour that two incidents claim is shared
equally. What was attributed is never attributed again, whoever claims the job later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class LostHours:
    """Hours of one job; times its GPUs they are GPU-hours."""

    slow: float = 0.0
    down: float = 0.0
    redone: float = 0.0

    def __add__(self, other: "LostHours") -> "LostHours":
        return LostHours(self.slow + other.slow, self.down + other.down, self.redone + other.redone)

    def times(self, share: float) -> "LostHours":
        return LostHours(self.slow * share, self.down * share, self.redone * share)

    @property
    def hours(self) -> float:
        return self.slow + self.down + self.redone


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSeries:
    """What a job lost, by time: of each span its share that was slow (0 to 1) and its share that stood still."""

    times: Sequence[float]  # the end of each span
    step: float  # seconds of each span
    slow: Sequence[float]
    down: Sequence[float]
    redone: Sequence[tuple[float, float]] = ()  # when work began again, and how many hours of it


@dataclass(frozen=True, slots=True)
class LossClaim:
    since: float
    jobs: frozenset[str]


@dataclass(slots=True)
class LossLedger:
    _until: dict[str, float] = field(default_factory=dict)  # of a job: attributed up to then
    _lost: dict[tuple[str, str], LostHours] = field(default_factory=dict)  # of an incident and a job

    def attribute(self, losses_by_job: Mapping[str, LossSeries], claims: Mapping[str, LossClaim]) -> None:
        """What was lost since the last time, to whoever claims the job. Without a claim it waits for one."""
        for job, losses in losses_by_job.items():
            mine = {name: claim for name, claim in claims.items() if job in claim.jobs}
            if mine:
                self._share_out(job, losses, mine)

    def _share_out(self, job: str, losses: LossSeries, claims: Mapping[str, LossClaim]) -> None:
        begin = self._until.get(job, min(claim.since for claim in claims.values()))
        spans = zip(losses.times, losses.slow, losses.down, strict=True)
        entries = [(at, LostHours(slow * losses.step / HOUR, down * losses.step / HOUR)) for at, slow, down in spans]
        entries += [(at, LostHours(redone=hours)) for at, hours in losses.redone]
        for at, lost in entries:
            if at <= begin or not lost.hours:
                continue
            holding = [name for name, claim in claims.items() if claim.since < at]
            for name in holding:
                key = (name, job)
                self._lost[key] = self._lost.get(key, LostHours()) + lost.times(1 / len(holding))
        self._until[job] = max([begin, *losses.times])

    def restore(self, incident: str, job: str, lost: LostHours, until: float) -> None:
        """What is stored of an open incident: it is not lost with the process, nor attributed twice after it."""
        self._lost[incident, job] = lost
        self._until[job] = max(until, self._until.get(job, until))

    def close(self, incident: str) -> None:
        """Over: what it held up from now on is another's."""
        for key in [key for key in self._lost if key[0] == incident]:
            del self._lost[key]

    def of(self, incident: str, job: str) -> LostHours:
        return self._lost.get((incident, job), LostHours())

    def job(self, job: str) -> LostHours:
        """Of all open incidents together."""
        return _sum(lost for (_, name), lost in self._lost.items() if name == job)

    def delay(self, jobs: Iterable[str]) -> float:
        """Hours by which what waits for all of these jobs is late: the slowest of them decides."""
        return max((self.job(job).hours for job in jobs), default=0.0)


def _sum(of: Iterable[LostHours]) -> LostHours:
    total = LostHours()
    for one in of:
        total = total + one
    return total
