"""Remembers when a script's mark on a node was first seen, on our clock. A test covers marks seen before it began.

Slurm gives the time of a reason in whole seconds of its own clock. So marks are distinguished by their text, and each
counts from our first sight, which is never too early. Only marks from before this controller's first read use
Slurm's time.
"""

from collections.abc import Iterable

from holdfast.formats.slurm.nodes import SlurmNode

Mark = tuple[str, float | None]


class SlurmMarks:
    def __init__(self) -> None:
        self._since: dict[str, tuple[Mark, float]] = {}
        self._synced = False

    def observe(self, nodes: Iterable[SlurmNode], now: float) -> None:
        """Takes the marks of all nodes, read at `now`."""
        for node in nodes:
            self.seen(node, now)
        self._synced = True

    def seen(self, node: SlurmNode, now: float) -> float | None:
        """When the node's current mark was first seen; None without a mark."""
        if not node.marked:
            self._since.pop(node.name, None)
            return None
        mark = (node.reason, node.reason_at)
        known, since = self._since.get(node.name, (None, now))
        if known != mark:
            since = now if self._synced or node.reason_at is None else min(node.reason_at + 1.0, now)
            self._since[node.name] = (mark, since)
        return since
