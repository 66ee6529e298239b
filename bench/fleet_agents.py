"""Simulated agents of a large fleet on one event loop: what they send, when, and over one kept connection each."""

import asyncio
import base64
import math
import os
import random
import ssl
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from itertools import islice
from typing import Any

import msgspec

from holdfast.node.agent.reporting.backoff import Backoff
from holdfast.node.agent.reporting.connection import BUSY, FAILED_SECONDS, MOST_BUSY
from holdfast.node.agent.reporting.reporter import MOST_REPORTS

HEARTBEAT_SECONDS = 30.0
DIGEST_EVERY = 2  # heartbeats
FOLLOW_UPS = (2.0, 5.0, 10.0)  # as the real agent: after news it asks sooner for orders
WORK_SECONDS = 1.0  # what a reset or a test takes here
KERNEL_LINE = "NVRM: Xid (PCI:0000:9b:00): 79, pid=2041, GPU has fallen off the bus."
CHECKS = [f"bench.check_{number}" for number in range(44)]  # as many as a real agent reports
DIGESTS = [base64.b64encode(b"\x01" + os.urandom(256)).decode() for _ in range(16)]


class Order(msgspec.Struct):
    id: int
    verb: str
    suite: str = ""


class Ack(msgspec.Struct):
    accepted: list[bool]
    orders: list[Order] = []


_ack = msgspec.json.Decoder(Ack)


@dataclass
class Tally:
    """What the whole crowd met."""

    latencies: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    failed_at: dict[str, float] = field(default_factory=dict)  # node -> when its failure was sent
    ready: int = 0
    measures_from: float = math.inf  # reports made earlier, in another phase of the bench, are not measured


class Connection(asyncio.Protocol):
    """HTTP/1.1 reduced to what is needed: one request at a time, an answer with a stated length."""

    def __init__(self, answered: Callable[[int, bytes], None], lost: Callable[[], None]) -> None:
        self._answered, self._lost, self._held = answered, lost, b""
        self.transport: asyncio.Transport | None = None
        self.location = ""  # where the last answer sent us

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self._lost()

    def abandon(self) -> None:
        """Closes it; nobody waits for what it may still bring."""
        self._answered, self._lost = lambda status, body: None, lambda: None
        if self.transport is not None:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        held = self._held + data if self._held else data
        head = held.find(b"\r\n\r\n")
        if head < 0:
            self._held = held
            return
        start = held.index(b"content-length: ") + 16
        length = int(held[start : held.index(b"\r\n", start)])
        if len(held) < head + 4 + length:
            self._held = held
            return
        self._held = b""
        self.location = _location(held[:head]) if held[9:12] == b"307" else ""
        self._answered(int(held[9:12]), held[head + 4 : head + 4 + length])


def _location(head: bytes) -> str:
    _, found, rest = head.lower().partition(b"\r\nlocation: ")
    return rest.partition(b"\r\n")[0].decode() if found else ""


@dataclass
class Wire:
    """Where the controller is."""

    host: str
    port: int
    tls: ssl.SSLContext | None

    async def open(self, source: str, answered: Callable[[int, bytes], None], lost: Callable[[], None]) -> Connection:
        loop = asyncio.get_running_loop()
        name = self.host if self.tls else None
        _, made = await loop.create_connection(
            lambda: Connection(answered, lost),
            self.host,
            self.port,
            ssl=self.tls,
            server_hostname=name,
            local_addr=(source, 0),
        )
        return made


def source_of(number: int) -> str:
    """A loopback address per node: a controller accepts half of its connections from one address."""
    return str(IPv4Address("127.1.0.1") + number)


