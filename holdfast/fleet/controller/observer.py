"""Observes Slurm every few seconds: jobs that start and end, nodes that become empty, marks for untested nodes."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from holdfast.fleet.actions.slurm.backend import Slurm, SlurmSnapshot
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.enrolment import vouch_by_scheduler
from holdfast.fleet.controller.transaction import ReportWork, Transaction
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.decisions.fleet import RESETS
from holdfast.fleet.decisions.slurm_reconciler import SlurmReconciler, ended_repairs
from holdfast.fleet.store import Store
from holdfast.model.job import Job
from holdfast.model.lifecycle import Action, EventKind, NodeEvent, NodeState, Stage
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import LifecycleStep, Transition
from holdfast.runtime.components import Components
from holdfast.runtime.errors import NoAnswer

log = logging.getLogger("holdfast.fleet.controller")
FORGETFUL_SECONDS = 120.0  # Slurm itself remembers a job that ended for MinJobAge, 300 s unless the site says less
FIRST_HISTORY_SECONDS = 86_400.0
MOST_REMEMBERED = 100_000
UNUSED = frozenset({Stage.READY, Stage.SPARE})


async def observe_slurm(
    slurm: Slurm, writer: Writer, seconds: float, components: Components | None = None, store: Store | None = None
) -> None:
    """Runs until cancelled. A scheduler that does not answer is not an empty one: nothing is concluded from silence."""
    seen, components = ObserverMemory(), components or Components()
    accounting = Accounting(slurm)
    while True:
        try:
            snapshot = await asyncio.to_thread(slurm.snapshot)
            if store is not None:
                await vouch_by_scheduler(snapshot.statuses, "slurm", store, writer)
            missed = await asyncio.to_thread(accounting.missed, snapshot.began)
            seen = await writer.ask(ReportWork(partial(seen.take, snapshot, missed)))
            accounting.caught_up_at = snapshot.began
            await asyncio.to_thread(slurm.end_reservations, seen.over)
            components.succeeded("slurm")
        except NoAnswer as error:
            components.failed("slurm", error)
            log.warning("Slurm does not answer: %s", error)
        except Problem as problem:
            # another controller leads, or the commit failed: the memory starts again from the store
            seen = ObserverMemory()
            log.debug("observations of Slurm are ignored: %s", problem)
        await asyncio.sleep(seconds)


@dataclass(slots=True)
class Accounting:
    """Jobs that slurmctld has dropped, read from sacct if the site runs it."""

    slurm: Slurm
    caught_up_at: float | None = None
    kept: bool = True

    def missed(self, now: float) -> Sequence[Job]:
        if not self.kept or (self.caught_up_at is not None and now - self.caught_up_at < FORGETFUL_SECONDS):
            return ()
        since = now - FIRST_HISTORY_SECONDS if self.caught_up_at is None else self.caught_up_at
        try:
            return self.slurm.accounted(since)
        except NoAnswer as error:
            self.kept = error.retryable
            log.warning("jobs are read from squeue only, because accounting does not answer: %s", error)
            return ()


@dataclass(slots=True)
class ObserverMemory:
    """State kept between reads. Used in the writer's thread only."""

    reconciler: SlurmReconciler = field(default_factory=SlurmReconciler)
    jobs: dict[str, Job] | None = None
    waiting: tuple[Job, ...] = ()  # jobs that ended on a node whose stage changed since that read began
    over: tuple[str, ...] = ()  # reservations of repair steps that have ended

    def take(
        self, snapshot: SlurmSnapshot, missed: Sequence[Job], transaction: Transaction, fresh: Sequence[bool]
    ) -> "ObserverMemory":
        """Returns the new memory. This object stays unchanged, because a batch that cannot be committed is tried again
        with it."""
        after = ObserverMemory(self.reconciler.copy(), self.jobs, self.waiting)
        after._take(snapshot, missed, transaction)
        return after

    def _take(self, snapshot: SlurmSnapshot, missed: Sequence[Job], transaction: Transaction) -> None:
        """Updates node states and history. A node whose stage changed since the read began waits for the next read."""
        lives = transaction.fleet.nodes
        running = {n for n in snapshot.reserved.values() if transaction.store.has_open_action(n, RESETS)}
        self.over = tuple(ended_repairs(snapshot.reserved, lives, snapshot.began, running))
        current = [s for s in snapshot.statuses if s.node in lives and lives[s.node].since < snapshot.began]
        unsettled = {name for name, life in lives.items() if life.since >= snapshot.began}
        known = self._known_jobs(transaction)
        reported = {
            job.id: job
            for job in (*self.waiting, *missed, *snapshot.jobs)
            if job.nodes and not job.in_prolog and known.get(job.id) != job
        }
        waiting = {id: job for id, job in reported.items() if _over(job) and not unsettled.isdisjoint(job.nodes)}
        self.waiting = tuple(waiting.values())
        changed = [job for id, job in reported.items() if id not in waiting]
        unseen = _unseen([job for job in changed if not _known_before(job, known.get(job.id))], lives)
        self._remember(known, changed)
        transaction.decide(
            transaction.fleet.observe(
                [_with(s, unseen[s.node]) for s in current if s.node in unseen], transaction.now, snapshot.began
            )
        )
        transaction.decide(transaction.fleet.observe(current, transaction.now, snapshot.began))
        transaction.store.save_jobs(changed)
        transaction.fleet.note_jobs(changed)
        for name, why in self.reconciler.untested(current, lives):
            transaction.decide(transaction.fleet.retest(name, why, "slurm", transaction.now))
        due = self.reconciler.due(current, lives, snapshot.began)
        # A dry run carries nothing out, so all drains would be missing forever.
        transaction.decide(
            [_reminded(transaction, action) for action in due if not transaction.fleet.dry_run(action.node)]
        )

    def _known_jobs(self, transaction: Transaction) -> dict[str, Job]:
        """Passes on only changed jobs, so that the same thousand jobs are not written every few seconds."""
        if self.jobs is None:
            known = transaction.store.jobs(None, transaction.now - FIRST_HISTORY_SECONDS, MOST_REMEMBERED)
            self.jobs = {job.id: job for job in known if job.source == "slurm" and not job.step}
        return self.jobs

    def _remember(self, known: Mapping[str, Job], changed: Sequence[Job]) -> None:
        if not changed:
            return
        self.jobs = {**known, **{job.id: job for job in changed}}
        while len(self.jobs) > MOST_REMEMBERED:
            del self.jobs[next(iter(self.jobs))]


