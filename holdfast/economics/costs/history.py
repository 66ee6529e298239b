"""Failures in service, time in service and repair times of a fleet, from its own transitions."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.model.lifecycle import EventKind, Stage

IN_SERVICE = frozenset({Stage.READY, Stage.ALLOCATED})
BETWEEN_WORKLOADS = frozenset({Stage.CLEANING, Stage.TESTING})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStageChange:
    """One node's step from a stage to another."""

    node: str
    at: float
    before: Stage
    after: Stage
    event: EventKind


@dataclass(frozen=True, slots=True)
class FleetHistory:
    failures: int  # nodes that failed in service or in the test after it
    service_seconds: float  # sum over all nodes
    repairs: tuple[float, ...]  # seconds from failure to ready, of nodes that returned
    still_out: int

    @property
    def mean_repair_seconds(self) -> float | None:
        """Mean repair time; None if no node returned. Nodes still out are not counted, so it tends to be too short."""
        return sum(self.repairs) / len(self.repairs) if self.repairs else None


def read(changes: Sequence[NodeStageChange], now: float) -> FleetHistory:
    """Reads the transitions. Each node counts from its first change on. Cleaning and testing between two workloads is
    neither service nor repair."""
    of_node: dict[str, list[NodeStageChange]] = {}
    for change in sorted(changes, key=lambda change: change.at):
        of_node.setdefault(change.node, []).append(change)
    failures, service, repairs, out = 0, 0.0, list[float](), 0
    for moves in of_node.values():
        failed_at: float | None = None
        for change, end in zip(moves, [*(later.at for later in moves[1:]), max(now, moves[-1].at)], strict=True):
            if failed_at is None and _is_failure(change):
                failed_at = change.at
                failures += 1
            if failed_at is not None and change.after is Stage.READY:
                repairs.append(change.at - failed_at)
                failed_at = None
            if change.after in IN_SERVICE:
                service += end - change.at
        out += failed_at is not None
    return FleetHistory(failures, service, tuple(repairs), out)


def _is_failure(change: NodeStageChange) -> bool:
    """Whether the change is a failure. An operator's command and a new node's failed first test are not."""
    if change.event is EventKind.FAILED:
        return change.before in IN_SERVICE | BETWEEN_WORKLOADS
    return change.event is EventKind.TEST_FAILED and change.before is Stage.TESTING
