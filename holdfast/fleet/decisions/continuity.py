"""Whether an agent's reports follow on what the store has: after a restore from a backup they do not."""

from collections.abc import Sequence

from holdfast.fleet.store import Store
from holdfast.model.wire.report import Report


class Continuity:
    """Belongs to the writer's thread. The store is asked only where the numbers do not simply go on."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int]] = {}  # by node: session and number of its latest report

    def broken(self, reports: Sequence[Report], store: Store) -> bool:
        """Of one node, at least one. True where earlier reports of the same life of its agent are not in the store."""
        latest = reports[-1]
        first = min(report.seq for report in reports if report.session == latest.session)
        session, number = self._last.get(latest.node, ("", 0))
        self._last[latest.node] = (latest.session, max(latest.seq, number if session == latest.session else 0))
        if first == 1 or (session == latest.session and first <= number + 1):
            return False
        return not store.has_all_before(latest.node, latest.session, first)
