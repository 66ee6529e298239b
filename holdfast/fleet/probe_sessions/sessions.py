"""Probe sessions under way: two orders each, in memory only. After a restart the controller forgets them, and agents
end them at their deadline, so no stale order runs. No I/O and no clock.

Whoever comes first for its order leads: that one is there, and can say if the other does not come.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from secrets import token_hex

from holdfast.fleet.api.views.common import Order
from holdfast.model.wire.probe import Guest, ProbePolicy, ProbeRequest, Proof
from holdfast.model.wire.report import OrderOutcome

VERB = "probe"
DAY_SECONDS = 86_400.0
KEY_BYTES = 16
GRACE_SECONDS = 30.0  # an answer may still be on its way when the agents' patience is over


@dataclass(slots=True)
class ProbeSession:
    number: int  # of its first order; the second has the next
    nodes: tuple[str, str]
    why: str
    since: float
    key: str  # known to these two
    addresses: Mapping[str, str]
    orders: dict[str, Order] = field(default_factory=dict)
    handed: dict[str, float] = field(default_factory=dict)
    answers: dict[str, OrderOutcome] = field(default_factory=dict)

    def ordered(self, node: str, policy: ProbePolicy) -> Order:
        if node not in self.orders:
            leader = next(iter(self.orders), node)
            ask = ProbeRequest(
                peer=next(one for one in self.nodes if one != node),
                rank=0 if leader == node else 1,
                address=self.addresses.get(node, ""),
                master=self.addresses.get(leader, "").partition(",")[0] or leader,
                port=policy.port,
                bytes=policy.bytes,
                seconds=policy.patience_seconds,
                key=self.key,
                guests=self._guests() if leader == node else (),
            )
            number = self.number + len(self.orders)
            self.orders[node] = Order(id=number, verb=VERB, suite="", reason=self.why, probe=ask)
        return self.orders[node]

    def _guests(self) -> tuple[Guest, ...]:
        return tuple(Guest(name=node, address=self.addresses.get(node, "")) for node in self.nodes)


class ProbeSessions:
    def __init__(self) -> None:
        self._of: dict[str, ProbeSession] = {}  # by node
        self._cancelled: dict[str, list[int]] = {}
        self._spent: deque[tuple[float, str, float]] = deque()  # when it ended, who, how many seconds
        self._totals: dict[str, float] = {}
        self._numbers: count[int] | None = None

    def __contains__(self, node: str) -> bool:
        return node in self._of

    def running(self) -> list[ProbeSession]:
        return list({meeting.number: meeting for meeting in self._of.values()}.values())

    def spent(self, now: float) -> Mapping[str, float]:
        """Seconds in probes of each node within the last day."""
        while self._spent and self._spent[0][0] <= now - DAY_SECONDS:
            _, node, seconds = self._spent.popleft()
            self._totals[node] -= seconds
        return self._totals

    def number(self, now: float) -> int:
        """Of an order, and the next one is free too."""
        if self._numbers is None:
            # Above every stored action's, and others than those of a controller before us: agents know orders by these.
            self._numbers = count(int(now * 1e6), 2)
        return next(self._numbers)

    def begin(self, nodes: tuple[str, str], why: str, addresses: Mapping[str, str], now: float) -> None:
        meeting = ProbeSession(self.number(now), nodes, why, now, token_hex(KEY_BYTES), addresses)
        self._of.update(dict.fromkeys(nodes, meeting))

    def handed_over(self, node: str, policy: ProbePolicy, now: float) -> tuple[Order, ...]:
        """Once: whoever did not hear of it in time could not meet anybody."""
        meeting = self._of.get(node)
        if meeting is None or node in meeting.handed:
            return ()
        meeting.handed[node] = now
        return (meeting.ordered(node, policy),)

    def cancelled(self, node: str) -> tuple[int, ...]:
        return tuple(self._cancelled.pop(node, ()))

    def answered(self, node: str, outcome: OrderOutcome, now: float) -> ProbeSession | None:
        """The meeting, when its last answer came."""
        meeting = self._of.get(node)
        if meeting is None or node not in meeting.orders or meeting.orders[node].id != outcome.order:
            return None
        meeting.answers[node] = outcome
        refused = not outcome.ok
        if refused or len(meeting.answers) == len(meeting.nodes):
            self._end(meeting, now, cancel=refused)
            return meeting
        return None

    def overdue(self, policy: ProbePolicy, now: float) -> list[ProbeSession]:
        """Given up, and returned, for nobody answered in time."""
        late = [one for one in self.running() if now - one.since > policy.patience_seconds + GRACE_SECONDS]
        for meeting in late:
            self._end(meeting, now, cancel=True)
        return late

    def leave(self, nodes: Iterable[str], now: float) -> None:
        """These are wanted: their sessions end at once, and whoever is at it is told with the next acknowledgement."""
        for node in nodes:
            if node in self._of:
                self._end(self._of[node], now, cancel=True)

    def _end(self, meeting: ProbeSession, now: float, *, cancel: bool) -> None:
        for node in meeting.nodes:
            if self._of.pop(node, None) is None or node not in meeting.handed:
                continue
            seconds = now - meeting.handed[node]
            self._spent.append((now, node, seconds))
            self._totals[node] = self._totals.get(node, 0.0) + seconds
            if cancel and node not in meeting.answers:
                self._cancelled.setdefault(node, []).append(meeting.orders[node].id)


def proof(meeting: ProbeSession, now: float) -> Proof | None:
    """The slowest of what was told counts. None where one of them could not measure: that says nothing about the
    fabric."""
    answers = list(meeting.answers.values())
    rates = [answer.bytes_per_second for answer in answers if answer.bytes_per_second is not None]
    if len(answers) < len(meeting.nodes) or not all(answer.ok for answer in answers) or not rates:
        return None
    one, other = sorted(meeting.nodes)
    slowest = min(answers, key=lambda answer: math.inf if (rate := answer.bytes_per_second) is None else rate)
    return Proof(one=one, other=other, at=now, bytes_per_second=min(rates), note=slowest.reason[:400])
