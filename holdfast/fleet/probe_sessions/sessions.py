"""Probe sessions in progress: two nodes, one order each. Pure.

Sessions are in memory only. After a restart the controller forgets them, and agents end them at their deadline, so no
stale order runs. The first node that fetches its order leads, because its agent is alive and can report a missing peer.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from holdfast.model.wire.order import Order
from holdfast.model.wire.probe import Participant, ProbePolicy, ProbeRequest, Proof
from holdfast.model.wire.report import OrderOutcome

VERB = "probe"
DAY_SECONDS = 86_400.0
GRACE_SECONDS = 30.0  # an answer may still be on its way when the agents' timeout is over
NewKey = Callable[[], str]
"""Makes the secret of one session or run, that only its participants know."""


@dataclass(slots=True)
class ProbeSession:
    number: int  # number of its first order; the second order has the next number
    nodes: tuple[str, str]
    why: str
    since: float
    key: str
    addresses: Mapping[str, str]
    orders: dict[str, Order] = field(default_factory=dict)
    sent_at: dict[str, float] = field(default_factory=dict)
    answers: dict[str, OrderOutcome] = field(default_factory=dict)

    def order_for(self, node: str, policy: ProbePolicy) -> Order:
        if node not in self.orders:
            leader = next(iter(self.orders), node)
            request = ProbeRequest(
                peer=next(one for one in self.nodes if one != node),
                rank=0 if leader == node else 1,
                address=self.addresses.get(node, ""),
                master=self.addresses.get(leader, "").partition(",")[0] or leader,
                port=policy.port,
                bytes=policy.bytes,
                seconds=policy.timeout_seconds,
                key=self.key,
                participants=self._participants() if leader == node else (),
            )
            number = self.number + len(self.orders)
            self.orders[node] = Order(id=number, verb=VERB, reason=self.why, probe=request)
        return self.orders[node]

    def _participants(self) -> tuple[Participant, ...]:
        return tuple(Participant(name=node, address=self.addresses.get(node, "")) for node in self.nodes)


class ProbeSessions:
    def __init__(self, new_key: NewKey) -> None:
        self._new_key = new_key
        self._of: dict[str, ProbeSession] = {}  # node -> its session
        self._cancelled: dict[str, list[int]] = {}
        self._spent: deque[tuple[float, str, float]] = deque()  # (end, node, seconds)
        self._totals: dict[str, float] = {}
        self._numbers: count[int] | None = None

    def __contains__(self, node: str) -> bool:
        return node in self._of

    def running(self) -> list[ProbeSession]:
        return list({session.number: session for session in self._of.values()}.values())

    def spent(self, now: float) -> Mapping[str, float]:
        """Seconds in probes of each node within the last day."""
        while self._spent and self._spent[0][0] <= now - DAY_SECONDS:
            _, node, seconds = self._spent.popleft()
            self._totals[node] -= seconds
        return self._totals

    def number(self, now: float) -> int:
        """An order id; the next one is free too."""
        if self._numbers is None:
            # Higher than the ids of stored actions and of an earlier controller's orders, because agents recognise
            # orders by id.
            self._numbers = count(int(now * 1e6), 2)
        return next(self._numbers)

    def begin(self, nodes: tuple[str, str], why: str, addresses: Mapping[str, str], now: float) -> None:
        session = ProbeSession(self.number(now), nodes, why, now, self._new_key(), addresses)
        self._of.update(dict.fromkeys(nodes, session))

    def orders_for(self, node: str, policy: ProbePolicy, now: float) -> tuple[Order, ...]:
        """The orders for a node, sent once: a node that missed its order is too late for the session."""
        session = self._of.get(node)
        if session is None or node in session.sent_at:
            return ()
        session.sent_at[node] = now
        return (session.order_for(node, policy),)

    def cancelled(self, node: str) -> tuple[int, ...]:
        return tuple(self._cancelled.pop(node, ()))

    def answered(self, node: str, outcome: OrderOutcome, now: float) -> ProbeSession | None:
        """Takes an answer; returns the session if it is complete: both have answered, or one refused."""
        session = self._of.get(node)
        if session is None or node not in session.orders or session.orders[node].id != outcome.order:
            return None
        session.answers[node] = outcome
        refused = not outcome.ok
        if refused or len(session.answers) == len(session.nodes):
            self._end(session, now, cancel=refused)
            return session
        return None

    def overdue(self, policy: ProbePolicy, now: float) -> list[ProbeSession]:
        """Ends and returns the sessions that got no answer in time."""
        late = [one for one in self.running() if now - one.since > policy.timeout_seconds + GRACE_SECONDS]
        for session in late:
            self._end(session, now, cancel=True)
        return late

    def leave(self, nodes: Iterable[str], now: float) -> None:
        """Ends the sessions of these nodes, because work needs them. The next acknowledgement informs their agents."""
        for node in nodes:
            if node in self._of:
                self._end(self._of[node], now, cancel=True)

    def _end(self, session: ProbeSession, now: float, *, cancel: bool) -> None:
        for node in session.nodes:
            if self._of.pop(node, None) is None or node not in session.sent_at:
                continue
            seconds = now - session.sent_at[node]
            self._spent.append((now, node, seconds))
            self._totals[node] = self._totals.get(node, 0.0) + seconds
            if cancel and node not in session.answers:
                self._cancelled.setdefault(node, []).append(session.orders[node].id)


def proof(session: ProbeSession, now: float) -> Proof | None:
    """The proof of a session: the slower of the two answers. None if a node could not measure."""
    answers = list(session.answers.values())
    rates = [answer.bytes_per_second for answer in answers if answer.bytes_per_second is not None]
    if len(answers) < len(session.nodes) or not all(answer.ok for answer in answers) or not rates:
        return None
    one, other = sorted(session.nodes)
    slowest = min(answers, key=lambda answer: math.inf if (rate := answer.bytes_per_second) is None else rate)
    return Proof(one=one, other=other, at=now, bytes_per_second=min(rates), note=slowest.reason[:400])
