"""The agent daemon: sources on threads, one evaluation thread, /metrics for Prometheus, a verdict file for the gate."""

import logging
import queue
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.model.health import Health
from holdfast.model.settings import Settings
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import node as node_subject
from holdfast.node.agent import rank_notices
from holdfast.node.agent.assemble import census, job_socket, questions, questions_of_itself, sources
from holdfast.node.agent.clock import AgentClock
from holdfast.node.agent.http import serve
from holdfast.node.agent.node import CheckChange, Node
from holdfast.node.agent.once import prepare
from holdfast.node.agent.orders.gpu_reset import DriverGate, gated
from holdfast.node.agent.orders.retest import TestedMark
from holdfast.node.agent.reporting.wiring import Reporting
from holdfast.node.agent.runner import Runner
from holdfast.node.agent.state import ChangeLog, Lock, encode, write_atomically
from holdfast.runtime import threads

log = logging.getLogger("holdfast.node.agent")

WRITE_SECONDS = 15.0  # the verdict file is renewed at least this often; the gate calls 120 s stale
WRITE_IN_TROUBLE_SECONDS = 1.0
SELF_SECONDS = 10.0
WARM_UP_SECONDS = 12.0


class Agent:
    def __init__(self, settings: Settings, on_change: Callable[[CheckChange], None] | None = None) -> None:
        directory = Path(settings.agent.state_dir)
        self._lock = Lock(directory)
        self.settings = settings
        self.clock = AgentClock()
        self.node = Node(census(settings), [*questions(settings, "passive"), *questions_of_itself(settings)])
        gate = DriverGate()
        self._jobs = progress = job_socket(settings)
        chosen = [*gated(sources(settings, "passive"), gate), *([progress] if progress else [])]
        prepare(self.node, chosen)
        self.runner = Runner(chosen, self.clock)
        self.changes = ChangeLog(directory / "changes.jsonl", self.clock.now())
        self._tested = TestedMark(settings.agent.verdict_file)
        self.guard = threading.Lock()  # between the evaluation thread and a scrape
        self._on_change = on_change or _log_change
        self._stop = threading.Event()
        self._written_at = 0.0
        self._self_at = 0.0
        self._file_trouble = ""  # why the verdict file could not be written
        self._unreceived = {source.name for source in chosen}
        self._started_at = self.clock.now()
        self._reporting: Reporting | None = None
        if settings.controller.url:
            self._reporting = Reporting(
                settings, self.node, self.guard, self.clock, gate, self.runner.read_now, progress
            )

    def run(self) -> None:
        """Run until stop() or SIGTERM; returns even while a driver call hangs."""
        self.runner.start()
        if self._reporting:
            self._reporting.start()
        server = serve(self, self.settings.agent.listen) if self.settings.agent.listen else None
        try:
            threads.run_contained("judging", self._evaluate_until_stopped, pause=self._stop.wait)
        finally:
            self.runner.stop()
            if self._reporting:
                self._reporting.stop()
            if server:
                server.shutdown()

    @property
    def kept_changes(self) -> list[CheckChange]:
        return list(self.changes.changes)

    def stop(self) -> None:
        self._stop.set()
        self.runner.readings.put(Reading(source="agent", at=self.clock.now()))

    def _evaluate_until_stopped(self) -> bool:
        if not self._stop.is_set():
            self._evaluate_once()
        return not self._stop.is_set()

    def _evaluate_once(self) -> None:
        """Take new readings, run the affected checks, publish the changes."""
        arrived = self._arrivals()
        self.runner.report_silence()
        now = self.clock.now()
        with self.guard:
            for reading in arrived:
                self._unreceived.discard(reading.source)
                self.node.take(reading)
                if self._reporting:
                    self._reporting.record(reading)
            if now - self._self_at >= SELF_SECONDS:
                self._self_at = now
                self.node.take(self._about_itself(now))
            if self._unreceived and now - self._started_at < WARM_UP_SECONDS:
                return  # before every source was read once, verdicts would be unknown
            changes = self.node.judge(now)
        if self._jobs:
            events = [event for reading in arrived for event in reading.events]
            rank_notices.forward(self._jobs, events, self.node.history.inventory, now)
        if self._reporting:
            self._reporting.add(changes)
        self._publish([reported for change in changes if (reported := self._worth_storing(change))], now)

    def _worth_storing(self, change: CheckChange) -> CheckChange | None:
        """After a start every verdict is new. Report only those that differ from the last stored one."""
        if change.before:
            return change
        last = self.changes.last(change.check)
        known = last.after if last else "pass"
        return None if change.after in (known, "not_applicable", "disabled") else replace(change, before=known)

    def _arrivals(self) -> list[Reading]:
        arrived: list[Reading] = []
        try:
            arrived.append(self.runner.readings.get(timeout=1.0))
            while True:
                arrived.append(self.runner.readings.get_nowait())
        except queue.Empty:
            return arrived

    def _publish(self, changes: list[CheckChange], now: float) -> None:
        for change in changes:
            self._on_change(change)
        self.changes.add(changes, now)
        if self.node.health is Health.FAIL:
            self._tested.withdraw()
        if changes or now - self._written_at >= self._write_every():
            self._written_at = now
            self._file_trouble = write_atomically(Path(self.settings.agent.verdict_file), encode(self.document()))
            if self._file_trouble:
                log.warning("verdict file not written: %s", self._file_trouble)

    def _write_every(self) -> float:
        """Seconds between writes of the verdict file; fewer while a check fails, so that its numbers stay current."""
        return WRITE_SECONDS if self.node.health in (Health.PASS, Health.UNKNOWN) else WRITE_IN_TROUBLE_SECONDS

    def _about_itself(self, now: float) -> Reading:
        me = node_subject(self.node.census.node)
        return Reading(
            source="agent",
            at=now,
            signals=[
                Signal(me, "agent_clock_jump_seconds", round(self.clock.jump_seconds(), 1)),
                Signal(me, "agent_state_trouble", self._trouble()),
                Signal(me, "agent_state_skipped_lines_total", float(self.changes.skipped_lines)),
            ],
        )

    def _trouble(self) -> str:
        return self.changes.trouble or self._file_trouble or (self._reporting.trouble if self._reporting else "")

    def document(self) -> dict[str, Any]:
        """The document behind the gate and /v1/verdicts. `at` is wall time, because readers compare it with their
        clock."""
        return {
            "format": 1,
            "at": time.time(),
            "twin": self.settings.agent.twin,
            **verdict_document(self.node, "passive"),
        }


def verdict_document(node: Node, stage: str) -> dict[str, Any]:
    """The format of `holdfast check --json`, the verdict file and /v1/verdicts."""
    return {
        "node": node.census.node,
        "stage": stage,
        "health": node.health.value,
        "reason": node.reason(),
        "verdicts": [verdict.as_json() for verdict in node.verdicts.values()],
    }


def _log_change(change: CheckChange) -> None:
    log.info("%s: %s -> %s: %s", change.check, change.before or "new", change.after, change.reason)


def run_until_signalled(agent: Agent) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    agent.run()
