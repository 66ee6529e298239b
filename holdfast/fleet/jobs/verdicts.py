"""Evaluates the checks of a job and records since when each part has been slow."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

from holdfast.fleet.jobs.hardware import Digest, explanation, shared, slow_clock
from holdfast.fleet.jobs.incidents import Explaining
from holdfast.fleet.jobs.record import JobRecord, Rank
from holdfast.model.health import Health
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict
from holdfast.model.wire.progress import WINDOW_SECONDS
from holdfast.model.wire.report import VerdictChange
from holdfast.node import checks
from holdfast.node.checks.job.facts import SPREAD
from holdfast.node.checks.job.slow_links import TRANSFER

ASKED = tuple(name for name in checks.OF_A_JOB if name != "job.passive")
SEEN_AFTER_SECONDS = 4 * WINDOW_SECONDS  # difference of a slow rank from a stall
USUAL_READINGS = 360  # readings of an hour
ENOUGH_READINGS = 6
_ASKED_OF = {"rank": "job.slow_ranks", "link": "job.slow_links", "job": "job.step_time"}
PARTS = ("step", "own", "data", "wait", "checkpoint")
Verdicts = Callable[[str], list[VerdictChange]]


@dataclass(slots=True)
class JobVerdicts:
    """Verdicts of one job. `digests` are the last ones of its nodes."""

    record: JobRecord
    verdicts: tuple[Verdict, ...] = ()
    slow_since: dict[Subject, float] = field(default_factory=dict)
    usual: dict[str, deque[float]] = field(
        default_factory=lambda: {part: deque(maxlen=USUAL_READINGS) for part in PARTS}
    )

    def evaluate(
        self,
        now: float,
        verdicts: Verdicts,
        digests: Mapping[str, Digest],
        explained: Explaining = lambda node, gpu: "",
    ) -> None:
        ranks = [rank for rank in self.record.fresh(now) if rank.window.steps]
        if not ranks:
            return
        self._add(now, [*self._of_the_job(ranks, digests), *self._links(ranks)])
        self._add(now, self._of_ranks(ranks, verdicts, digests, explained))
        self._ask(now)
        if self._remember_since(now):  # the slow ranks are known now: add reason and start
            self._add(now, self._of_ranks(ranks, verdicts, digests, explained))
            self._ask(now)

    def _ask(self, now: float) -> None:
        asked = [checks.BY_NAME[name] for name in ASKED]
        self.verdicts = tuple(check(self.record.history.window(now, check.span)) for check in asked)

    def _of_the_job(self, ranks: list[Rank], digests: Mapping[str, Digest]) -> list[Signal]:
        job = self.record.subject
        middles = {part: median(_part(rank, part) for rank in ranks) for part in PARTS}
        signals = [Signal(job, f"job_{part}_seconds", value) for part, value in middles.items()]
        for part, value in middles.items():
            if len(self.usual[part]) >= ENOUGH_READINGS:
                signals.append(Signal(job, f"job_usual_{part}_seconds", median(self.usual[part])))
            if job not in self.slow_since:
                self.usual[part].append(value)
        if len(steps := self.usual["step"]) >= ENOUGH_READINGS:
            usual = median(steps)
            noise = SPREAD * median(abs(one - usual) for one in steps) / usual if usual else 0.0
            signals.append(Signal(job, "job_usual_step_noise_ratio", noise))
        signals.append(Signal(job, "job_world", float(self.record.world)))
        if reason := shared(digests[node] for node in {rank.node for rank in ranks} if node in digests):
            signals.append(Signal(job, "job_hardware", reason))
        return signals

    def _of_ranks(
        self, ranks: list[Rank], verdicts: Verdicts, digests: Mapping[str, Digest], explained: Explaining
    ) -> list[Signal]:
        """Verdicts of ranks. Hardware verdicts are read only if something is slow, because a thousand nodes have
        many."""
        found = []
        for rank in ranks:
            about = f"{self.record.subject}/rank/{rank.window.rank}"
            if about in self.slow_since:
                gpu = rank.window.gpu
                reason = explanation(rank.node, gpu, verdicts(rank.node), digests.get(rank.node, {}))
                reason = reason or slow_clock(rank.node, gpu, {one.node: digests.get(one.node, {}) for one in ranks})
                found.append(Signal(about, "job_rank_hardware", reason))
                found.append(Signal(about, "job_rank_incident", explained(rank.node, gpu)))
        return found

    def _links(self, ranks: list[Rank]) -> list[Signal]:
        """Transfer times of links: the last rank to arrive waits for no other, so the shortest time is that of the
        transfer."""
        seconds: dict[str, float] = {}
        nodes: dict[str, set[str]] = {}
        for rank in ranks:
            for link, transfer in rank.window.links.items():
                about = f"{self.record.subject}/link/{link.replace('/', '_')}"
                seconds[about] = min(transfer, seconds.get(about, transfer))
                nodes.setdefault(about, set()).add(rank.node)
        transfers = {link: self.record.distinct(link, TRANSFER, transfer) for link, transfer in seconds.items()}
        found = [Signal(link, TRANSFER, transfer) for link, transfer in transfers.items()]
        return found + [Signal(link, "job_link_nodes", " and ".join(sorted(over))) for link, over in nodes.items()]

    def _remember_since(self, now: float) -> bool:
        """Records starts; returns True if something became slow."""
        slow = {row.subject for verdict in self.verdicts for row in verdict.rows if row.health is Health.DEGRADED}
        slow |= self._not_evaluated()
        new = slow - self.slow_since.keys()
        for subject in new:
            self.slow_since[subject] = now - SEEN_AFTER_SECONDS
        well = self.slow_since.keys() - slow
        for subject in list(well):
            del self.slow_since[subject]
        signals = [Signal(subject, "job_slow_since_seconds", since) for subject, since in self.slow_since.items()]
        absent = {(subject, "job_slow_since_seconds"): "it recovered" for subject in well}
        self.record.history.add(Reading(source="judge", at=now, signals=signals, absent=absent))
        return bool(new)

    def _not_evaluated(self) -> set[Subject]:
        """Parts that were slow and cannot be evaluated yet, for example after a controller start, do not count as
        healthy."""
        unknown = {verdict.check for verdict in self.verdicts if verdict.health is Health.UNKNOWN}
        return {subject for subject in self.slow_since if _ASKED_OF[_kind(subject)] in unknown}

    def _add(self, now: float, signals: list[Signal]) -> None:
        self.record.history.add(Reading(source="judge", at=now, signals=signals))


def _kind(subject: Subject) -> str:
    """The kind of a part: rank, link or job."""
    return subject.split("/")[-2]


def _part(rank: Rank, part: str) -> float:
    window = rank.window
    if part == "own":
        return window.own_seconds
    total = window.seconds if part == "step" else float(getattr(window, f"{part}_seconds"))
    return total / window.steps
