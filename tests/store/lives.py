"""Steps of a node's life to put into a store."""

from holdfast.model.life import Action, Happening, NodeEvent, NodeLife, Stage, Verb
from holdfast.store import Store
from holdfast.store.words import Step, Transition


def step(name: str = "n1", at: float = 100.0, verbs: tuple[Verb, ...] = (Verb.DRAIN,)) -> Step:
    """A node that failed in service."""
    event = NodeEvent(kind=Happening.FAILED, cause="gpu.xid", reason="Xid 79", evidence=("GPU 3 fell off the bus",))
    return Step(
        node=NodeLife(name=name, stage=Stage.DRAINING, since=at, cause="gpu.xid", jobs=frozenset({"j1"})),
        transition=Transition(
            node=name, at=at, before=Stage.ALLOCATED, after=Stage.DRAINING, event=event, reason="failed in service"
        ),
        actions=tuple(
            Action(node=name, verb=verb, reason="failed in service", cause="gpu.xid", at=at) for verb in verbs
        ),
    )


def proposed(store: Store, epoch: int, *names: str, at: float = 100.0) -> None:
    store.transit_all([step(name, at) for name in names], epoch)
