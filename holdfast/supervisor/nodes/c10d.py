"""Supervisors on several nodes that agree through a c10d store, which the leader holds. Needs torch."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import msgspec
from torch._C._distributed_c10d import TCPStore
from torch.distributed import DistError

from holdfast.supervisor.nodes.rendezvous import LeaderLost
from holdfast.supervisor.nodes.report import Over, Plan, Report
from holdfast.supervisor.patient_thread import PatientThread, Unanswered

T = TypeVar("T")
_BEAT_SECONDS = 1.0
_POLL_SECONDS = 0.25
_ANSWER = timedelta(seconds=10)
_LATE_SECONDS = 3.0  # for spares, once enough have come
_REPORT_SECONDS = 60.0  # a member that is alive but does not report
_TRAINING_PORT = 1  # above the store's, and one higher with every attempt
_PORTS = 50


class Together:
    def __init__(self, node: str, store: str, leads: bool, wanted: int, lost_seconds: float, patience: float) -> None:
        self.leads = leads
        self._node, self._wanted, self._lost_seconds, self._patience = node, wanted, lost_seconds, patience
        self._host, _, port = store.rpartition(":")
        self._port = int(port)
        self._store = self._connect(server=leads)
        self._thread = PatientThread()  # a store behind a dead link answers never, whatever its timeout
        self._members: list[str] = []
        self._heard: dict[str, tuple[bytes, float]] = {}
        self._answered = time.monotonic()
        self._closing = threading.Event()
        self._heart = threading.Thread(target=self._beat, args=(self._connect(server=False),), daemon=True)

    def _connect(self, *, server: bool) -> TCPStore:
        timeout = timedelta(seconds=self._patience)
        store = TCPStore(self._host, self._port, is_master=server, timeout=timeout, wait_for_workers=False)
        store.set_timeout(_ANSWER)
        return store

    def _beat(self, store: TCPStore) -> None:
        count = 0
        while not self._closing.wait(_BEAT_SECONDS):
            count += 1
            try:
                store.set(f"beat/{self._node}", str(count))
            except DistError:  # the main thread sees it too and decides what it means
                continue

    def assemble(self) -> None:
        number = self._ask(lambda: self._store.add("joined", 1))
        self._ask(lambda: self._store.set(f"member/{number}", self._node))
        self._heart.start()
        deadline = time.monotonic() + self._patience
        while self.leads and len(self._joined()) < self._wanted:
            if time.monotonic() > deadline:
                have = ", ".join(self._joined())
                raise LeaderLost(f"only {have} came within {self._patience:.0f} s; expected {self._wanted} nodes")
            time.sleep(_POLL_SECONDS)
        if self.leads:
            time.sleep(_LATE_SECONDS)

    def _joined(self) -> list[str]:
        count = self._ask(lambda: self._store.add("joined", 0))
        names = [text for one in range(1, count + 1) if (text := self._get(f"member/{one}")) is not None]
        others = [name.decode() for name in names if name.decode() != self._node]
        self._members = [self._node, *dict.fromkeys(others)]
        return self._members

    def cast(self, excluded: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
        """The leader first, so that rank 0 and its progress lines are where decisions are made."""
        gone = {*excluded, *self.lost(self._joined())}
        chosen = tuple(name for name in self._members if name not in gone)[: self._wanted]
        turn = self._ask(lambda: self._store.add("turn", 1))
        port = self._port + _TRAINING_PORT + turn % _PORTS
        # torchrun takes each of its options from a variable of this name; MASTER_* is for everybody else
        common = {"PET_NNODES": str(len(chosen)), "PET_MASTER_ADDR": self._host, "PET_MASTER_PORT": str(port)}
        return chosen, {**common, "MASTER_ADDR": self._host, "MASTER_PORT": str(port)}

    def spares(self, excluded: Sequence[str], members: Sequence[str]) -> int | None:
        away = {*excluded, *members, *self.lost(self._joined())}
        return len([name for name in self._members if name not in away])

    def announce(self, plan: Plan) -> None:
        self._ask(lambda: self._store.set(f"plan/{plan.number}", msgspec.json.encode(plan).decode()))

    def next_plan(self, after: int) -> Plan:
        while True:
            found = self._get(f"plan/{after + 1}")
            if found is not None:
                return msgspec.json.decode(found, type=Plan)
            time.sleep(_POLL_SECONDS)

    def over(self, number: int) -> Over | None:
        found = self._get(f"over/{number}")
        said = msgspec.json.decode(found, type=Over) if found is not None else None
        return said if said is not None and said.node != self._node else None

    def tell_over(self, number: int, over: Over) -> None:
        """The first one stays."""
        said = msgspec.json.encode(over).decode()
        self._ask(lambda: self._store.compare_set(f"over/{number}", "", said))

    def lost(self, members: Sequence[str]) -> dict[str, float]:
        now = time.monotonic()
        for name in members:
            beat = self._get(f"beat/{name}") or b""
            if self._heard.get(name, (None, 0.0))[0] != beat:
                self._heard[name] = (beat, now)
        silent = {name: now - self._heard[name][1] for name in members if name != self._node}
        return {name: seconds for name, seconds in silent.items() if seconds > self._lost_seconds}

    def tell(self, number: int, report: Report) -> None:
        said = msgspec.json.encode(report).decode()
        self._ask(lambda: self._store.set(f"report/{number}/{self._node}", said))

    def reports(self, number: int, members: Sequence[str]) -> list[Report]:
        waiting, found = [name for name in members if name != self._node], []
        deadline = time.monotonic() + _REPORT_SECONDS + self._lost_seconds
        while waiting and time.monotonic() < deadline:
            for name in list(waiting):
                text = self._get(f"report/{number}/{name}")
                if text is not None:
                    found.append(msgspec.json.decode(text, type=Report))
                    waiting.remove(name)
            lost = self.lost(waiting)
            waiting = [name for name in waiting if name not in lost]
            time.sleep(_POLL_SECONDS)
        return found

    def _get(self, key: str) -> bytes | None:
        return self._ask(lambda: self._store.get(key) if self._store.check([key]) else None)

    def _ask(self, question: Callable[[], T]) -> T:
        """A leader that does not answer for long is gone, and the decision with it."""
        while True:
            try:
                answer = self._thread.ask(question, self._lost_seconds)
            except Unanswered:
                raise LeaderLost(self._silent()) from None
            except DistError:
                if time.monotonic() - self._answered > self._lost_seconds:
                    raise LeaderLost(self._silent()) from None
                time.sleep(_POLL_SECONDS)
                continue
            self._answered = time.monotonic()
            return answer

    def _silent(self) -> str:
        return f"the leader at {self._host}:{self._port} does not answer"

    def close(self) -> None:
        """The leader stays until the others have read the end."""
        self._closing.set()
        if self.leads:
            time.sleep(4 * _POLL_SECONDS)


def leads_by_scheduler() -> bool:
    """Whether Slurm or an indexed Kubernetes Job calls this the first node."""
    return "0" in (os.environ.get("SLURM_NODEID"), os.environ.get("JOB_COMPLETION_INDEX"))
