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
    service_seconds: float  # of all nodes together
    repairs: tuple[float, ...]  # seconds from failure to ready, of those that came back
    still_out: int

    @property
    def mean_repair_seconds(self) -> float | None:
        """None if none came back. Those still out are not in it, so it is too short rather than too long."""
        return sum(self.repairs) / len(self.repairs) if self.repairs else None


def read(changes: Sequence[NodeStageChange], now: float) -> FleetHistory:
    """Only nodes that changed are seen; each counts from its first change on. Cleaning and testing between two
    workloads is neither service nor repair."""
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
    """An operator's word is no failure, nor is a new node that never passed its first test."""
    if change.event is EventKind.FAILED:
        return change.before in IN_SERVICE | BETWEEN_WORKLOADS
    return change.event is EventKind.TEST_FAILED and change.before is Stage.TESTING
