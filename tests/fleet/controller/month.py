"""A month that a store remembers: nodes' lives stepped by the real lifecycle, and the jobs that ran."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.fleet.decisions.lifecycle.machine import step
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import Store
from holdfast.model.job import Job
from holdfast.model.lifecycle import NodeEvent, NodeState
from holdfast.model.records import LifecycleStep, Transition
from tests.stores import new_store

NodeEvents = Sequence[tuple[float, NodeEvent]]


def remember(directory: Path, histories: Mapping[str, NodeEvents], jobs: Sequence[Job]) -> None:
    """Into the store that `running` in this directory will open."""
    store = Store.open(new_store(directory / "holdfast.db"))
    try:
        epoch = store.lead("the past", 1.0, now=1.0)
        assert epoch is not None
        for name, node_history in histories.items():
            store.transit_all(_steps(name, node_history), epoch)
        store.save_jobs(jobs)
    finally:
        store.close()


def _steps(name: str, node_history: NodeEvents) -> list[LifecycleStep]:
    life, steps = NodeState(name=name), []
    for at, event in node_history:
        after, _, reason = step(life, event, at, Policy())
        result = Transition(node=name, at=at, before=life.stage, after=after.stage, event=event, reason=reason)
        steps.append(LifecycleStep(node=after, transition=result))
        life = after
    return steps
