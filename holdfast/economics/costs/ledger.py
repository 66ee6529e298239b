"""The ledger of loss: attributes every lost hour of a job once, to the incidents that affect the job at that time.

A job loses time by running slowly, by stopping, or by repeating work. An hour that two incidents claim is shared
equally, and an attributed hour is never attributed again. A milestone has one float for all jobs and all incidents,
open or over: the hour that makes it late is billed when it is lost, to the incidents that affect the job.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class LostHours:
    """Lost hours of one job. `slip`: the part that delays its milestone; the other fields contain it too."""

    slow: float = 0.0
    down: float = 0.0
    redone: float = 0.0
    slip: float = 0.0

    def __add__(self, other: "LostHours") -> "LostHours":
        return LostHours(
            self.slow + other.slow, self.down + other.down, self.redone + other.redone, self.slip + other.slip
        )

    def times(self, share: float) -> "LostHours":
        return LostHours(self.slow * share, self.down * share, self.redone * share, self.slip * share)

    @property
    def hours(self) -> float:
        return self.slow + self.down + self.redone


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSeries:
    """Losses of a job over time: for each span the share lost to slowness (0 to 1) and the share without progress."""

    times: Sequence[float]  # the end of each span
    step: float  # seconds of each span
    slow: Sequence[float]
    down: Sequence[float]
    redone: Sequence[tuple[float, float]] = ()  # restart time, and hours of repeated work
    # exact times from the last step to the next one, in addition to the spans
    stops: Sequence[tuple[float, float]] = ()
    settled: float | None = None  # later losses wait until it is known whether the job stopped


@dataclass(frozen=True, slots=True)
class LossClaim:
    since: float
    jobs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Float:
    """The float of a milestone: hours that its jobs may lose before it is late."""

    milestone: str
    hours: float


@dataclass(slots=True)
class LossLedger:
    _until: dict[str, float] = field(default_factory=dict)  # job -> time up to which its losses are attributed
    _repeated: dict[str, float] = field(default_factory=dict)  # job -> its last attributed restart
    _lost: dict[tuple[str, str], LostHours] = field(default_factory=dict)  # (incident, job) -> lost hours
    delays: dict[str, float] = field(default_factory=dict)
    """Hours that a job of a milestone lost to incidents, those that are over too: this is stored."""

    def attribute(
        self,
        losses_by_job: Mapping[str, LossSeries],
        claims: Mapping[str, LossClaim],
        floats: Mapping[str, Float] | None = None,
    ) -> None:
        """Attributes the loss since the last call to the incidents that claim the job.

        Without a claim, the loss waits.
        """
        lost: list[tuple[float, str, list[str], LostHours]] = []
        for job, losses in sorted(losses_by_job.items()):
            mine = {name: claim for name, claim in claims.items() if job in claim.jobs}
            if mine:
                lost += [(at, job, holding, hours) for at, holding, hours in self._new(job, losses, mine)]
        for _, job, holding, hours in sorted(lost, key=itemgetter(0)):
            whole = self._late(job, hours, floats) if floats and job in floats else hours
            for name in holding:
                self._lost[name, job] = self.of(name, job) + whole.times(1 / len(holding))

    def _new(
        self, job: str, losses: LossSeries, claims: Mapping[str, LossClaim]
    ) -> list[tuple[float, list[str], LostHours]]:
        begin = self._until.get(job, min(claim.since for claim in claims.values()))
        settled = losses.settled if losses.settled is not None else max([begin, *losses.times])
        until = max(begin, settled)
        spans = zip(losses.times, losses.slow, losses.down, strict=True)
        entries = [(at, LostHours(slow * losses.step / HOUR, down * losses.step / HOUR)) for at, slow, down in spans]
        entries = [(at, lost) for at, lost in entries if begin < at <= until]
        entries += [
            (last, LostHours(down=(last - first) / HOUR))
            for stop in losses.stops
            for first, last in _pieces(max(stop[0], begin), min(stop[1], until), claims)
        ]
        repeated = self._repeated.get(job, begin)
        entries += [(at, LostHours(redone=hours)) for at, hours in losses.redone if repeated < at]
        self._repeated[job] = max([repeated, *(at for at, _ in losses.redone)])
        self._until[job] = until
        held = [(at, [name for name, claim in claims.items() if claim.since < at], lost) for at, lost in entries]
        return [(at, names, lost) for at, names, lost in held if names and lost.hours]

    def _late(self, job: str, lost: LostHours, floats: Mapping[str, Float]) -> LostHours:
        """Adds the delay of the milestone: this job's loss beyond the float and beyond the losses of the milestone's
        other jobs."""
        slack = self.slack(job, floats)
        self.delays[job] = self.delays.get(job, 0.0) + lost.hours
        return LostHours(lost.slow, lost.down, lost.redone, max(0.0, lost.hours - slack))

    def slack(self, job: str, floats: Mapping[str, Float]) -> float:
        """Hours that a job can still lose before its milestone is late."""
        own = floats[job]
        others = [self.delays.get(other, 0.0) for other, one in floats.items() if one.milestone == own.milestone]
        return max([own.hours, *others]) - self.delays.get(job, 0.0)

    def restore(self, incident: str, job: str, lost: LostHours, until: float) -> None:
        """Restores the stored losses of an open incident after a restart, so that none is lost or attributed twice."""
        self._lost[incident, job] = lost
        self._until[job] = max(until, self._until.get(job, until))

    def close(self, incident: str) -> None:
        """Closes an incident: it gets no later losses. The float that it used stays used."""
        for key in [key for key in self._lost if key[0] == incident]:
            del self._lost[key]

    def of(self, incident: str, job: str) -> LostHours:
        return self._lost.get((incident, job), LostHours())

    def until(self, job: str) -> float | None:
        """The time up to which the job's losses are attributed; None: nothing yet."""
        return self._until.get(job)

    def job(self, job: str) -> LostHours:
        """Lost hours of a job over all open incidents."""
        return _sum(lost for (_, name), lost in self._lost.items() if name == job)


def _pieces(begin: float, end: float, claims: Mapping[str, LossClaim]) -> list[tuple[float, float]]:
    """Splits a span where another incident begins to claim the job."""
    cuts = sorted({begin, end, *(claim.since for claim in claims.values() if begin < claim.since < end)})
    return list(pairwise(cuts)) if end > begin else []


def _sum(of: Iterable[LostHours]) -> LostHours:
    total = LostHours()
    for one in of:
        total = total + one
    return total
