"""Service of training jobs, with or without progress reports. Reports of ranks change no node."""

import logging
from collections import Counter
from collections.abc import Sequence

from holdfast.fleet.jobs.checkpoints import where
from holdfast.fleet.jobs.hardware import Digest
from holdfast.fleet.jobs.incidents import Explaining, explaining, with_incidents
from holdfast.fleet.jobs.keepers import JobKeepers
from holdfast.fleet.jobs.passive import PassiveJobs
from holdfast.fleet.jobs.record import JobRecord
from holdfast.fleet.jobs.show import detail, summary
from holdfast.fleet.jobs.snapshot import dump, restore
from holdfast.fleet.jobs.transaction import JobTransaction
from holdfast.fleet.jobs.verdicts import JobVerdicts, Verdicts
from holdfast.fleet.jobs.views import CheckpointsView, TrainingDetail, TrainingsView
from holdfast.fleet.jobs.views_in_fleet_time import in_fleet_time
from holdfast.model.records import Training
from holdfast.model.wire import digest
from holdfast.model.wire.progress import RankWindow
from holdfast.model.wire.report import Report

log = logging.getLogger("holdfast.fleet.controller")
MOST_JOBS = 2_000
MOST_JOBS_OF_USER = 200
MOST_RANKS_OF_USER = 100_000  # jobs per user
# ranks per node and hour: an agent serves at most 512 processes at once
MOST_RANKS_OF_NODE, MOST_JOBS_OF_NODE = 1_024, 128
HOUR = 3_600.0
MOST_DIGESTS = 20_000
STORE_SECONDS = 30.0
STORED_RANKS_PER_SECOND = 50.0
REPORTED_SECONDS = 300.0  # a job that has not reported for this long counts as one without reports
Key = tuple[str, str]  # name and owner


class UnknownJob(LookupError):
    """No job of this name reports progress, and no node runs one of this id."""


class SeveralJobs(LookupError):
    """Several users have a job of this name."""


