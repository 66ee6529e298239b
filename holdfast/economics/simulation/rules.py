"""Protocol of the lifecycle rules in a simulation. The real ones (fleet.decisions.lifecycle) are passed in."""

from typing import Any, Protocol

from holdfast.model.lifecycle import EventKind, NodeState, Stage, Verb

EventKey = tuple[EventKind, str, str, bool]
"""Kind, cause, job, spare: what happened to a node."""


class NodeStage(Protocol):
    """Where a node is in its life; one for all nodes that the rules do not tell apart."""

    @property
    def life(self) -> NodeState: ...

    @property
    def stage(self) -> Stage: ...

    @property
    def may_repair(self) -> bool: ...


class SimulatedStep(Protocol):
    @property
    def after(self) -> NodeStage: ...

    @property
    def verbs(self) -> tuple[Verb, ...]: ...

    @property
    def recount(self) -> bool:
        """Whether the guard counts the node differently now."""


class NodeRecord(Protocol):
    @property
    def state(self) -> NodeStage: ...


class FleetGuard(Protocol):
    """Counts the fleet, and says what it bears."""

    def count(self, life: NodeState, change: int) -> None: ...

    def open(self) -> bool:
        """Whether so many nodes are out that no other may be taken out."""

    def spares_wanted(self) -> int:
        """How many tested nodes to hold back now."""


class Rules(Protocol):
    def begin(self, stage: Stage) -> Any:
        """The course of a node that has just been tested, which `step` moves on."""

    def step(self, history: Any, event: EventKey, now: float) -> SimulatedStep: ...

    def guard(self) -> FleetGuard: ...
