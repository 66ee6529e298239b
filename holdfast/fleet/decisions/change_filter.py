"""What was last told of every node, so that only what is another is told again: most reports change nothing."""

from collections.abc import Iterable

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.model.lifecycle import NodeState


class ChangeFilter:
    def __init__(self) -> None:
        self._last: dict[str, tuple[NodeState, str]] = {}

    def changed(self, fleet: Fleet, names: Iterable[str], now: float) -> list[tuple[NodeState, str]]:
        """Of these nodes, those whose life or health is not as it was told; from now on it is."""
        found = []
        for name in names:
            life = fleet.nodes.get(name)
            if life is None:
                continue
            health = fleet.health(name, now)
            known = self._last.get(name)
            if known is None or known[0] is not life or known[1] != health:
                self._last[name] = (life, health)
                found.append((life, health))
        return found
