"""Protocol of the lifecycle rules in a simulation. The real ones (fleet.decisions.lifecycle) are passed in."""

from typing import Any, Protocol

from holdfast.model.lifecycle import EventKind, NodeState, Stage, Verb

EventKey = tuple[EventKind, str, str, bool]
"""Kind, cause, job, spare: what happened to a node."""


class NodeStage(Protocol):
    """The state of a node; nodes that the rules treat equally share one."""

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
        """Whether the guard must count the node again."""


class NodeRecord(Protocol):
    @property
    def state(self) -> NodeStage: ...


class FleetGuard(Protocol):
    """Counts nodes and says whether another one may leave service."""

    def count(self, life: NodeState, change: int) -> None: ...

    def open(self) -> bool:
        """Whether the breaker is open: no further node may leave service."""

    def spares_wanted(self) -> int:
        """Number of tested nodes to hold back now."""


class Rules(Protocol):
    def begin(self, stage: Stage) -> Any:
        """The state of a freshly tested node; `step` advances it."""

    def step(self, history: Any, event: EventKey, now: float) -> SimulatedStep: ...

    def guard(self) -> FleetGuard: ...
