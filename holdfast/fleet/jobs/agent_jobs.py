"""Jobs reported by agents: process groups that hold GPUs. Used without a scheduler."""

from holdfast.fleet.jobs.transaction import JobTransaction
from holdfast.model.job import Job, JobState
from holdfast.model.node_status import NodeStatus
from holdfast.model.wire.report import JobSeen, Report

SOURCE = "agent"
MOST_RUNNING = 100_000


class AgentJobs:
    """Used on the writer's thread. State of an earlier leader is read from the store."""

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._latest: dict[str, tuple[str, int]] = {}  # node -> session and number of its last report about jobs
        self._known: dict[str, Job] = {}

    def take(self, report: Report, transaction: JobTransaction) -> None:
        """Takes all jobs of a node, not changes, so that the next report corrects a lost or late one."""
        if transaction.epoch != self._epoch:
            self._recall(transaction)
        node = transaction.fleet.nodes.get(report.node)
        if report.jobs is None or node is None:
            return
        held = frozenset(job.id for job in report.jobs if job.state.holds_nodes)
        if self._is_late(report, transaction, changes=held != node.jobs):
            return
        status = NodeStatus(
            node=report.node, accepts_work=not held, cordoned=False, down=False, busy=bool(held), jobs=held
        )
        transaction.decide(transaction.fleet.observe([status], transaction.now))
        seen = {job.id: job for job in report.jobs}
        changed = node.jobs ^ held
        transaction.store.save_jobs(
            [self._job(name, seen.get(name), report.node, transaction) for name in sorted(changed)]
        )

    def _recall(self, transaction: JobTransaction) -> None:
        running = transaction.store.jobs(None, transaction.now, MOST_RUNNING)
        self._known = {job.id: job for job in running if job.source == SOURCE and job.end is None}
        self._latest.clear()
        self._epoch = transaction.epoch

    def _is_late(self, report: Report, transaction: JobTransaction, *, changes: bool) -> bool:
        """Whether a newer report was taken before. For reports to an earlier leader, the store knows."""
        session, number = self._latest.get(report.node, ("", 0))
        if not session and changes:
            session, number = report.session, transaction.store.newest_report(report.node, report.session)
        if session == report.session and report.seq < number:
            return True
        self._latest[report.node] = (report.session, report.seq)
        return False

    def _job(self, name: str, seen: JobSeen | None, node: str, transaction: JobTransaction) -> Job:
        """The whole job, combined from its nodes. It has ended when no node runs it."""
        known = self._known.get(name) or Job(id=name, source=SOURCE)
        nodes = tuple(sorted({*known.nodes, node}))
        holding = any(name in transaction.fleet.nodes[one].jobs for one in nodes if one in transaction.fleet.nodes)
        gpus = _sum(known.gpus, seen.gpus if seen else None) if node not in known.nodes else known.gpus
        start = known.start if known.start is not None or seen is None else seen.start
        state = JobState.RUNNING if holding else seen.state if seen else JobState.UNKNOWN
        job = Job(
            id=name,
            source=SOURCE,
            nodes=nodes,
            gpus=gpus,
            start=start,
            end=None if holding else transaction.now,
            state=state,
        )
        if holding:
            self._known[name] = job
        else:
            self._known.pop(name, None)
        return job


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other
