"""Detects a store that lost reports: after a restore, an agent's report numbers do not continue the stored ones."""

from collections.abc import Callable, Sequence

from holdfast.model.wire.report import Report

HasAllBefore = Callable[[str, str, int], bool]  # node, session, seq -> whether every earlier report is stored


class Continuity:
    """Detects gaps in report numbers, in the writer's thread. It queries the store only if the numbers have a gap."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int]] = {}  # node -> session and number of its latest report

    def broken(self, reports: Sequence[Report], has_all_before: HasAllBefore) -> bool:
        """Whether the store lacks earlier reports of this agent's session. `reports`: of one node, at least one."""
        latest = reports[-1]
        first = min(report.seq for report in reports if report.session == latest.session)
        session, number = self._last.get(latest.node, ("", 0))
        self._last[latest.node] = (latest.session, max(latest.seq, number if session == latest.session else 0))
        if first == 1 or (session == latest.session and first <= number + 1):
            return False
        return not has_all_before(latest.node, latest.session, first)
