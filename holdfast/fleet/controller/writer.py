"""The one writer: a thread that owns the store, the lease and the fleet's decisions.

It takes all waiting work as one batch, records the reports, decides, and commits everything together. Callers get their
answers after the commit. If a commit fails, the writer drops its decisions and reads the fleet from the store again.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from secrets import token_hex
from typing import Any

from holdfast.fleet.api.problem import Problem, busy, elsewhere
from holdfast.fleet.controller.lead import Lead
from holdfast.fleet.controller.orders import PendingOrders
from holdfast.fleet.controller.transaction import News, ReportWork, Transaction
from holdfast.fleet.controller.work_queue import WorkQueue
from holdfast.fleet.decisions.change_filter import ChangeFilter
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import StaleEpoch, Store, StoreError
from holdfast.fleet.store.errors import public
from holdfast.model.incident import IncidentState
from holdfast.runtime import clock
from holdfast.runtime.clock import SteadyClock
from holdfast.runtime.components import Components, described

log = logging.getLogger("holdfast.fleet.controller")
MOST_WAITING = 4_000
ENOUGH_FAILURES = 3
DECISIONS = "decisions"  # component name for decisions about single nodes
TICK_SECONDS = 1.0
COMMIT_SECONDS = 0.02  # shortest time between commits; a commit costs more than a report, so reports share one
JOB_HISTORY_SECONDS = 365 * 86_400.0  # how far back failed jobs are read; their weight halves in this time
MOST_JOBS_READ = 50_000
PROBE_KEY_BYTES = 16
CLOCK_TOLERATED_SECONDS = 60.0
SWEEP_SECONDS = 10.0  # how often all nodes are checked for missing reports


class ComponentError(Exception):
    """An error that belongs to one component, not to the batch: (component, exception)."""


class Writer:
    def __init__(
        self,
        store: Store,
        policy: Policy,
        lead: Lead,
        on_news: Callable[[News], None],
        *,
        scheduled: bool = False,
        clock: SteadyClock = clock.now,
        components: Components | None = None,
    ) -> None:
        """`on_news` is called in this thread with the changes of every batch."""
        self.policy = policy  # a reload replaces it; the next batch uses the new one
        self._store, self._lead, self._on_news, self._clock = store, lead, on_news, clock
        self._scheduled = scheduled
        self._components = components or Components()
        self._queue = WorkQueue()
        self._fleet: Fleet | None = None
        self._orders = PendingOrders()
        self._reported = ChangeFilter()
        self._next_commit = 0.0
        self._stopping = threading.Event()
        self._next_tick = self._next_sweep = 0.0
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    # Called from the event loop

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def leads_surely(self) -> bool:
        return self._lead.sure

    def dry_run(self, node: str) -> bool:
        """Whether actions on this node are only reported, not run. While the fleet is not loaded, a dry run of any pool
        applies."""
        if (fleet := self._fleet) is not None:
            return fleet.dry_run(node)
        return self.policy.dry_run or any(pool.dry_run for pool in self.policy.pools.values())

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._queue.put(ReportWork(lambda transaction, fresh: None))
        self._thread.join(timeout=10)

    def put(self, work: ReportWork) -> None:
        """Queues work. Raises Problem 503 if too much waits; reports then stay in the agents' spools. Failures,
        commands and outcomes of actions have a reserve: an action without its outcome stays claimed for a minute."""
        most = 2 * MOST_WAITING if work.urgent else MOST_WAITING
        if self.waiting >= most:
            raise busy(f"{most} requests wait for the store already; try again")
        self._queue.put(work)

    async def ask(self, work: ReportWork) -> Any:
        """Queues work and waits for its result, which comes after the commit."""
        work.future = asyncio.get_running_loop().create_future()
        self.put(work)
        return await work.future

    # Runs in the writer's thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._round()
            except StoreError as error:
                self._components.failed("store", error)
                self._give_up(str(error))
            except Exception as error:  # noqa: BLE001  noted with its traceback
                self._note(error)
                self._give_up("internal error")
        with suppress(StoreError):  # without this, the lease expires by itself
            self._lead.resign(self._store)

    def _note(self, error: Exception) -> None:
        component, cause = error.args if isinstance(error, ComponentError) else ("writer", error)
        log.error("%s failed; the writer reads the fleet again and continues", component, exc_info=cause)
        self._components.failed(component, cause)

    def _round(self) -> None:
        if self._lead.keep(self._store):
            self._fleet = None
            self._log_leader()
        if self._lead.epoch is not None and self._fleet is None:
            self._store.adopt(self._lead.epoch)
            self._fleet = self._loaded()
            self._orders = PendingOrders()
            self._publish_everything(self._fleet)
        self._store.prepare(self._clock())
        batch = self._gather()
        if self._fleet is None or self._lead.epoch is None:
            self._refuse(batch, elsewhere(self._lead.leader))
            return
        self._fleet.policy = self.policy
        if batch:
            self._write(batch, self._fleet, self._lead.epoch)

    def _give_up(self, why: str) -> None:
        log.warning("the store could not be used: %s", why)
        self._fleet = None
        self._refuse(self._queue.batch(), busy(f"could not be stored: {public(StoreError(why))}"))
        self._stopping.wait(0.5)

    def _gather(self) -> list[ReportWork]:
        if self._fleet is not None and self._clock() >= self._next_tick:
            self._next_tick = self._clock() + TICK_SECONDS
            return [ReportWork(_tick, component="timers"), *self._queue.batch()]
        if not self._queue.wait(0.2):
            return []
        self._stopping.wait(self._next_commit - time.monotonic())
        self._next_commit = time.monotonic() + COMMIT_SECONDS
        return self._queue.batch()

    def _write(self, batch: list[ReportWork], fleet: Fleet, epoch: int, *, again: bool = True) -> None:
        """Retries a batch that the store refuses. Most failures are short, and one commit per command would take longer
        than the lease."""
        began = time.monotonic()
        try:
            transaction, results = self._attempt(batch, fleet, epoch)
        except StaleEpoch:
            self._lead.lost()
            self._refuse(batch, busy("another controller took the lead; try again", 1))
            raise
        except Exception as error:
            if len(batch) == 1:
                self._refuse(
                    batch, busy(f"could not be stored: {public(error)}") if isinstance(error, StoreError) else error
                )
                if not isinstance(error, StoreError):
                    raise ComponentError(batch[0].component, error) from error
                raise
            again = again and isinstance(error, StoreError)
            log.warning(
                "a batch of %d failed (%s); %s retried", len(batch), error, "it is" if again else "each request is"
            )
            if again:
                self._write(batch, self._loaded_for(batch), epoch, again=False)
            else:
                self._alone(batch, epoch)
            return
        self._publish(transaction, batch, results, time.monotonic() - began)
        for component in {"store", "writer", *(work.component for work in batch)}:
            self._components.succeeded(component)
        self._note_decisions(fleet)

    def _note_decisions(self, fleet: Fleet) -> None:
        """Reports decisions about single nodes that raised an exception. The rest of the batch is stored."""
        for name, error in fleet.timers.take_raised().items():
            log.error("a decision about %s failed; the other nodes are decided as usual", name, exc_info=error)
            self._components.failed(DECISIONS, f"{name}: {described(error)}")
        if not fleet.timers.failing:
            self._components.succeeded(DECISIONS)

    def _alone(self, batch: list[ReportWork], epoch: int) -> None:
        """Stores each command on its own, so that one bad command does not block the others. Several failures in a row
        mean that the store itself fails."""
        self._fleet = None  # drops the decisions of the failed batch
        failed = 0
        for number, work in enumerate(batch):
            try:
                if self._lead.keep(self._store):
                    raise StaleEpoch(epoch, self._lead.epoch)
                self._write([work], self._fleet or self._loaded_for([work]), epoch)
                failed = 0
            except StaleEpoch:
                self._refuse(batch[number:], busy("another controller took the lead; try again", 1))
                raise
            except Exception as error:  # noqa: BLE001  noted with its traceback
                if isinstance(error, StoreError):
                    log.warning("a single request could not be stored either: %s", error)
                else:
                    self._note(error)
                self._fleet = None
                failed += 1
                if failed == ENOUGH_FAILURES:
                    why = public(error) if isinstance(error, StoreError) else "a mistake of our own"
                    self._refuse(batch[number:], busy(f"could not be stored: {why}"))
                    return

    def _loaded(self) -> Fleet:
        """The stored fleet. Reading it may take longer than a lease, so the lease is renewed meanwhile."""
        with self._lead.renewed(self._store):
            return self._load()

    def _loaded_for(self, batch: Sequence[ReportWork]) -> Fleet:
        """Drops decisions that could not be stored by reading the fleet again. Callers get an answer even if that
        fails."""
        self._fleet = None
        try:
            self._fleet = self._loaded()
        except StoreError as error:
            self._refuse(batch, busy(f"could not be stored: {public(error)}"))
            raise
        return self._fleet

    def _attempt(self, batch: list[ReportWork], fleet: Fleet, epoch: int) -> tuple[Transaction, list[Any]]:
        transaction = Transaction(self._store, fleet, self._orders, epoch, self._clock())
        with self._store.together():
            refusals = [fleet.too_many_checks(work.reports) for work in batch]
            reports = [report for work, why in zip(batch, refusals, strict=True) if not why for report in work.reports]
            fresh = iter(self._store.record(reports, transaction.now) if reports else ())
            results = [
                Problem(400, why) if why else _do(work, transaction, list(islice(fresh, len(work.reports))))
                for work, why in zip(batch, refusals, strict=True)
            ]
            transaction.incidents = fleet.incidents.take_changed()
            self._store.save_incidents(transaction.incidents, epoch)
            self._store.save_proofs(fleet.probing.take_new())
            self._store.transit_all(transaction.steps, epoch)  # even without steps: it checks that we still lead
            self._store.write_audit(transaction.audit)
            self._store.forget_nodes(sorted(transaction.forgotten), transaction.now)
        return transaction, results

    # Publishes results to the board and to callers

    def _publish(self, transaction: Transaction, batch: list[ReportWork], results: list[Any], seconds: float) -> None:
        fleet, now = transaction.fleet, transaction.now
        touched: Iterable[str] = transaction.touched | {step.node.name for step in transaction.steps}
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            touched = fleet.nodes.keys()
        self._on_news(
            News(
                answers=[(w.future, r) for w, r in zip(batch, results, strict=True) if w.future is not None],
                lives=self._reported.changed(fleet, touched, now),
                steps=transaction.steps,
                incidents=transaction.incidents,
                reported=transaction.reported,
                forgotten=transaction.forgotten,
                ended=transaction.ended,
                commit_seconds=seconds,
                now=now,
                leader=self._lead.leader,
                leading=True,
            )
        )

    def _refuse(self, batch: Sequence[ReportWork], why: Exception) -> None:
        answers = [(work.future, why) for work in batch if work.future is not None]
        if answers:
            self._on_news(News(answers=answers, leader=self._lead.leader, leading=self._fleet is not None))

    def _log_leader(self) -> None:
        log.info("this controller %s", "leads" if self._lead.epoch is not None else "is a standby")
        self._on_news(News(leader=self._lead.leader, leading=self._lead.epoch is not None))

    def _publish_everything(self, fleet: Fleet) -> None:
        now, self._reported = self._clock(), ChangeFilter()
        self._on_news(
            News(
                lives=self._reported.changed(fleet, fleet.nodes, now),
                now=now,
                everything=True,
                leader=self._lead.leader,
                leading=True,
            )
        )

    def _load(self) -> Fleet:
        """The fleet as last committed. It only reads, because the lease is renewed meanwhile."""
        fleet = Fleet(
            self.policy,
            self._store.nodes(),
            self._store.verdicts(),
            incidents=self._store.incidents(IncidentState.OPEN, most=None),
            proofs=self._store.proofs(self._clock() - self.policy.probes.period_seconds),
            scheduled=self._scheduled,
            new_key=partial(token_hex, PROBE_KEY_BYTES),
        )
        fleet.last_report_at.update(self._store.heartbeats())
        self._continue_from(
            max([*fleet.last_report_at.values(), *(node.since for node in fleet.nodes.values())], default=0.0)
        )
        fleet.note_jobs(self._store.jobs(None, self._clock() - JOB_HISTORY_SECONDS, MOST_JOBS_READ))
        return fleet

    def _continue_from(self, newest: float) -> None:
        """Continues from the newest stored time. Otherwise, after a clock was set back, timers would stand still."""
        ahead = self._clock.at_least(newest)
        if ahead > CLOCK_TOLERATED_SECONDS:
            why = f"the machine's clock is {ahead:.0f} s behind the newest stored time; timers continue from that"
            log.warning("%s", why)
            self._components.failed("clock", why)


def _do(work: ReportWork, transaction: Transaction, fresh: Sequence[bool]) -> Any:
    """Runs one command. A refused request is an answer, not a failure of the batch, because it wrote nothing."""
    try:
        return work.do(transaction, fresh)
    except Problem as problem:
        return problem


def _tick(transaction: Transaction, fresh: Sequence[bool]) -> None:
    transaction.decide(transaction.fleet.tick(transaction.now))
