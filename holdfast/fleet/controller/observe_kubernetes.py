"""Observes Kubernetes: pods that start and end, nodes that become empty, and our marks."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from holdfast.fleet.actions.backend import ActionOutcome, ActionResult
from holdfast.fleet.actions.kubernetes.backend import Kubernetes
from holdfast.fleet.actions.kubernetes.mirror import WatchedObjects
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.enrolment import vouch_by_scheduler
from holdfast.fleet.controller.transaction import ReportWork, Transaction
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.decisions.kubernetes_reconciler import KubernetesReconciler
from holdfast.fleet.store import Store
from holdfast.formats.kubernetes.snapshot import Snapshot, statuses
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import Action, EventKind, NodeEvent, Verb
from holdfast.model.records import AuditEntry, LifecycleStep, Transition
from holdfast.runtime import clock
from holdfast.runtime.components import Components
from holdfast.runtime.errors import NoAnswer

log = logging.getLogger("holdfast.fleet.controller")
GATHER_SECONDS = 0.1  # changes come in bursts; one read takes them all


async def observe_kubernetes(
    kubernetes: Kubernetes,
    writer: Writer,
    seconds: float,
    components: Components | None = None,
    store: Store | None = None,
) -> None:
    """Runs until cancelled: reads after every change, and at least once per interval.

    A server that does not answer is not an empty cluster: nothing is concluded from silence.
    """
    seen, changed, loop = KubernetesMemory(), asyncio.Event(), asyncio.get_running_loop()
    watched = kubernetes.keep_looking(partial(_wake, loop, changed))
    watched.start()
    try:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await changed.wait()
            await asyncio.sleep(GATHER_SECONDS)
            changed.clear()
            seen = await _poll(kubernetes, watched, seen, writer, store)
            if components is not None and seen.complaint:
                components.failed("kubernetes", seen.complaint)
            elif components is not None:
                components.succeeded("kubernetes")
    finally:
        watched.stop()


def _wake(loop: asyncio.AbstractEventLoop, changed: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the loop has ended before the watch
        loop.call_soon_threadsafe(changed.set)


async def _poll(
    kubernetes: Kubernetes,
    watched: WatchedObjects,
    seen: "KubernetesMemory",
    writer: Writer,
    store: Store | None = None,
) -> "KubernetesMemory":
    """Reads once and returns the new memory."""
    try:
        began, snapshot = clock.now(), watched.snapshot()
        if store is not None:
            await vouch_by_scheduler(statuses(snapshot), "kubernetes", store, writer)
        seen, ahead = await writer.ask(ReportWork(partial(seen.take, snapshot, began)))
        for action in ahead:
            performed = await asyncio.to_thread(kubernetes.perform, action, False)
            await writer.ask(ReportWork(partial(_audit, action, performed)))
        for job in await asyncio.to_thread(kubernetes.start_again, snapshot):
            log.info("%s was suspended for a drain and is resumed", job)
    except NoAnswer as error:
        if str(error) != seen.complaint:  # logged once for repeated failures
            log.warning("Kubernetes does not answer: %s", error)
        return replace(seen, complaint=str(error))
    except Problem as problem:
        log.debug("observations of Kubernetes are ignored: %s", problem)
    return seen


@dataclass(slots=True)
class KubernetesMemory:
    """State kept between reads. `take` runs in the writer's thread."""

    reconciler: KubernetesReconciler = field(default_factory=KubernetesReconciler)
    jobs: dict[str, Job] = field(default_factory=dict)
    complaint: str = ""

    def take(
        self, snapshot: Snapshot, began: float, transaction: Transaction, fresh: Sequence[bool]
    ) -> tuple["KubernetesMemory", list[Action]]:
        """Returns the new memory, and actions to take at once although no stage changed.

        This object stays unchanged, because a batch that cannot be committed is tried again with it.
        """
        after = KubernetesMemory(self.reconciler.copy(), self.jobs)
        return after, after._take(snapshot, began, transaction)

    def _take(self, snapshot: Snapshot, began: float, transaction: Transaction) -> list[Action]:
        """Updates node states and history."""
        transaction.decide(transaction.fleet.observe(statuses(snapshot), transaction.now, began))
        changed = self._changed_jobs(snapshot, transaction.now)
        transaction.store.save_jobs(changed)
        transaction.fleet.note_jobs(changed)
        for name in self.reconciler.registered_anew(snapshot, transaction.fleet.nodes):
            reason = "its Node object in Kubernetes is not the one that was tested"
            transaction.decide(transaction.fleet.retest(name, reason, "kubernetes", transaction.now))
        due = self.reconciler.due(snapshot, transaction.fleet.nodes, transaction.now, transaction.fleet.policy)
        # A dry run carries nothing out, so all marks would be missing forever.
        due = [action for action in due if not transaction.fleet.dry_run(action.node)]
        # The action queue drops a cordon of a node whose stage takes work, so these cordons are carried out here.
        ahead = [a for a in due if a.verb is Verb.CORDON and transaction.fleet.nodes[a.node].takes_work]
        transaction.decide([_reminded(transaction, action) for action in due if action not in ahead])
        return ahead

    def _changed_jobs(self, snapshot: Snapshot, now: float) -> list[Job]:
        """Changed pods that request GPUs. A pod that is missing was deleted; its end is set to now."""
        current = {pod.uid: pod.job for pod in snapshot.pods if pod.is_gpu_work}
        gone = [job for uid, job in self.jobs.items() if uid not in current and job.state.holds_nodes]
        changed = [job for uid, job in current.items() if self.jobs.get(uid) != job]
        self.jobs = current
        return changed + [replace(job, state=JobState.CANCELLED, end=now) for job in gone]


def _reminded(transaction: Transaction, action: Action) -> LifecycleStep:
    life = transaction.fleet.nodes[action.node]
    event = NodeEvent(kind=EventKind.REMINDED, cause=action.cause, reason=action.reason, by="kubernetes")
    reason = f"{action.verb.value} again: {action.reason}"
    transition = Transition(
        node=life.name, at=transaction.now, before=life.stage, after=life.stage, event=event, reason=reason
    )
    return LifecycleStep(node=life, transition=transition, actions=(action,))


def _audit(action: Action, performed: ActionOutcome, transaction: Transaction, fresh: Sequence[bool]) -> None:
    if performed.result is ActionResult.NOTHING_TO_DO:
        return
    log.info("%s %s: %s", action.verb.value, action.node, performed.message)
    transaction.audit.append(
        AuditEntry(
            at=transaction.now,
            who="holdfast",
            role="controller",
            verb=action.verb.value,
            target=action.node,
            outcome=performed.result.value,
            reason=performed.message,
        )
    )
