"""Connects the agent to its controller: builds reporter, order handler and their parts from the settings."""

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from holdfast.model.assets import Part
from holdfast.model.settings import Settings
from holdfast.model.signal import Event, Reading
from holdfast.model.subject import Subject
from holdfast.model.wire import digest
from holdfast.model.wire.keeper import KeeperReport
from holdfast.model.wire.report import OrderOutcome
from holdfast.node.agent import assets
from holdfast.node.agent.clock import AgentClock
from holdfast.node.agent.node import CheckChange, Node
from holdfast.node.agent.orders.closed import ClosedMark
from holdfast.node.agent.orders.gpu_reset import DriverGate, reset_gpu
from holdfast.node.agent.orders.gpu_situation import situation
from holdfast.node.agent.orders.handler import Order, OrderAction, OrderHandler
from holdfast.node.agent.orders.prober import Prober
from holdfast.node.agent.orders.reboot import boot_id, reboot
from holdfast.node.agent.orders.retest import retest
from holdfast.node.agent.reporting.connection import ControllerLink
from holdfast.node.agent.reporting.enrolment import Enrolment
from holdfast.node.agent.reporting.jobs import JobsHere
from holdfast.node.agent.reporting.recheck import Recheck
from holdfast.node.agent.reporting.reporter import Reporter
from holdfast.node.agent.reporting.spool import Spool, boot_mark, session_of
from holdfast.node.sources.jobs.socket import JobSocketSource

SETTLED_SECONDS = 60.0  # after this time a restarted agent has read the old kernel lines


class Reporting:
    """Called from the evaluation thread; never blocks it."""

    def __init__(
        self,
        settings: Settings,
        node: Node,
        guard: threading.Lock,
        clock: AgentClock,
        gate: DriverGate,
        read_now: Callable[[Collection[str]], set[str]],
        progress: JobSocketSource | None = None,
    ) -> None:
        directory, controller, name = Path(settings.agent.state_dir), settings.controller, node.census.node
        self._node, self._guard, self._clock = node, guard, clock
        self._started_at = clock.now()
        self._events: list[Event] = []
        self._jobs = JobsHere(clock.now)
        self._recheck = Recheck(self._doubted_sources, read_now, clock.now)
        self._progress = progress
        self._kept_sent: tuple[tuple[str, ...], tuple[KeeperReport, ...]] = ((), ())
        boot = boot_mark(boot_id(settings.roots.proc))
        spool = Spool(directory / "spool.jsonl", self._started_at, boot=boot)
        self._was_sent_before = spool.had_taken()
        enrolment = Enrolment(
            node=name,
            pool=controller.pool,
            place=controller.place,
            twin=settings.agent.twin,
            credential_file=Path(controller.credential_file or directory / "credential"),
            join_token_file=controller.join_token_file,
        )
        link = ControllerLink(controller.url, controller.ca_file, controller.timeout_seconds, controller.standby_urls)
        session = session_of(self._started_at, boot)
        self._reporter = Reporter(
            name,
            session,
            spool,
            link,
            enrolment,
            clock.now,
            self._digest,
            twin=settings.agent.twin,
            jobs=self._jobs.seen,
            progress=progress.take if progress else tuple,
            unsaved=lambda: self._kept()[0],
            keepers=lambda: self._kept()[1],
            parts=partial(self._parts, settings.roots.sys),
        )
        prober = Prober(name, self._held_by, settings.agent.verdict_file, self._reporter.answer)
        actions = {
            "probe": prober.action(),
            "retest": self._without_jobs(retest(settings, self._recheck.take)),
            "reboot": reboot(settings),
            "reset_gpu": reset_gpu(settings, name, gate, lambda: situation(node, guard, settings, clock.now())),
        }
        self._orders = OrderHandler(
            actions, controller.obeys, directory / "orders.jsonl", clock.now, self._reporter.answer
        )
        self._reporter.on_orders(self._orders.take)
        self._reporter.on_cancelled(prober.cancel)
        self._reporter.on_resend(self._current_verdicts)
        if progress:
            self._reporter.on_flush(progress.have_flushed)
        self._reporter.on_closed(ClosedMark(settings.agent.verdict_file).set)

    @property
    def trouble(self) -> str:
        return self._reporter.trouble

    def start(self) -> None:
        self._orders.start()
        self._reporter.start()

    def stop(self) -> None:
        self._orders.stop()
        self._reporter.stop()

    def record(self, reading: Reading) -> None:
        """Keep events until the inventory can resolve their subject."""
        self._recheck.record(reading)
        self._events += [event for event in reading.events if not self._was_sent(event)]
        reported = reading.source == JobSocketSource.name and (reading.signals or self._kept() != self._kept_sent)
        if self._jobs.record(reading) or reported:
            self._kept_sent = self._kept()
            self._reporter.report_jobs()

    def _kept(self) -> tuple[tuple[str, ...], tuple[KeeperReport, ...]]:
        """Jobs with state that is not in storage, and the copies of their keepers."""
        return (self._progress.unsaved(), self._progress.kept()) if self._progress else ((), ())

    def add(self, changes: list[CheckChange]) -> None:
        inventory = self._node.history.inventory
        events, self._events = self._events, []
        owned = [
            event if event.subject else replace(event, subject=inventory.subject_of(event.device)) for event in events
        ]
        self._reporter.add(changes, owned)
        self._recheck.evaluated()

    def _without_jobs(self, action: OrderAction) -> OrderAction:
        """Programs of the suite on the GPUs are not a job."""

        def carry_out(order: Order, now: float) -> OrderOutcome:
            with self._jobs.testing():
                return action.perform(order, now)

        return replace(action, perform=carry_out)

    def _held_by(self) -> list[str]:
        return [job.id for job in self._jobs.seen() or ()]

    def _doubted_sources(self) -> set[str]:
        with self._guard:
            return self._node.doubted_sources()

    def _current_verdicts(self) -> list[CheckChange]:
        with self._guard:
            return self._node.current_verdicts(self._clock.now())

    def _was_sent(self, event: Event) -> bool:
        starting = self._clock.now() - self._started_at < SETTLED_SECONDS
        return starting and self._was_sent_before(event)

    def _parts(self, sys_root: str) -> tuple[Part, ...]:
        with self._guard:
            signals = self._node.history.latest()
        return assets.parts(sys_root, signals)

    def _digest(self) -> bytes:
        with self._guard:
            now, history = self._clock.now(), self._node.history

            def read(subject: Subject, name: str) -> float | None:
                value = history.freshest(subject, name, now)
                return value if isinstance(value, int | float) else None

            return digest.pack(self._node.census.node, read)
