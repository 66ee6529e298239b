"""Steps of a node's life to put into a store."""

from holdfast.fleet.store import Store
from holdfast.model.lifecycle import Action, EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.records import LifecycleStep, Outcome, StoredAction, Transition


def step(name: str = "n1", at: float = 100.0, verbs: tuple[Verb, ...] = (Verb.DRAIN,)) -> LifecycleStep:
    """A node that failed in service."""
    event = NodeEvent(kind=EventKind.FAILED, cause="gpu.xid", reason="Xid 79", evidence=("GPU 3 fell off the bus",))
    return LifecycleStep(
        node=NodeState(name=name, stage=Stage.DRAINING, since=at, cause="gpu.xid", jobs=frozenset({"j1"})),
        transition=Transition(
            node=name, at=at, before=Stage.ALLOCATED, after=Stage.DRAINING, event=event, reason="failed in service"
        ),
        actions=tuple(
            Action(node=name, verb=verb, reason="failed in service", cause="gpu.xid", at=at) for verb in verbs
        ),
    )


def arrived(life: NodeState, at: float = 1.0) -> LifecycleStep:
    """A node as it is, whatever led there."""
    event = NodeEvent(kind=EventKind.ENROLLED, reason="the agent enrolled")
    result = Transition(node=life.name, at=at, before=life.stage, after=life.stage, event=event, reason="enrolled")
    return LifecycleStep(node=life, transition=result)


def waiting(store: Store) -> list[StoredAction]:
    """Actions that have not ended, oldest first."""
    return [one for one in reversed(store.actions()) if one.state in (Outcome.PROPOSED, Outcome.CLAIMED)]


def proposed(store: Store, epoch: int, *names: str, at: float = 100.0) -> None:
    store.transit_all([step(name, at) for name in names], epoch)
