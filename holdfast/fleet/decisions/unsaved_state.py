"""Unsaved training state in a node's memory: a release waits until storage has it, up to a deadline."""

from holdfast.fleet.decisions.guards import planned
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.wire.report import Report

RELEASING = (Stage.DRAINING, Stage.CLEANING)


class Unsaved:
    def __init__(self) -> None:
        self._jobs: dict[str, tuple[str, ...]] = {}
        self._waits_since: dict[str, float] = {}

    def take(self, report: Report) -> None:
        if report.unsaved:
            self._jobs[report.node] = report.unsaved
        else:
            self._jobs.pop(report.node, None)

    def forget(self, node: str) -> None:
        self._jobs.pop(node, None)
        self._waits_since.pop(node, None)

    def flush_seconds(self, node: NodeState, now: float, policy: Policy) -> float:
        """Seconds for its keepers to write to storage: for an empty node that leaves, or before planned work begins;
        otherwise 0."""
        own = policy.of(node.pool).flush_seconds
        leaves = node.stage in RELEASING and not node.jobs
        soon = planned(node, now, policy) is None and planned(node, now + own, policy) is not None
        return own if leaves or soon else 0.0

    def holds(self, node: NodeState, now: float, policy: Policy) -> bool:
        """Whether the release of a node waits for its keepers."""
        if node.name not in self._jobs:
            self._waits_since.pop(node.name, None)
            return False
        since = self._waits_since.setdefault(node.name, now)
        return now - since < policy.of(node.pool).flush_seconds

    def left(self, node: str) -> str:
        """The state that was not in storage when the node was released; '' without one."""
        waited = self._waits_since.pop(node, None)
        jobs = self._jobs.get(node, ())
        return f"state of {', '.join(jobs)} is not in storage" if waited is not None and jobs else ""
