"""Passes the real lifecycle rules to the simulation."""

from holdfast.economics.simulation.rules import FleetGuard
from holdfast.fleet.decisions import breaker as fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.lifecycle.step_cache import POOL, Recall
from holdfast.model.lifecycle import NodeState


class _Pool:
    """The guard of one pool, as in the controller; evaluated again only after a count changed."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._tally = fleet.Tally()
        self._open: bool | None = None

    def count(self, life: NodeState, change: int) -> None:
        self._tally.count(life, change)
        self._open = None

    def open(self) -> bool:
        if self._open is None:
            self._open = fleet.breaker_of(self._tally, POOL, self._policy).open
        return self._open

    def spares_wanted(self) -> int:
        return fleet.spares_wanted(self._tally, POOL, self._policy)


class RealRules(Recall):
    """The real lifecycle machine, and the guard of the pool."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._pool_policy = policy

    def guard(self) -> FleetGuard:
        return _Pool(self._pool_policy)
