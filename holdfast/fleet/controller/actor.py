"""Actor: claims due actions, runs them in threads, and reports their outcomes.

A back end that hangs blocks only itself: each has its own threads, and the writer's thread is not involved. Actions on
one node run in order.
"""

import asyncio
import logging
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial

from holdfast.fleet.actions.backend import ActionOutcome, ActionResult, Backend, Scheduler, done, failed, not_now
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller import claims
from holdfast.fleet.controller.backends import Backends
from holdfast.fleet.controller.transaction import Claimed, ReportWork
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.decisions.fleet import RESETS
from holdfast.model.lifecycle import Action, Verb
from holdfast.model.records import StoredAction
from holdfast.runtime.errors import NoAnswer

log = logging.getLogger("holdfast.fleet.controller")
THREADS_EACH = 8
IDLE_SECONDS = 1.0
TESTED_AFTERWARDS = frozenset({Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT, Verb.RETEST})


class Actor:
    def __init__(self, writer: Writer, backends: Backends) -> None:
        self._writer, self._backends = writer, backends
        self._wake = asyncio.Event()
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._queues: dict[str, deque[StoredAction]] = {}  # node -> its actions; the first one is running
        self._known: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        while True:
            self._wake.clear()
            more = await self._claim()
            if not more:
                with suppress(TimeoutError):
                    async with asyncio.timeout(IDLE_SECONDS):  # wait_for can swallow a cancellation in 3.11
                        await self._wake.wait()

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

    @property
    def busy(self) -> bool:
        return bool(self._known)

    async def _claim(self) -> bool:
        try:
            claimed: Claimed = await self._writer.ask(ReportWork(partial(claims.claim, self._backends.agent_verbs)))
        except Problem:
            return False  # another controller leads, or the store is unavailable; the next round tries again
        for stored in claimed:
            self._enqueue(stored)
        return len(claimed) == claims.MOST_CLAIMED

    def _enqueue(self, stored: StoredAction) -> None:
        if stored.id in self._known:
            return  # the lease expired while the action runs
        self._known.add(stored.id)
        waiting = self._queues.setdefault(stored.action.node, deque())
        waiting.append(stored)
        if len(waiting) == 1:
            task = asyncio.create_task(self._work_off(stored.action.node, waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work_off(self, node: str, waiting: deque[StoredAction]) -> None:
        while waiting:
            stored = waiting[0]
            try:
                await self._work_on(stored)
            except Exception:
                log.exception("action %d failed with an internal error; it will be claimed again", stored.id)
            finally:
                self._known.discard(stored.id)
                waiting.popleft()
        del self._queues[node]

    async def _work_on(self, stored: StoredAction) -> None:
        performed = await self._close(stored)
        if performed is None and stored.action.verb in self._backends.agent_verbs:
            with suppress(Problem):  # another controller leads now and claims the action
                await self._writer.ask(ReportWork(partial(claims.give, stored)))
            return
        performed = performed or await self._perform(stored)
        if performed is None:
            log.warning("action %d is left to the new leader: our lease expired", stored.id)
            return
        log.info("%s %s: %s", stored.action.verb.value, stored.action.node, performed.message)
        try:
            await self._writer.ask(ReportWork(partial(claims.end, stored, performed)))
        except Problem as problem:
            log.warning("the outcome of action %d was not stored: %s", stored.id, problem)

    async def _close(self, stored: StoredAction) -> ActionOutcome | None:
        """Checks the node once more right before a repair step, because an administrator may have resumed it since the
        drain was confirmed. Returns why the step must not run, or None."""
        scheduler, action = self._backends.scheduler, stored.action
        if action.verb not in RESETS or scheduler is None or self._writer.dry_run(action.node):
            return None
        threads = self._threads_of(scheduler)
        why = await asyncio.get_running_loop().run_in_executor(threads, self._close_if_leading, scheduler, action)
        return not_now(why) if why else None

    def _close_if_leading(self, scheduler: Scheduler, action: Action) -> str:
        return close_for_repair(scheduler, action) if self._writer.leads_surely else "another controller leads"

    async def _perform(self, stored: StoredAction) -> ActionOutcome | None:
        backend = self._backends.of(stored.action.verb)
        dry_run = self._writer.dry_run(stored.action.node)
        loop = asyncio.get_running_loop()
        if not backend.idempotent and not dry_run and not await self._begin(stored):
            return None
        return await loop.run_in_executor(self._threads_of(backend), self._if_leading, backend, stored, dry_run)

    async def _begin(self, stored: StoredAction) -> bool:
        """Commits the mark "begun" before the action runs. After a crash the next leader then knows that it may have
        run."""
        try:
            begun: bool = await self._writer.ask(ReportWork(partial(claims.begin, stored)))
        except Problem as problem:
            log.warning("action %d was not started: %s", stored.id, problem)
            return False
        return begun

    def _if_leading(self, backend: Backend, stored: StoredAction, dry_run: bool) -> ActionOutcome | None:
        """Checks the lease right before the action runs, because a process that was paused continues in the middle of
        its work.

        If the lease is renewed in time, the action is due again soon: a drain must not wait until its claim expires. An
        action that an earlier leader began keeps its mark and waits until then.
        """
        if not self._writer.leads_surely:
            return None if stored.may_have_run else not_now("waits: the lease of this controller is about to expire")
        if stored.may_have_run and not backend.idempotent and not dry_run:
            resolved = resolve(backend, stored.action)
            if resolved is not None:
                return resolved
        return _perform(backend, stored, dry_run)

    def _threads_of(self, backend: Backend) -> ThreadPoolExecutor:
        if backend.name not in self._threads:
            self._threads[backend.name] = ThreadPoolExecutor(THREADS_EACH, thread_name_prefix=backend.name)
        return self._threads[backend.name]


def close_for_repair(scheduler: Scheduler, action: Action) -> str:
    """Why a repair step must not begin; '' if its node is closed and empty."""
    try:
        return scheduler.close_for_repair(action)
    except NoAnswer as error:
        return f"waits for {scheduler.name}: {error}"


def resolve(backend: Backend, action: Action) -> ActionOutcome | None:
    """The outcome of an action that may have run already; None if it did not run, so that it is performed now."""
    try:
        did_run = backend.did_run(action)
    except Exception:
        log.exception("the back end %s failed", backend.name)
        did_run = None
    if did_run is False:
        return None
    if did_run:
        return done(f"{action.verb.value} of {action.node} was carried out, although there was no answer")
    why = f"{action.verb.value} of {action.node} may have run, but there was no answer; it is not repeated"
    if action.verb in TESTED_AFTERWARDS:
        return replace(done(f"{why}: the test of the node decides"), uncertain=True)
    return replace(failed(f"{why}: look at the node, and ask again", retryable=False), uncertain=True)


def _perform(backend: Backend, stored: StoredAction, dry_run: bool) -> ActionOutcome:
    """A failed action of a back end that is not idempotent may have run, unless its outcome says that it did not."""
    try:
        outcome = backend.perform(stored.action, dry_run)
    except Exception as error:
        log.exception("the back end %s raised an unexpected error", backend.name)
        outcome = failed(f"the back end {backend.name} raised an unexpected error: {error}", retryable=False)
    known = backend.idempotent or outcome.not_begun or outcome.result is not ActionResult.FAILED
    return replace(outcome, may_have_run=not known)
