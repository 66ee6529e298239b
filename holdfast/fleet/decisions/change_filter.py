"""Filters out nodes whose state and health did not change: most reports change nothing."""

from collections.abc import Iterable

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.model.lifecycle import NodeState


class ChangeFilter:
    def __init__(self) -> None:
        self._last: dict[str, tuple[NodeState, str]] = {}

    def changed(self, fleet: Fleet, names: Iterable[str], now: float) -> list[tuple[NodeState, str]]:
        """The nodes that differ from the last call, with their health."""
        found = []
        for name in names:
            node = fleet.nodes.get(name)
            if node is None:
                continue
            health = fleet.health(name, now)
            known = self._last.get(name)
            if known is None or known[0] is not node or known[1] != health:
                self._last[name] = (node, health)
                found.append((node, health))
        return found
