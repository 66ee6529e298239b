"""Orders to agents: a claimed action waits here for its node's next report and is ended by what the agent answers."""

from collections.abc import Callable

from holdfast.api.views import Order
from holdfast.lifecycle.policy import Policy
from holdfast.model.life import Stage, Verb
from holdfast.store.words import Outcome, StoredAction

AGENT_LEASE_SECONDS = 900.0  # an order whose answer is not here by then is given again, with the same number

# Where a node must be for an action to make sense still: nothing stale is done.
_FITTING: dict[Verb, frozenset[Stage]] = {
    Verb.RETEST: frozenset({Stage.TESTING}),
    Verb.RESET_GPU: frozenset({Stage.RESETTING}),
    Verb.REBOOT: frozenset({Stage.RESETTING}),
    Verb.UNCORDON: frozenset({Stage.READY, Stage.ALLOCATED}),
    Verb.CORDON: frozenset(Stage) - {Stage.READY, Stage.ALLOCATED},
    Verb.DRAIN: frozenset(Stage) - {Stage.READY, Stage.ALLOCATED},
}

Finish = Callable[[int, Outcome, str], bool]


def fits(verb: Verb, stage: Stage) -> bool:
    return stage in _FITTING.get(verb, frozenset(Stage))


class Orders:
    """Belongs to the writer's thread. By node and number: those that wait for a report, and those handed over."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[int, StoredAction]] = {}
        self._handed: dict[str, set[int]] = {}

    def give(self, action: StoredAction) -> None:
        self._waiting.setdefault(action.action.node, {})[action.id] = action

    def handed_over(self, node: str, stage: Stage, policy: Policy, finish: Finish) -> tuple[Order, ...]:
        """Once per claim: an order whose answer gets lost is claimed again when its lease runs out."""
        orders = []
        for one in self._waiting.pop(node, {}).values():
            if fits(one.action.verb, stage):
                orders.append(Order(id=one.id, verb=one.action.verb, suite=policy.suite, reason=one.action.reason))
                self._handed.setdefault(node, set()).add(one.id)
            else:
                finish(one.id, Outcome.ABANDONED, f"the node is {stage.value} now")
        return tuple(orders)

    def answered(self, node: str, number: int) -> bool:
        """Forget an order that this node was given; False when it was not."""
        handed = self._handed.get(node, set())
        if number not in handed and number not in self._waiting.get(node, {}):
            return False
        handed.discard(number)
        self._waiting.get(node, {}).pop(number, None)
        return True