def _over(job: Job) -> bool:
    return not job.state.holds_nodes


def _known_before(job: Job, known: Job | None) -> bool:
    """Whether the end of this run is already known and only its description changed."""
    return known is not None and _over(known) and known.start == job.start


def _unseen(changed: Sequence[Job], lives: Mapping[str, NodeState]) -> dict[str, frozenset[str]]:
    """Jobs that started and ended between two reads, by node: shorter than the interval, but they used the node.

    A job that ended before a node on trial entered its stage says nothing new about it.
    """
    found: dict[str, frozenset[str]] = {}
    for job in changed:
        if not _over(job):
            continue
        for name in job.nodes:
            life = lives.get(name)
            if life is None or job.id in life.jobs:
                continue
            if life.stage in (*UNUSED, Stage.ALLOCATED) or (job.start is not None and job.start > life.since):
                found[name] = found.get(name, frozenset()) | {job.id}
    return found


def _with(status: NodeStatus, jobs: frozenset[str]) -> NodeStatus:
    return replace(status, jobs=status.jobs | jobs, busy=True)


def _reminded(transaction: Transaction, action: Action) -> LifecycleStep:
    life = transaction.fleet.nodes[action.node]
    event = NodeEvent(kind=EventKind.REMINDED, cause=action.cause, reason=action.reason, by="slurm")
    reason = f"{action.verb.value} again: {action.reason}"
    transition = Transition(
        node=life.name, at=transaction.now, before=life.stage, after=life.stage, event=event, reason=reason
    )
    return LifecycleStep(node=life, transition=transition, actions=(action,))
