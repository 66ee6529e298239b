"""Rendezvous of supervisors through a c10d store that the leader serves. Needs torch."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import msgspec
from torch._C._distributed_c10d import TCPStore
from torch.distributed import DistError

from holdfast.runtime import codec
from holdfast.runtime.listener import listen
from holdfast.runtime.threads import CallThread, CallTimeout
from holdfast.supervisor.nodes.admission import LeaderAdmission, NodeClaim, Signer, new_nonce
from holdfast.supervisor.nodes.rendezvous import AttemptMembers, LeaderLost
from holdfast.supervisor.nodes.report import AttemptEnd, AttemptPlan, AttemptReport

T = TypeVar("T")
_ANSWER = timedelta(seconds=10)
_SPARES_SECONDS = 3.0  # for spares, once the most that take part have joined
_LAST_CALL_SECONDS = 30.0  # for more nodes, once the fewest have joined; torchrun waits as long
_REPORT_SECONDS = 60.0  # a member that is alive but does not report
_TRAINING_PORT = 1  # above the store's, and one higher with every attempt
_PORTS = 50


@dataclass(frozen=True, slots=True)
class Size:
    """How many nodes take part: at least and at most."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class StoreTimeouts:
    assembly_seconds: float = 600.0
    lost_seconds: float = 15.0  # without a heartbeat
    heartbeat_seconds: float = 1.0
    poll_seconds: float = 0.25


