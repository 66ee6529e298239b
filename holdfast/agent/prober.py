"""Meeting another node on the fabric when told to: in a process of its own, let go of within a second when the node is
wanted. Whatever keeps it from measuring is "set-up failed", and says nothing about the fabric.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from holdfast.agent.orders import Deed, Order, refused
from holdfast.model.probe import ProbeAsk
from holdfast.model.report import LONGEST_TEXT, OrderOutcome
from holdfast.probes.crew import Worker
from holdfast.probes.hosts import Host

log = logging.getLogger("holdfast.agent")
LOOK_SECONDS = 0.2  # how often it is looked whether somebody wants the node
BUDGET_SECONDS = 1.0  # of repeated exchanges


class Prober:
    def __init__(self, jobs: Callable[[], Sequence[str]], verdict_file: str, python: str = sys.executable) -> None:
        """`jobs`: who holds this node's GPUs. A prolog that removes the mark ends the probe, without any clock."""
        self._jobs, self._python = jobs, python
        self._mark = Path(verdict_file).with_suffix(".probing")
        self._cancelled: set[int] = set()

    def deed(self) -> Deed:
        return Deed(perform=self.perform, repeatable=True)

    def cancel(self, numbers: Sequence[int]) -> None:
        self._cancelled.update(numbers)

    def perform(self, order: Order, now: float) -> OrderOutcome:
        ask = order.probe
        if ask is None:
            return refused(order, "set-up failed: nobody to meet is named")
        if jobs := self._jobs():
            return refused(order, f"refused: work is here ({', '.join(jobs)[:200]})")
        marked = self._put_mark(order)
        worker = Worker(Host(ask.peer), self._python)
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(order, worker, over, marked), daemon=True)
        watch.start()
        try:
            return replace(self._meet(order, ask, worker), began=now)
        finally:
            over.set()
            watch.join()
            worker.stop()
            self._cancelled.discard(order.id)
            with suppress(OSError):
                self._mark.unlink(missing_ok=True)

    def _meet(self, order: Order, ask: ProbeAsk, worker: Worker) -> OrderOutcome:
        until = time.monotonic() + ask.seconds
        hello = worker.answer(ask.seconds)
        if "error" not in hello:
            worker.ask(_exchange(ask, "nccl" if hello.get("gpus") else "gloo", until - time.monotonic()))
            hello = worker.answer(max(0.1, until - time.monotonic()))
        if why := hello.get("error"):
            wanted = self._wanted(order, marked=False)
            said = wanted or (why if str(why).startswith("set-up failed") else f"set-up failed: {why}")
            return refused(order, str(said)[:LONGEST_TEXT])
        row = hello["rows"][0]
        rate = 0.0 if row["wrong"] else ask.bytes / median(row["seconds"])
        words = f"wrong numbers from rank {row.get('wrong_ranks')}" if row["wrong"] else f"{rate / 1e9:.2f} GB/s"
        return OrderOutcome(
            order=order.id, verb=order.verb, ok=True, reason=f"{words} with {ask.peer}", bytes_per_second=rate
        )

    def _watch(self, order: Order, worker: Worker, over: threading.Event, marked: bool) -> None:
        while not over.wait(LOOK_SECONDS):
            if why := self._wanted(order, marked):
                log.info("the probe with %s ends: %s", order.probe.peer if order.probe else "", why)
                self._cancelled.add(order.id)
                worker.stop()
                return

    def _wanted(self, order: Order, marked: bool) -> str:
        if order.id in self._cancelled:
            return "let go: the node is wanted"
        if jobs := self._jobs():
            return f"let go: work is here ({', '.join(jobs)[:200]})"
        return "let go: work starts here" if marked and not self._mark.exists() else ""

    def _put_mark(self, order: Order) -> bool:
        try:
            self._mark.write_text(f"order {order.id}\n", encoding="utf-8")
        except OSError as error:
            log.warning("%s: %s; a prolog cannot end this probe", self._mark, error.strerror)
            return False
        return True


def _exchange(ask: ProbeAsk, backend: str, seconds: float) -> dict[str, Any]:
    return {
        "do": "exchange",
        "id": 1,
        "rank": ask.rank,
        "world": 2,
        "master": f"{ask.master}:{ask.port}",
        "address": ask.address,
        "backend": backend,
        "operation": "all_reduce",
        "sizes": [ask.bytes],
        "budget_seconds": BUDGET_SECONDS,
        "longest_seconds": seconds,
        "patience_seconds": max(1.0, seconds),
        "spoil": None,
    }
