"""All training jobs that tell their progress. What ranks say ends here: it is shown, and moves no node."""

import logging
from collections.abc import Callable, Sequence

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.jobs.checkpoints import where
from holdfast.fleet.jobs.hardware import Digest
from holdfast.fleet.jobs.incidents import Explaining, explaining, with_incidents
from holdfast.fleet.jobs.keepers import JobKeepers
from holdfast.fleet.jobs.passive import PassiveJobs
from holdfast.fleet.jobs.record import JobRecord
from holdfast.fleet.jobs.show import detail, summary
from holdfast.fleet.jobs.snapshot import keep, recall
from holdfast.fleet.jobs.verdicts import JobVerdicts, Verdicts
from holdfast.fleet.jobs.views import CheckpointsView, TrainingDetail, TrainingsView
from holdfast.model.records import Training
from holdfast.model.wire import digest
from holdfast.model.wire.progress import RankWindow
from holdfast.model.wire.report import Report

log = logging.getLogger("holdfast.fleet.controller")
MOST_JOBS = 2_000
MOST_DIGESTS = 20_000
STORE_SECONDS = 30.0
STORED_RANKS_A_SECOND = 50.0
TOLD_SECONDS = 300.0  # after it a job that told its progress is one that does not
Key = tuple[str, str]  # name and owner


class JobService:
    """Belongs to the writer's thread."""

    def __init__(self) -> None:
        self._jobs: dict[Key, JobVerdicts] = {}
        self._digests: dict[str, Digest] = {}
        self._told_at: dict[str, float] = {}  # when a job on a node last told its progress
        self._quiet = PassiveJobs()
        self._keepers = JobKeepers()
        self._stored: dict[Key, tuple[float, int, str]] = {}  # when, and of which attempt and end
        self._epoch: int | None = None  # of the lead in which the jobs were read from the store

    def take(self, report: Report, transaction: Transaction) -> None:
        self._recall(transaction)
        touched = {self._hear(report.node, window, transaction.now) for window in report.progress}
        self._take_digest(
            report, transaction
        )  # after the ranks' own words: a job that tells with its first report is no quiet one
        self._keepers.take(report, transaction.now)
        explained = explaining(transaction.fleet.incidents.open.values())
        for key in touched:
            self._judge(self._jobs[key], transaction.now, transaction.fleet.verdicts, explained)
        if due := [key for key in sorted(touched) if self._due(key, transaction.now)]:
            transaction.store.save_trainings([self._to_store(key, transaction.now) for key in due])

    def _recall(self, transaction: Transaction) -> None:
        """Whoever begins to lead goes on where the last one stood."""
        if self._epoch == transaction.epoch:
            return
        self._epoch = transaction.epoch
        self._jobs.clear()
        for kept in reversed(transaction.store.trainings(MOST_JOBS)):
            try:
                self._jobs[kept.name, kept.owner] = recall(kept.name, kept.owner, kept.body)
            except ValueError as error:
                log.warning("what was counted of job %s cannot be read and begins anew: %s", kept.name, error)

    def _due(self, key: Key, now: float) -> bool:
        """Now and then, large jobs more seldom; at once where an attempt begins or ends."""
        record = self._jobs[key].record
        at, attempt, ended = self._stored.get(key, (0.0, -1, ""))
        pause = STORE_SECONDS + len(record.ranks) / STORED_RANKS_A_SECOND
        return now - at >= pause or (record.attempt, record.ended) != (attempt, ended)

    def _to_store(self, key: Key, now: float) -> Training:
        record = self._jobs[key].record
        self._stored[key] = (now, record.attempt, record.ended)
        return Training(name=key[0], owner=key[1], at=now, body=keep(self._jobs[key]))

    def _take_digest(self, report: Report, transaction: Transaction) -> None:
        """Of a node whose job tells nothing itself, its GPUs are all that is known of it."""
        if not report.digest or (report.node not in self._digests and len(self._digests) >= MOST_DIGESTS):
            return
        self._digests[report.node] = found = digest.unpack(report.digest)
        life = transaction.fleet.nodes.get(report.node)
        told = transaction.now - self._told_at.get(report.node, 0.0) <= TOLD_SECONDS
        if life is not None and len(life.jobs) == 1 and not told:
            self._quiet.take(next(iter(life.jobs)), report.node, found, transaction.now)

    def _hear(self, node: str, window: RankWindow, now: float) -> Key:
        key = (window.job.replace("/", "_"), window.owner)
        known = self._jobs.get(key)
        if known is None:
            self._make_room()
            known = self._jobs[key] = JobVerdicts(JobRecord(*key))
        known.record.take(node, window, now)
        self._told_at[node] = now
        return key

    def _make_room(self) -> None:
        """The one that was silent for longest goes."""
        if len(self._jobs) >= MOST_JOBS:
            oldest = min(self._jobs, key=lambda key: self._jobs[key].record.heard_at)
            log.warning("more than %d jobs tell their progress; %s is forgotten", MOST_JOBS, oldest[0])
            del self._jobs[oldest]
            self._stored.pop(oldest, None)

    def _judge(self, job: JobVerdicts, now: float, verdicts: Verdicts, explained: Explaining) -> None:
        """Each window is looked at once: when every rank has told another."""
        if job.record.unjudged < len(job.record.ranks):
            return
        job.record.unjudged = 0
        before = job.slow_since.keys() | set()
        job.judge(now, verdicts, self._digests, explained)
        if job.slow_since.keys() - before:
            log.info("%s", "; ".join(one.reason for one in job.verdicts if one.reason))

    # Asked by the API, in the writer's thread

    def list(self, transaction: Transaction, fresh: Sequence[bool]) -> TrainingsView:
        self._recall(transaction)
        told = [summary(job, transaction.now, self._where(job, transaction.now)) for job in self._jobs.values()]
        open_ = list(transaction.fleet.incidents.open.values())
        shown = [with_incidents(one, open_) for one in told + self._quiet.list(transaction.now)]
        return TrainingsView(jobs=tuple(sorted(shown, key=lambda view: (-view.heard_at, view.job))))

    def show(self, name: str) -> Callable[[Transaction, Sequence[bool]], TrainingDetail]:
        """`name` alone, or `owner:name` where several users have a job of that name."""

        def do(transaction: Transaction, fresh: Sequence[bool]) -> TrainingDetail:
            self._recall(transaction)
            found = [key for key in self._jobs if name in (key[0], f"{key[1]}:{key[0]}")]
            if not found and (quiet := self._quiet.show(name, transaction.now)) is not None:
                return with_incidents(quiet, transaction.fleet.incidents.open.values())
            if not found:
                raise Problem(404, f"no job called {name[:80]!r} tells its progress, and no node holds one of that id")
            if len(found) > 1:
                named = ", ".join(f"{owner}:{job}" for job, owner in found)
                words = f"several jobs are called {name[:80]!r}: ask for one of {named}"
                raise Problem(409, words, code="several_jobs")
            job = self._jobs[found[0]]
            told = detail(job, transaction.now, self._where(job, transaction.now))
            return with_incidents(told, transaction.fleet.incidents.open.values())

        return do

    def _where(self, job: JobVerdicts, now: float) -> CheckpointsView:
        return where(self._keepers.of(job.record, self._jobs), now)
