"""Summary of a `holdfast up` run, from the store."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.fleet.store import Store
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.job import JobState
from holdfast.model.lifecycle import OUT_OF_SERVICE, Stage
from holdfast.model.records import Transition

MOST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    seconds: float
    nodes: int
    stages: Counter[str]
    jobs: int
    completed: int
    failed: int
    """Jobs that ended with a failed node."""
    left: tuple[tuple[str, float], ...]
    """Nodes that left service, and when."""
    back: tuple[tuple[str, float], ...]
    """Nodes that came back, and after how many seconds."""
    incidents: tuple[Incident, ...]
    """Open ones first, then by the time they opened."""

    @property
    def still_out(self) -> int:
        return len({node for node, _ in self.left} - {node for node, _ in self.back})


def summarize(url: str, since: float) -> Summary:
    store = Store.open(url)
    try:
        moves = [step for step in store.transitions(since, MOST) if step.before is not step.after]
        nodes = store.nodes()
        jobs = store.jobs(None, since, MOST)
        incidents = store.incidents(None, MOST)
    finally:
        store.close()
    left, back = _outages(moves)
    return Summary(
        seconds=time.time() - since,
        nodes=len(nodes),
        stages=Counter(node.stage.value for node in nodes),
        jobs=len(jobs),
        completed=sum(job.state is JobState.COMPLETED for job in jobs),
        failed=sum(job.state is JobState.NODE_FAILED for job in jobs),
        left=tuple(left),
        back=tuple(back),
        incidents=tuple(sorted(incidents, key=lambda one: (one.state is IncidentState.CLOSED, one.opened))),
    )


def _outages(moves: Sequence[Transition]) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    out: dict[str, float] = {}
    left: list[tuple[str, float]] = []
    back: list[tuple[str, float]] = []
    for move in moves:
        if move.after in OUT_OF_SERVICE and move.node not in out:
            out[move.node] = move.at
            left.append((move.node, move.at))
        elif move.after in (Stage.READY, Stage.ALLOCATED) and move.node in out:
            back.append((move.node, move.at - out.pop(move.node)))
    return left, back
