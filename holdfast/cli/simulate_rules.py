"""The real rules of a node's life, handed to the simulation."""

from collections.abc import Callable
from functools import partial

from holdfast.lifecycle import fleet, machine
from holdfast.lifecycle.policy import Policy
from holdfast.model.life import Action, NodeEvent, NodeLife
from holdfast.simulation.rules import Guard

POOL = "default"


class _Pool:
    """One pool, counted as the controller counts it."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._tally = fleet.Tally()
        self.count: Callable[[NodeLife, int], None] = self._tally.count

    def open(self) -> bool:
        return fleet.breaker_of(self._tally, POOL, self._policy).open

    def spares_wanted(self) -> int:
        return fleet.spares_wanted(self._tally, POOL, self._policy)


class RealRules:
    step: Callable[[NodeLife, NodeEvent, float], tuple[NodeLife, list[Action], str]]
    may_climb: Callable[[NodeLife], bool]
    guard: Callable[[], Guard]

    def __init__(self, policy: Policy) -> None:
        self.step = partial(machine.step, policy=policy)
        self.may_climb = partial(machine.may_climb, policy=policy)
        self.guard = partial(_Pool, policy)
