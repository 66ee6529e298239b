"""Meetings under way: two orders each, kept in memory alone. A controller that restarts forgets them, and so do agents
when their time is over: nothing stale is done. No I/O and no clock.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from holdfast.api.views import Order
from holdfast.model.probe import ProbeAsk, ProbePolicy, Proof
from holdfast.model.report import OrderOutcome

VERB = "probe"
DAY_SECONDS = 86_400.0
GRACE_SECONDS = 30.0  # an answer may still be on its way when the agents' patience is over


@dataclass(slots=True)
class Meeting:
    number: int  # of its first order; the second has the next
    nodes: tuple[str, str]
    why: str
    since: float
    orders: tuple[Order, Order]
    handed: dict[str, float] = field(default_factory=dict)
    answers: dict[str, OrderOutcome] = field(default_factory=dict)

    def order_of(self, node: str) -> Order:
        return self.orders[self.nodes.index(node)]


class Meetings:
    def __init__(self) -> None:
        self._of: dict[str, Meeting] = {}  # by node
        self._cancelled: dict[str, list[int]] = {}
        self._spent: deque[tuple[float, str, float]] = deque()  # when it ended, who, how many seconds
        self._totals: dict[str, float] = {}
        self._numbers: count[int] | None = None

    def __contains__(self, node: str) -> bool:
        return node in self._of

    def running(self) -> list[Meeting]:
        return list({meeting.number: meeting for meeting in self._of.values()}.values())

    def spent(self, now: float) -> Mapping[str, float]:
        """Seconds in probes of each node within the last day."""
        while self._spent and self._spent[0][0] <= now - DAY_SECONDS:
            _, node, seconds = self._spent.popleft()
            self._totals[node] -= seconds
        return self._totals

    def begin(
        self, nodes: tuple[str, str], why: str, addresses: Mapping[str, str], policy: ProbePolicy, now: float
    ) -> None:
        if self._numbers is None:
            # Above every stored action's, and others than those of a controller before us: agents know orders by these.
            self._numbers = count(int(now * 1e6), 2)
        number = next(self._numbers)
        master = addresses.get(nodes[0]) or nodes[0]
        orders = [
            Order(
                id=number + rank,
                verb=VERB,
                suite="",
                reason=why,
                probe=ProbeAsk(
                    peer=nodes[1 - rank],
                    rank=rank,
                    address=addresses.get(node, ""),
                    master=master,
                    port=policy.port,
                    bytes=policy.bytes,
                    seconds=policy.patience_seconds,
                ),
            )
            for rank, node in enumerate(nodes)
        ]
        meeting = Meeting(number, nodes, why, now, (orders[0], orders[1]))
        self._of.update(dict.fromkeys(nodes, meeting))

    def handed_over(self, node: str, now: float) -> tuple[Order, ...]:
        """Once: whoever did not hear of it in time could not meet anybody."""
        meeting = self._of.get(node)
        if meeting is None or node in meeting.handed:
            return ()
        meeting.handed[node] = now
        return (meeting.order_of(node),)

    def cancelled(self, node: str) -> tuple[int, ...]:
        return tuple(self._cancelled.pop(node, ()))

    def answered(self, node: str, outcome: OrderOutcome, now: float) -> Meeting | None:
        """The meeting, when its last answer came."""
        meeting = self._of.get(node)
        if meeting is None or meeting.order_of(node).id != outcome.order:
            return None
        meeting.answers[node] = outcome
        refused = not outcome.ok
        if refused or len(meeting.answers) == len(meeting.nodes):
            self._end(meeting, now, cancel=refused)
            return meeting
        return None

    def overdue(self, policy: ProbePolicy, now: float) -> list[Meeting]:
        """Given up, and returned, for nobody answered in time."""
        late = [one for one in self.running() if now - one.since > policy.patience_seconds + GRACE_SECONDS]
        for meeting in late:
            self._end(meeting, now, cancel=True)
        return late

    def leave(self, nodes: Iterable[str], now: float) -> None:
        """These are wanted: their meetings end at once, and whoever is at it is told with the next acknowledgement."""
        for node in nodes:
            if node in self._of:
                self._end(self._of[node], now, cancel=True)

    def _end(self, meeting: Meeting, now: float, *, cancel: bool) -> None:
        for node in meeting.nodes:
            if self._of.pop(node, None) is None or node not in meeting.handed:
                continue
            seconds = now - meeting.handed[node]
            self._spent.append((now, node, seconds))
            self._totals[node] = self._totals.get(node, 0.0) + seconds
            if cancel and node not in meeting.answers:
                self._cancelled.setdefault(node, []).append(meeting.order_of(node).id)


def proof(meeting: Meeting, now: float) -> Proof | None:
    """The slower end counts. None where one of them could not measure: that says nothing about the fabric."""
    answers = list(meeting.answers.values())
    rates = [answer.bytes_per_second for answer in answers if answer.ok and answer.bytes_per_second is not None]
    if len(rates) < len(meeting.nodes):
        return None
    one, other = sorted(meeting.nodes)
    note = "; ".join(answer.reason for answer in answers if answer.bytes_per_second == 0)
    return Proof(one=one, other=other, at=now, bytes_per_second=min(rates), note=note[:400])
