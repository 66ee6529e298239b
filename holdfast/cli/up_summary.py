"""What happened while `holdfast up` ran, in one paragraph, from the store alone."""

import time
from collections import Counter
from collections.abc import Sequence

from holdfast.cli.table import count
from holdfast.model.job import JobState
from holdfast.model.life import OUT_OF_SERVICE, Stage
from holdfast.store import Store
from holdfast.store.words import Transition

MOST = 100_000


def summary(url: str, since: float) -> str:
    store = Store.open(url)
    try:
        moves = [step for step in store.transitions(since, MOST) if step.before is not step.after]
        nodes = store.nodes()
        jobs = store.jobs(None, since, MOST)
        incidents = store.incidents(None, MOST)
    finally:
        store.close()
    stages = Counter(node.stage.value for node in nodes)
    ended = sum(job.state is JobState.COMPLETED for job in jobs)
    died = sum(job.state is JobState.NODE_FAILED for job in jobs)
    sentences = [
        f"In {time.time() - since:.0f} s: {count(len(nodes), 'node')}, now {_listed(stages)}.",
        f"{count(len(jobs), 'job')}, of which {ended} completed and {died} ended with a failed node.",
        _left(moves),
        *(f"Incident on {one.subject}: {one.reason}." for one in incidents),
    ]
    return " ".join(sentences)


def _left(moves: Sequence[Transition]) -> str:
    left, back = _rounds(moves)
    if not left:
        return "No node left service."
    still = len({node for node, _ in left} - {node for node, _ in back})
    words = f"Nodes left service {count(len(left), 'time')} and came back, tested in full, {count(len(back), 'time')}"
    if back:
        node, seconds = back[0]
        words += f" ({node} first, after {seconds:.0f} s)"
    return f"{words}; still out: {still}."


def _rounds(moves: Sequence[Transition]) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Who left service and when; who came back and after how long."""
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


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())