def request(path: str, credential: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: controller\r\ncontent-type: application/json\r\n"
    allowed = f"authorization: Bearer {credential}\r\nholdfast-clock: {time.time():.3f}\r\n" if credential else ""
    return f"{head}{allowed}content-length: {len(body)}\r\n\r\n".encode() + body


class Agent:
    """Numbers its reports, sends what waits in one request and again until it is acknowledged, and does as it is
    ordered.

    It knows every controller. It pauses and goes on from one to the next as the real agent does, and follows one that
    names the leader, unless that has just given no answer.
    """

    def __init__(self, name: str, wires: Sequence[Wire], tally: Tally, source: str) -> None:
        self.name, self._wires, self._tally, self._source = name, wires, tally, source
        self._which = 0
        self.credential = ""
        self.acknowledged = self.events = self.changes = 0
        self.is_ready = False
        self.first_took = 0.0  # until it was acknowledged; others wait behind it, heartbeats of the whole fleet go on
        self.flat_out = False  # a closed loop: the next heartbeat as soon as one is acknowledged
        self._seq = self._beats = self._first = 0
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._sent = 0  # how many of them are under way
        self._failed = (-1, 0.0)  # which controller gave no answer last, and when
        self._busy = False
        self._unanswered = 0  # controllers in a row that gave no answer
        self._kept = False  # the connection has brought an answer
        self._backoff = Backoff()
        self._followed = False
        self._busy_in_a_row = 0
        self._done_orders: set[int] = set()
        self._connection: Connection | None = None
        self._loop = asyncio.get_running_loop()
        self._next_beat: asyncio.TimerHandle | None = None

    # What is said

    def first(self) -> None:
        """What a real agent sends when it starts: the verdict of every check."""
        changes = [{**self._change("", "pass", "within its limits"), "check": check} for check in CHECKS]
        self.changes += len(changes)
        self.say(heartbeat=True, changes=changes)
        self._first = self._seq

    def beat(self) -> None:
        self._beats += 1
        digest = {"digest": random.choice(DIGESTS)} if self._beats % DIGEST_EVERY == 0 else {}
        self.say(heartbeat=True, **digest)

    def beat_for_ever(self, first: float) -> None:
        due = self._loop.time() + first

        def now() -> None:
            nonlocal due
            self.beat()
            due += HEARTBEAT_SECONDS
            self._next_beat = self._loop.call_at(due, now)

        self._next_beat = self._loop.call_at(due, now)

    def rest(self) -> None:
        if self._next_beat is not None:
            self._next_beat.cancel()

    def fail(self) -> None:
        self._tally.failed_at[self.name] = time.time()
        event = {"kind": "xid", "at": time.time(), "text": KERNEL_LINE, "code": 79}
        self.events += 1
        self.news(events=[event], changes=[self._change("pass", "fail", "gpu 3: Xid 79")])

    def news(self, **facts: Any) -> None:
        self.changes += len(facts.get("changes", ()))
        self.say(**facts)
        for pause in FOLLOW_UPS:
            self._loop.call_later(pause, self.beat)

    def _change(self, before: str, after: str, reason: str) -> dict[str, Any]:
        return {"at": time.time(), "check": "gpu.xid", "before": before, "after": after, "reason": reason}

    def _obey(self, order: Order) -> None:
        said = {"order": order.id, "verb": order.verb, "ok": True, "suite": order.suite, "began": time.time() - 1}
        if order.verb == "retest":
            self.news(outcomes=[{**said, "health": "pass", "reason": "all passed"}])
            self._tally.ready += not self.is_ready
            self.is_ready = True
        else:
            self.news(outcomes=[{**said, "reason": "reset"}], changes=[self._change("fail", "pass", "no Xid since")])

    # How it is sent

    def say(self, **facts: Any) -> None:
        self._seq += 1
        report = {"node": self.name, "session": "s1", "seq": self._seq, "at": time.time(), **facts}
        self._waiting.append((time.perf_counter(), msgspec.json.encode(report)))
        self._send()

    def _send(self) -> None:
        if self._busy or not self._waiting:
            return
        self._busy = True
        if self._connection is None or self._connection.transport is None:
            self._loop.create_task(self._connect())
        else:
            self._write(self._connection)

    def _write(self, connection: Connection) -> None:
        """The clock in the head is that of the sending, however long the report has waited."""
        if connection.transport is not None:  # one that was lost meanwhile is tried again
            bodies = [body for _, body in islice(self._waiting, MOST_REPORTS)]
            self._sent = len(bodies)
            connection.transport.write(request("/v1/reports", self.credential, b"[" + b",".join(bodies) + b"]"))

    async def _connect(self) -> None:
        self._kept = False
        try:
            self._connection = await self._wires[self._which].open(self._source, self._answered, self._lost)
        except OSError as error:
            self._tally.counts[f"cannot connect: {type(error).__name__}"] += 1
            self._no_answer(refused=isinstance(error, ConnectionRefusedError))
            return
        self._write(self._connection)

    def _lost(self) -> None:
        if self._busy:
            self._tally.counts["connections lost"] += 1
            if self._kept:  # it is opened once more, as the real agent does
                self._retry()
            else:
                self._no_answer(refused=False)

    def _no_answer(self, refused: bool) -> None:
        """The next controller at once where none listens; one that may only be slow is given a pause."""
        self._failed = (self._which, self._loop.time())
        self._unanswered += 1
        if refused and self._unanswered < len(self._wires):
            self._go_to((self._which + 1) % len(self._wires))
            self._retry()
            return
        self._unanswered = 0
        self._again()

    def _go_to(self, which: int) -> None:
        self._which = which
        abandoned, self._connection = self._connection, None
        if abandoned is not None:
            abandoned.abandon()

    def _again(self, *, elsewhere: bool = True) -> None:
        if elsewhere and len(self._wires) > 1:
            self._go_to((self._which + 1) % len(self._wires))
        self._followed = False
        self._tally.counts["retries"] += 1
        self._loop.call_later(self._backoff.next_seconds(self._loop.time()), self._retry)

    def _refused(self, status: int) -> None:
        self._unanswered, self._kept = 0, True
        self._tally.counts[f"status {status}"] += 1
        self._busy_in_a_row = self._busy_in_a_row + 1 if status == BUSY else 0
        named = self._connection.location if self._connection is not None else ""
        leader = next((number for number, one in enumerate(self._wires) if f":{one.port}/" in named), self._which)
        dead = leader == self._failed[0] and self._loop.time() - self._failed[1] < FAILED_SECONDS
        if leader != self._which and not self._followed and not dead:
            self._followed = True
            self._go_to(leader)
            self._retry()
            return
        if tired := self._busy_in_a_row >= MOST_BUSY:
            self._busy_in_a_row = 0
        self._again(elsewhere=tired)

    def _retry(self) -> None:
        self._busy = False
        self._send()

    def _answered(self, status: int, body: bytes) -> None:
        if status != 200:
            self._refused(status)
            return
        made = [self._waiting.popleft()[0] for _ in range(self._sent)]
        self._busy = self._followed = False
        self._unanswered, self._kept = 0, True
        self._backoff.reset()
        self.acknowledged += len(made)
        now, since = time.perf_counter(), self._tally.measures_from
        self._tally.latencies += [now - one for one in made if one >= since]
        if not self.first_took and self.acknowledged >= self._first > 0:
            self.first_took = now - made[self._first - self.acknowledged - 1]
        for order in _ack.decode(body).orders:
            if order.id not in self._done_orders:
                self._done_orders.add(order.id)
                self._loop.call_later(WORK_SECONDS, self._obey, order)
        if self.flat_out:
            self.beat()
        self._send()

    @property
    def quiet(self) -> bool:
        return not self._waiting

    def close(self) -> None:
        if self._connection is not None and self._connection.transport is not None:
            self._connection.transport.close()
