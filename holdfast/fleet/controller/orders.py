"""Orders to agents: a claimed action waits for its node's next report and ends with the agent's answer."""

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.fleet.api.views.common import OrderView
from holdfast.fleet.decisions.continuity import Continuity
from holdfast.model.lifecycle import NodeState, Stage, Verb
from holdfast.model.records import Outcome, StoredAction
from holdfast.model.wire.order import Order

AGENT_LEASE_SECONDS = 3_600.0  # how long an order may stay open before it is claimed again
AGAIN_SECONDS = 60.0

_NEEDED_STAGE = {Verb.RETEST: Stage.TESTING, Verb.RESET_GPU: Stage.RESETTING, Verb.REBOOT: Stage.RESETTING}

Finish = Callable[[int, Outcome, str], bool]


def fits(verb: Verb, node: NodeState) -> bool:
    """Whether an action still fits the current state of the node. Stale actions are not run."""
    if verb is Verb.UNCORDON:
        return node.takes_work
    if verb in (Verb.CORDON, Verb.DRAIN):
        return not node.takes_work
    return _NEEDED_STAGE.get(verb, node.stage) is node.stage


@dataclass(slots=True)
class OpenOrder:
    stored: StoredAction
    due: float = 0.0  # time of the next delivery
    handed_over: float | None = None  # time of the first delivery; the work began no earlier


class PendingOrders:
    """Orders that agents have not answered yet, by node and number. Used only in the writer's thread."""

    def __init__(self) -> None:
        self.continuity = Continuity()
        self._open: dict[str, dict[int, OpenOrder]] = {}

    def give(self, action: StoredAction) -> None:
        self._open.setdefault(action.action.node, {})[action.id] = OpenOrder(action)

    def handed_over(
        self,
        node: NodeState,
        now: float,
        suite: str,
        finish: Finish,
        waits: Callable[[Verb], bool] = lambda verb: False,
    ) -> tuple[Order, ...]:
        """The orders for the next answer to this node. An order is sent again after a while, because an acknowledgement
        can get lost; agents recognise it by its number.

        `waits`: a repair step is held back until the node is confirmed to be drained and empty.
        """
        waiting = self._open.get(node.name)
        if not waiting:
            return ()
        orders = []
        for number, given in list(waiting.items()):
            verb = given.stored.action.verb
            if not fits(verb, node):
                finish(number, Outcome.ABANDONED, f"the node is {node.stage.value} now")
                del waiting[number]
            elif given.due <= now and not waits(verb):
                action = given.stored.action
                orders.append(Order(id=number, verb=verb.value, suite=suite, reason=action.reason, key=action.key))
                given.due = now + AGAIN_SECONDS
                given.handed_over = now if given.handed_over is None else given.handed_over
        return tuple(orders)

    def open(self, node: str = "") -> list[OpenOrder]:
        """Open orders of one node or of all, oldest first."""
        nodes = [self._open.get(node, {})] if node else list(self._open.values())
        found = [given for waiting in nodes for given in waiting.values()]
        return sorted(found, key=lambda given: (given.stored.action.at, given.stored.id))

    def is_of_another(self, node: str, number: int, key: str) -> bool:
        """Whether an answer belongs to an order with the same number from a lost store. Old agents send no key."""
        given = self._open.get(node, {}).get(number)
        return bool(key) and given is not None and given.stored.action.key != key

    def answered(self, node: str, number: int) -> OpenOrder | None:
        """Removes and returns an open order of this node; None if it has no such order."""
        waiting = self._open.get(node, {})
        given = waiting.pop(number, None)
        if given is not None and not waiting:
            del self._open[node]
        return given


def order_view(given: OpenOrder) -> OrderView:
    action = given.stored.action
    return OrderView(
        id=given.stored.id,
        node=action.node,
        verb=action.verb,
        reason=action.reason,
        at=action.at,
        handed_over_at=given.handed_over,
        again_at=None if given.handed_over is None else given.due,
    )
