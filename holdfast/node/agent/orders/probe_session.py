"""One probe session of this node, as leader or follower. Its result is the outcome of the order."""

import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import msgspec

from holdfast.model.wire.probe import LONGEST_RUN_SECONDS, Participant, SweepRequest
from holdfast.model.wire.report import LONGEST_DOCUMENT, LONGEST_TEXT, OrderOutcome
from holdfast.model.wire.sweep import SweepReport
from holdfast.node.agent.orders.handler import Order, refused
from holdfast.node.agent.sweep_judge import slow_band
from holdfast.node.probes.isolation.fabric_map import by_hosts
from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.sweep import rendezvous as gathering
from holdfast.node.probes.sweep.crew import Crew, SweepWorker
from holdfast.node.probes.sweep.pairs import Pairs
from holdfast.node.probes.sweep.rendezvous import CannotMeet, Gathering
from holdfast.node.probes.sweep.run import ProbeSweepOptions, probe

BUDGET_SECONDS = 1.0  # of repeated exchanges of a pair
LEAST_SECONDS = 1.0
LONGEST_OUTPUT = 300
SET_UP = "set-up failed"
Notify = Callable[[str], None]


class Trouble(Exception):
    """Why a session failed, and which node is at fault."""

    def __init__(self, node: str, why: str) -> None:
        super().__init__(why)
        self.node = node


class AgentProbeSession:
    """`stop` ends it from another thread at any time; `hold` returns or raises soon after."""

    def __init__(self, node: str, order: Order, python: str, notify: Notify) -> None:
        assert order.probe is not None
        self._node, self._order, self._ask, self._python, self._notify = node, order, order.probe, python, notify
        self._until = time.monotonic() + order.probe.seconds
        self._stopped = threading.Event()
        self._ends: list[Callable[[], None]] = []

    def hold(self) -> OrderOutcome:
        try:
            return self._lead() if self._ask.rank == 0 else self._come()
        except (CannotMeet, Trouble) as error:
            words = str(error) if str(error).startswith(SET_UP) else f"{SET_UP}: {error}"
            about = error.node if isinstance(error, Trouble) else ""
            return replace(refused(self._order, words[:LONGEST_TEXT]), about=about)

    def stop(self) -> None:
        self._stopped.set()
        for end in list(self._ends):
            end()

    def _on_stop(self, end: Callable[[], None]) -> None:
        self._ends.append(end)
        if self._stopped.is_set():
            end()

    def _left(self) -> float:
        return max(LEAST_SECONDS, self._until - time.monotonic())

    def _outcome(self, text: str, **more: Any) -> OrderOutcome:
        return OrderOutcome(order=self._order.id, verb=self._order.verb, ok=True, reason=text, **more)

    def _come(self) -> OrderOutcome:
        """The worker talks to the leader. The session ends when the leader closes the connection."""
        ask = self._ask
        line = gathering.come(self._node, ask.master, ask.port, ask.key, ask.seconds, self._stopped.is_set)
        self._on_stop(lambda: gathering.hang_up(line))
        worker = gathering.serve(self._python, line)
        self._on_stop(worker.kill)
        try:
            _, errors = worker.communicate(timeout=LONGEST_RUN_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()
            _, errors = worker.communicate()
        gathering.hang_up(line)
        if worker.returncode:
            last = next((words for words in reversed(errors.splitlines()) if words.strip()), "no output")
            raise CannotMeet(f"the worker died: {last.strip()[:LONGEST_OUTPUT]}")
        return self._outcome(f"met {ask.peer}")

    def _lead(self) -> OrderOutcome:
        ask = self._ask
        asked = ask.participants or (Participant(name=ask.peer),)
        participants = [member for member in asked if member.name != self._node]
        leaf = next((member.leaf for member in asked if member.name == self._node), "")
        place = Gathering(participants, ask.address.partition(",")[0], ask.port, ask.key)
        self._on_stop(place.close)
        own = SweepWorker(Host(self._node), self._python)  # it loads torch while the others connect
        self._on_stop(own.stop)
        lines = place.wait(self._left(), self._notify, self._stopped.is_set)
        own.host = Host(self._node, ask.address or place.address, leaf)
        with Crew([], workers={self._node: own, **lines}) as crew:
            self._on_stop(crew.stop)
            return self._swept(crew, ask.sweep) if ask.sweep else self._paired(crew)

    def _paired(self, crew: Crew) -> OrderOutcome:
        """All rails at once, as in a collective. The slowest counts, because it limits a job."""
        crew.muster(self._left())
        for name, worker in crew.workers.items():
            if worker.trouble:
                raise Trouble(name, worker.trouble)
        gpus = {name: int(worker.facts.get("gpus") or 0) for name, worker in crew.workers.items()}
        backend = "nccl" if all(gpus.values()) else "gloo"
        rails = {name: gpus[name] if backend == "nccl" else one.host.rails for name, one in crew.workers.items()}
        pairs = Pairs(crew, self._exchange(backend), self._left(), rails)
        pairs.measure([(self._node, self._ask.peer)], 1)
        if pairs.errors_by_host:
            name, why = next(iter(pairs.errors_by_host.items()))
            raise Trouble(name if len(pairs.errors_by_host) == 1 else "", why)
        if pairs.wrong:
            slots = ", ".join(slot for _, _, wrong in pairs.wrong for slot in wrong)
            return self._outcome(f"wrong numbers from {slots or 'somebody'}", bytes_per_second=0.0)
        rates = [one.bytes_per_second for one in pairs.measured]
        return self._outcome(f"{_reported(rates)} with {self._ask.peer}", bytes_per_second=min(rates))

    def _exchange(self, backend: str) -> dict[str, Any]:
        return {
            "backend": backend,
            "operation": "all_reduce",
            "sizes": [self._ask.bytes],
            "budget_seconds": BUDGET_SECONDS,
            "longest_seconds": self._left(),
            "timeout_seconds": self._left(),
            "spoil": None,
        }

    def _swept(self, crew: Crew, request: SweepRequest) -> OrderOutcome:
        options = ProbeSweepOptions(
            operation=request.operation,
            backend=request.backend,
            smallest=request.smallest,
            largest=request.largest,
            pair_bytes=request.pair_bytes,
            longest_seconds=request.longest_seconds,
            timeout_seconds=request.timeout_seconds,
        )
        known = by_hosts([worker.host for worker in crew.workers.values()])
        report = probe(crew, options, known, lambda found: slow_band(found, request.fabric, None), self._notify)
        return self._outcome(f"{len(report.hosts)} nodes took part", document=_document(report))


def _reported(rates: list[float]) -> str:
    text = f"{min(rates) / 1e9:.2f} GB/s"
    if len(rates) == 1:
        return text
    return f"{text} over rail {rates.index(min(rates))}, {max(rates) / 1e9:.2f} over the fastest of {len(rates)},"


def _document(report: SweepReport) -> str:
    """The result as JSON. If there are too many pairs for a report, the last ones are left out."""
    text = msgspec.json.encode(asdict(report)).decode()
    while len(text) > LONGEST_DOCUMENT and report.pairs:
        report.pairs = report.pairs[: len(report.pairs) // 2]
        text = msgspec.json.encode(asdict(report)).decode()
    return text
