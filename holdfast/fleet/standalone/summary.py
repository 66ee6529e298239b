"""What happened while `holdfast up` ran, in one paragraph and a line per incident, from the store alone."""

import time
from collections import Counter
from collections.abc import Sequence

from holdfast.cli.shared.table import count
from holdfast.fleet.store import Store
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.job import JobState
from holdfast.model.lifecycle import OUT_OF_SERVICE, Stage
from holdfast.model.records import Transition

MOST = 100_000
MOST_INCIDENTS = 5


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
    ]
    return "\n".join([" ".join(sentences), *_told(incidents)])


def _told(incidents: Sequence[Incident]) -> list[str]:
    """The first to open first, one line each; open ones before those that are over."""
    order = sorted(incidents, key=lambda one: (one.state is IncidentState.CLOSED, one.opened))
    lines = [f"Incident on {one.subject}, {one.state.value}: {_short(one)}" for one in order[:MOST_INCIDENTS]]
    more = len(order) - MOST_INCIDENTS
    return lines + ([f"And {count(more, 'incident')} more: holdfast incident list --all"] if more > 0 else [])


def _short(one: Incident) -> str:
    """What it is and what it costs; who is on call, and the figures behind it, are a command away."""
    said = one.reason.removeprefix(f"{one.subject}: ").split("; ")
    return "; ".join(said[:2] if one.account is not None else said[:1])


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