class JobService:
    """Used on the writer's thread."""

    def __init__(self, time_factor: float = 1.0) -> None:
        self._time_factor = time_factor
        self._jobs: dict[Key, JobVerdicts] = {}
        self._digests: dict[str, Digest] = {}
        self._reported_at: dict[str, float] = {}  # node -> last progress report of a job on it
        self._passive = PassiveJobs()
        self._keepers = JobKeepers()
        self._stored: dict[Key, tuple[float, int, str]] = {}  # time, attempt and end of the last stored state
        self._ranks: Counter[str] = Counter()  # user -> number of jobs
        # ranks that a node reports, with the time of their last report
        self._on_node: dict[str, dict[tuple[Key, int], float]] = {}
        self._epoch: int | None = None  # leadership in which the jobs were read from the store

    def take(self, report: Report, transaction: JobTransaction) -> None:
        self._restore(transaction)
        taken = [self._take_window(report.node, window, transaction.now) for window in report.progress]
        touched = {key for key in taken if key is not None}
        self._take_digest(report, transaction)  # after the progress: a job that reports is not passive
        self._keepers.take(report, transaction.now)
        if not touched:
            return  # true for most reports: explanations of slow jobs need not be computed for each heartbeat
        explained = explaining(transaction.fleet.incidents.open.values())
        for key in touched:
            self._evaluate(self._jobs[key], transaction.now, transaction.fleet.verdicts, explained)
        if due := [key for key in sorted(touched) if self._due(key, transaction.now)]:
            transaction.store.save_trainings([self._to_store(key, transaction.now) for key in due])

    def _restore(self, transaction: JobTransaction) -> None:
        """Restores the state that the last leader stored."""
        if self._epoch == transaction.epoch:
            return
        self._epoch = transaction.epoch
        self._jobs.clear()
        for stored in reversed(transaction.store.trainings(MOST_JOBS)):
            try:
                self._jobs[stored.name, stored.owner] = restore(stored.name, stored.owner, stored.body)
            except ValueError as error:
                log.warning("the stored counts of job %s cannot be read; they start at 0: %s", stored.name, error)
        self._ranks.clear()
        for (_, owner), job in self._jobs.items():
            self._ranks[owner] += len(job.record.ranks)

    def _due(self, key: Key, now: float) -> bool:
        """Whether to store a job: every STORE_SECONDS, large jobs less often, and at once when an attempt begins or
        ends."""
        record = self._jobs[key].record
        at, attempt, ended = self._stored.get(key, (0.0, -1, ""))
        pause = STORE_SECONDS + len(record.ranks) / STORED_RANKS_PER_SECOND
        return now - at >= pause or (record.attempt, record.ended) != (attempt, ended)

    def _to_store(self, key: Key, now: float) -> Training:
        record = self._jobs[key].record
        self._stored[key] = (now, record.attempt, record.ended)
        return Training(name=key[0], owner=key[1], at=now, body=dump(self._jobs[key]))

    def _take_digest(self, report: Report, transaction: JobTransaction) -> None:
        """Takes a digest; without progress reports, the digests of its GPUs are the only data about a job."""
        if not report.digest or (report.node not in self._digests and len(self._digests) >= MOST_DIGESTS):
            return
        self._digests[report.node] = found = digest.unpack(report.digest)
        node = transaction.fleet.nodes.get(report.node)
        reported = transaction.now - self._reported_at.get(report.node, 0.0) <= REPORTED_SECONDS
        if node is not None and len(node.jobs) == 1 and not reported:
            self._passive.take(next(iter(node.jobs)), report.node, found, transaction.now)

    def _take_window(self, node: str, window: RankWindow, now: float) -> Key | None:
        """Takes a window and returns its job; None if the node reports more than a node can run."""
        key = (window.job.replace("/", "_"), window.owner)
        if not self._is_plausible(node, key, window.rank, now):
            return None
        known = self._jobs.get(key)
        if known is None:
            self._make_room(window.owner)
            known = self._jobs[key] = JobVerdicts(JobRecord(*key))
        before = len(known.record.ranks)
        if window.rank in known.record.ranks or self._ranks[window.owner] < MOST_RANKS_OF_USER:
            known.record.take(node, window, now)
        self._ranks[window.owner] += len(known.record.ranks) - before
        self._reported_at[node] = now
        return key

    def _is_plausible(self, node: str, key: Key, rank: int, now: float) -> bool:
        """Whether the number of ranks is plausible. Root on a compromised node can invent users, jobs and ranks, so
        each node is limited per hour."""
        reported = self._on_node.setdefault(node, {})
        if (key, rank) not in reported and len(reported) >= MOST_RANKS_OF_NODE // 2:
            reported = self._on_node[node] = {one: at for one, at in reported.items() if now - at < HOUR}
        if (key, rank) not in reported:
            if len(reported) >= MOST_RANKS_OF_NODE:
                return False
            jobs = {job for job, _ in reported}
            if key not in jobs and len(jobs) >= MOST_JOBS_OF_NODE:
                return False
        reported[key, rank] = now
        return True

    def _make_room(self, owner: str) -> None:
        """Drops the longest silent job of a user with too many jobs, or of the users with the most jobs. So a flood of
        one user's names removes no job of another user."""
        counts = Counter(other for _, other in self._jobs)
        if counts[owner] < MOST_JOBS_OF_USER and len(self._jobs) < MOST_JOBS:
            return
        most = max(counts.values())
        whose = {owner} if counts[owner] >= MOST_JOBS_OF_USER else {one for one in counts if counts[one] == most}
        of_them = (key for key in self._jobs if key[1] in whose)
        oldest = min(of_them, key=lambda key: (self._jobs[key].record.last_report_at, key))
        log.warning("%d jobs of %s report progress; %s is dropped", counts[oldest[1]], oldest[1], oldest[0])
        self._ranks[oldest[1]] -= len(self._jobs.pop(oldest).record.ranks)
        self._stored.pop(oldest, None)

    def _evaluate(self, job: JobVerdicts, now: float, verdicts: Verdicts, explained: Explaining) -> None:
        """Evaluates a job once every rank has reported a new window."""
        if job.record.unevaluated < len(job.record.ranks):
            return
        job.record.unevaluated = 0
        before = job.slow_since.keys() | set()
        job.evaluate(now, verdicts, self._digests, explained)
        if job.slow_since.keys() - before:
            log.info("%s", "; ".join(one.reason for one in job.verdicts if one.reason))

    # Called by the API, in the writer's thread

    def list(self, transaction: JobTransaction, fresh: Sequence[bool]) -> TrainingsView:
        self._restore(transaction)
        reporting = [summary(job, transaction.now, self._where(job, transaction.now)) for job in self._jobs.values()]
        open_ = list(transaction.fleet.incidents.open.values())
        in_time = [in_fleet_time(one, self._time_factor) for one in reporting + self._passive.list(transaction.now)]
        shown = [with_incidents(one, open_) for one in in_time]
        return TrainingsView(jobs=tuple(sorted(shown, key=lambda view: (-view.last_report_at, view.job))))

    def show(self, name: str, transaction: JobTransaction) -> TrainingDetail:
        """A job by `name`, or by `owner:name` if several users have a job of that name. Raises UnknownJob,
        SeveralJobs."""
        self._restore(transaction)
        view = in_fleet_time(self._detail(name, transaction.now), self._time_factor)
        return with_incidents(view, transaction.fleet.incidents.open.values())

    def _detail(self, name: str, now: float) -> TrainingDetail:
        found = [key for key in self._jobs if name in (key[0], f"{key[1]}:{key[0]}")]
        if not found and (passive := self._passive.show(name, now)) is not None:
            return passive
        if not found:
            raise UnknownJob(f"no job called {name[:80]!r} reports progress, and no node runs a job of that id")
        if len(found) > 1:
            named = ", ".join(f"{owner}:{job}" for job, owner in found)
            raise SeveralJobs(f"several jobs are called {name[:80]!r}: ask for one of {named}")
        job = self._jobs[found[0]]
        return detail(job, now, self._where(job, now))

    def _where(self, job: JobVerdicts, now: float) -> CheckpointsView:
        return where(self._keepers.of(job.record, self._jobs), now)
