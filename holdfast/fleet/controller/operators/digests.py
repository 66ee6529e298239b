"""Latest digests of agents, held in memory."""

from collections import OrderedDict, deque

MOST_NODES = 1_000  # in a larger fleet, the nodes that were requested last
MOST_DIGESTS = 60


class DigestHistory:
    """The last digests of some nodes: an hour of their GPUs, in memory and bounded."""

    def __init__(self, most_nodes: int = MOST_NODES) -> None:
        self._most = most_nodes
        self._kept: OrderedDict[str, deque[tuple[float, bytes]]] = OrderedDict()

    def add(self, node: str, at: float, digest: bytes) -> None:
        if node not in self._kept and len(self._kept) >= self._most:
            return
        self._kept.setdefault(node, deque(maxlen=MOST_DIGESTS)).append((at, digest))

    def last(self, node: str) -> tuple[float, bytes] | None:
        """The newest digest. Reading it does not count as a request for the node."""
        found = self._kept.get(node)
        return found[-1] if found else None

    def of(self, node: str) -> tuple[tuple[float, bytes], ...]:
        """Digests of a node, oldest first. A requested node is kept from now on and replaces the least recently
        requested one."""
        if node not in self._kept and len(self._kept) >= self._most:
            self._kept.popitem(last=False)
        found = self._kept.setdefault(node, deque(maxlen=MOST_DIGESTS))
        self._kept.move_to_end(node)
        return tuple(found)
