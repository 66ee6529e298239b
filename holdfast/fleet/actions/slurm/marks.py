"""When a script's mark on a node was first seen, by our own clock. A test covers marks seen before it began.

Slurm tells the time of a note in whole seconds and by its own clock. So two marks differ by what they say, and
each counts from the moment in which we first saw it: later than it was made, never earlier. Only what stood there
before this controller's first read has nothing but Slurm's time.
"""

from collections.abc import Iterable

from holdfast.formats.slurm.nodes import SlurmNode

Mark = tuple[str, float | None]


class SlurmMarks:
    def __init__(self) -> None:
        self._since: dict[str, tuple[Mark, float]] = {}
        self._synced = False

    def observe(self, nodes: Iterable[SlurmNode], now: float) -> None:
        """All nodes, as they were shown by `now`."""
        for node in nodes:
            self.seen(node, now)
        self._synced = True

    def seen(self, node: SlurmNode, now: float) -> float | None:
        """Since when at the latest the mark stands that the node was shown with by `now`; None without one."""
        if not node.marked:
            self._since.pop(node.name, None)
            return None
        mark = (node.reason, node.reason_at)
        known, since = self._since.get(node.name, (None, now))
        if known != mark:
            since = now if self._synced or node.reason_at is None else min(node.reason_at + 1.0, now)
            self._since[node.name] = (mark, since)
        return since
