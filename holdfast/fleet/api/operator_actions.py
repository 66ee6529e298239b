"""Operator actions that a node allows now, with their effects."""

from dataclasses import dataclass
from typing import Any

from litestar import Request, get
from litestar.params import FromPath

from holdfast.fleet.api.access import MAY
from holdfast.fleet.api.guard import caller_of
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.service import ServiceDep
from holdfast.fleet.decisions.lifecycle.machine import step
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.records import Role
from holdfast.runtime import clock

OPERATOR_ACTIONS = (EventKind.QUARANTINE, EventKind.RELEASE, EventKind.RETEST, EventKind.REMOVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorActionView:
    request: EventKind
    possible: bool
    stage: Stage
    """Where the node would be."""
    actions: tuple[Verb, ...]
    description: str
    """What the action does, or why it has no effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorActionsView:
    dry_run: bool
    """Whether actions would only be recorded."""
    requests: tuple[OperatorActionView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerView:
    name: str
    role: Role
    may: tuple[str, ...]
    """read, operate, administer."""


@get("/v1/nodes/{name:str}/operator-actions", opt={"right": "read"}, tags=["nodes"])
async def show_operator_actions(service: ServiceDep, name: FromPath[str]) -> OperatorActionsView:
    """The effect that quarantine, release, retest and remove would have on this node now. Changes nothing."""
    life = service.board.life(name)
    if life is None:
        raise Problem(404, f"no node is called {name[:80]!r}")
    policy = service.board.policy
    now = clock.now()
    return OperatorActionsView(
        dry_run=policy.dry_run, requests=tuple(_preview(life, request, now, policy) for request in OPERATOR_ACTIONS)
    )


def _preview(life: NodeState, request: EventKind, now: float, policy: Policy) -> OperatorActionView:
    event = NodeEvent(kind=request, cause="operator", reason="")
    after, actions, description = step(life, event, now, policy)
    return OperatorActionView(
        request=request,
        possible=after.stage is not life.stage or bool(actions),
        stage=after.stage,
        actions=tuple(action.verb for action in actions),
        description=description,
    )


@get("/v1/me", opt={"right": "read"}, tags=["access"])
async def show_caller(request: Request[Any, Any, Any]) -> CallerView:
    """The owner and the rights of the caller's token."""
    caller = caller_of(request)
    return CallerView(
        name=caller.name, role=caller.role, may=tuple(right for right, roles in MAY.items() if caller.role in roles)
    )


ROUTES = [show_operator_actions, show_caller]
