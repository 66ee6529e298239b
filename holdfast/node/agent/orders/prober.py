"""Probe sessions with other nodes on the fabric, in separate processes that end within a second when a job needs the
node. A session that cannot measure ends as "set-up failed" and proves nothing about the fabric.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.model.wire.report import OrderOutcome
from holdfast.node.agent.orders.handler import Order, OrderAction, refused

if TYPE_CHECKING:
    from holdfast.node.agent.orders.probe_session import AgentProbeSession

log = logging.getLogger("holdfast.node.agent")
POLL_SECONDS = 0.2  # interval for checking whether a job needs the node
REPORT_SECONDS = 3.0  # between two progress reports of a run


class Prober:
    def __init__(
        self,
        node: str,
        jobs: Callable[[], Sequence[str]],
        verdict_file: str,
        notify: Callable[[OrderOutcome], None] = lambda outcome: None,
        python: str = sys.executable,
    ) -> None:
        """`jobs`: the jobs on this node's GPUs. A prolog that removes the mark ends the probe; no clocks are compared.
        `notify`: receives the progress of a run."""
        self._node, self._jobs, self._notify, self._python = node, jobs, notify, python
        self._mark = Path(verdict_file).with_suffix(".probing")
        self._cancelled: set[int] = set()

    def action(self) -> OrderAction:
        return OrderAction(perform=self.perform, repeatable=True)

    def cancel(self, numbers: Sequence[int]) -> None:
        self._cancelled.update(numbers)

    def perform(self, order: Order, now: float) -> OrderOutcome:
        if order.probe is None:
            return refused(order, "set-up failed: no peer is named")
        if jobs := self._jobs():
            return refused(order, f"refused: work is here ({', '.join(jobs)[:200]})")
        from holdfast.node.agent.orders.probe_session import (
            AgentProbeSession,
        )  # imported here: an agent without probe sessions does not need it

        marked = self._put_mark(order)
        session = AgentProbeSession(self._node, order, self._python, self._progress(order))
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(order, session, over, marked), daemon=True)
        watch.start()
        try:
            return replace(self._met(order, session), began=now)
        finally:
            over.set()
            watch.join()
            session.stop()
            self._cancelled.discard(order.id)
            with suppress(OSError):
                self._mark.unlink(missing_ok=True)

    def _met(self, order: Order, session: "AgentProbeSession") -> OrderOutcome:
        outcome = session.hold()
        wanted = self._wanted(order, marked=False)
        return refused(order, wanted) if wanted else outcome

    def _progress(self, order: Order) -> Callable[[str], None]:
        reported_at = 0.0

        def notify(text: str) -> None:
            nonlocal reported_at
            if time.monotonic() - reported_at >= REPORT_SECONDS:
                reported_at = time.monotonic()
                self._notify(OrderOutcome(order=order.id, verb=order.verb, ok=True, reason=text, under_way=True))

        return notify

    def _watch(self, order: Order, session: "AgentProbeSession", over: threading.Event, marked: bool) -> None:
        while not over.wait(POLL_SECONDS):
            if why := self._wanted(order, marked):
                log.info("the probe ends: %s", why)
                self._cancelled.add(order.id)
                session.stop()
                return

    def _wanted(self, order: Order, marked: bool) -> str:
        if order.id in self._cancelled:
            return "stopped: the node is wanted"
        if jobs := self._jobs():
            return f"stopped: work is here ({', '.join(jobs)[:200]})"
        return "stopped: work starts here" if marked and not self._mark.exists() else ""

    def _put_mark(self, order: Order) -> bool:
        try:
            self._mark.write_text(f"order {order.id}\n", encoding="utf-8")
        except OSError as error:
            log.warning("%s: %s; a prolog cannot end this probe", self._mark, error.strerror)
            return False
        return True