class C10dRendezvous:
    def __init__(
        self, node: str, store: str, secret: bytes, size: Size, timeout: StoreTimeouts, *, leads: bool,
        notify: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.leads = leads
        self._node, self._size, self._timeout = node, size, timeout
        self._host, _, port = store.rpartition(":")
        self._port = int(port)
        self._claim_signer = Signer(secret)
        session = new_nonce() if leads else ""
        self._signer = self._claim_signer.of_session(session)
        self._admission = LeaderAdmission(self._claim_signer, session, notify)
        self._store = self._connect(server=leads)
        self._thread = CallThread()  # a store behind a dead link never answers, whatever its timeout
        self._heartbeats: dict[str, tuple[bytes, float]] = {}
        self._answered = time.monotonic()
        self._closing = threading.Event()
        self._heart = threading.Thread(target=self._beat, args=(self._connect(server=False),), daemon=True)

    def _connect(self, *, server: bool) -> TCPStore:
        timeout = timedelta(seconds=self._timeout.assembly_seconds)
        listener = listen(self._host, self._port).detach() if server else None
        store = TCPStore(
            self._host, self._port, is_master=server, timeout=timeout, wait_for_workers=False, master_listen_fd=listener
        )
        store.set_timeout(_ANSWER)
        return store

    def _beat(self, store: TCPStore) -> None:
        key, count = f"heartbeat/{self._node}", 0
        while not self._closing.wait(self._timeout.heartbeat_seconds):
            count += 1
            with contextlib.suppress(DistError):  # the main thread sees it too and decides what it means
                store.set(key, self._signer.seal(key, str(count).encode()))
                if self.leads:
                    self._admission.step(store)

    def assemble(self) -> None:
        if not self.leads:
            self._join()
            self._heart.start()
            return
        self._heart.start()
        start = time.monotonic()
        while len(self._joined()) < self._size.most:
            waited = time.monotonic() - start
            if len(self._joined()) >= self._size.least and waited > _LAST_CALL_SECONDS:
                return
            if waited > self._timeout.assembly_seconds:
                have = ", ".join(self._joined())
                raise LeaderLost(
                    f"only {have} joined within {self._timeout.assembly_seconds:.0f} s; "
                    f"expected {self._size.least} nodes with the same job secret"
                )
            time.sleep(self._timeout.poll_seconds)
        time.sleep(_SPARES_SECONDS)

    def _join(self) -> None:
        number, nonce = self._ask(lambda: self._store.add("joined", 1)), new_nonce()
        self._set(f"member/{number}", msgspec.json.encode(NodeClaim(self._node, nonce)), self._claim_signer)
        welcome, refused = f"welcome/{nonce}", f"refused/{number}"
        while (session := self._get(welcome, self._claim_signer)) is None:
            if self._ask(lambda: self._store.check([refused])):
                raise LeaderLost(
                    f"the leader at {self._host}:{self._port} has another job secret: put the same file on every node "
                    "and name it in HOLDFAST_JOB_SECRET_FILE, or give all nodes the same --folder"
                )
            time.sleep(self._timeout.poll_seconds)
        self._signer = self._claim_signer.of_session(session.decode())
        self._set(f"hello/{number}", self._node.encode(), self._signer)

    def _joined(self) -> list[str]:
        """The leader first, so that rank 0 and its progress lines are where decisions are made."""
        return [self._node, *(name for name in self._admission.names if name != self._node)]

    def select_members(self, excluded: Sequence[str]) -> AttemptMembers:
        gone = {*excluded, *self.lost(self._joined())}
        chosen = tuple(name for name in self._joined() if name not in gone)[: self._size.most]
        if len(chosen) < self._size.least:
            raise LeaderLost(f"only {', '.join(chosen) or 'no node'} can take part; expected {self._size.least} nodes")
        attempt = self._ask(lambda: self._store.add("attempt", 1))
        return AttemptMembers(chosen, self._host, self._port + _TRAINING_PORT + attempt % _PORTS)

    def can_lose(self, excluded: Sequence[str], members: Sequence[str]) -> int | None:
        away = {*excluded, *members, *self.lost(self._joined())}
        spares = len([name for name in self._joined() if name not in away])
        return spares + max(len(members) - self._size.least, 0)

    def announce(self, plan: AttemptPlan) -> None:
        self._set(f"plan/{plan.number}", msgspec.json.encode(plan), self._signer)

    def next_plan(self, after: int) -> AttemptPlan:
        while True:
            found = self._get(f"plan/{after + 1}", self._signer)
            if found is not None:
                return codec.decode(found, AttemptPlan)
            time.sleep(self._timeout.poll_seconds)

    def ended_elsewhere(self, number: int) -> AttemptEnd | None:
        found = self._get(f"end/{number}", self._signer)
        end = codec.decode(found, AttemptEnd) if found is not None else None
        return end if end is not None and end.node != self._node else None

    def announce_end(self, number: int, end: AttemptEnd) -> None:
        """The first one stays."""
        key = f"end/{number}"
        if self._get(key, self._signer) is None:
            self._set(key, msgspec.json.encode(end), self._signer)

    def lost(self, members: Sequence[str]) -> dict[str, float]:
        now = time.monotonic()
        for name in members:
            beat = self._get(f"heartbeat/{name}", self._signer) or b""
            if self._heartbeats.get(name, (None, 0.0))[0] != beat:
                self._heartbeats[name] = (beat, now)
        silent = {name: now - self._heartbeats[name][1] for name in members if name != self._node}
        return {name: seconds for name, seconds in silent.items() if seconds > self._timeout.lost_seconds}

    def send_report(self, number: int, report: AttemptReport) -> None:
        self._set(f"report/{number}/{self._node}", msgspec.json.encode(report), self._signer)

    def reports(self, number: int, members: Sequence[str]) -> list[AttemptReport]:
        waiting, found = [name for name in members if name != self._node], []
        deadline = time.monotonic() + _REPORT_SECONDS + self._timeout.lost_seconds
        while waiting and time.monotonic() < deadline:
            for name in list(waiting):
                report = self._get(f"report/{number}/{name}", self._signer)
                if report is not None:
                    found.append(codec.decode(report, AttemptReport))
                    waiting.remove(name)
            lost = self.lost(waiting)
            waiting = [name for name in waiting if name not in lost]
            time.sleep(self._timeout.poll_seconds)
        return found

    def _set(self, key: str, value: bytes, signer: Signer) -> None:
        self._ask(lambda: self._store.set(key, signer.seal(key, value)))

    def _get(self, key: str, signer: Signer) -> bytes | None:
        """The message; None if it is missing or was written without the job's secret."""
        sealed = self._ask(lambda: self._store.get(key) if self._store.check([key]) else None)
        return None if sealed is None else signer.open(key, sealed)

    def _ask(self, question: Callable[[], T]) -> T:
        """Asks the store. A leader that does not answer for long is lost."""
        while True:
            try:
                answer = self._thread.run(question, self._timeout.lost_seconds)
            except CallTimeout:
                raise LeaderLost(self._silent()) from None
            except DistError:
                if time.monotonic() - self._answered > self._timeout.lost_seconds:
                    raise LeaderLost(self._silent()) from None
                time.sleep(self._timeout.poll_seconds)
                continue
            self._answered = time.monotonic()
            return answer

    def _silent(self) -> str:
        return f"the leader at {self._host}:{self._port} does not answer"

    def close(self) -> None:
        """Closes the store. The leader first waits until the others have read the end of the run."""
        self._closing.set()
        if self.leads:
            time.sleep(4 * self._timeout.poll_seconds)


def leads_by_scheduler() -> bool:
    """Whether this is the first node according to Slurm or an indexed Kubernetes Job."""
    return "0" in (os.environ.get("SLURM_NODEID"), os.environ.get("JOB_COMPLETION_INDEX"))
