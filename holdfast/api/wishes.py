"""What an operator may ask of a node now and what it would do: shown before it is asked for. And who asks."""

import time
from dataclasses import dataclass
from typing import Any

from litestar import Request, get

from holdfast.api.access import MAY
from holdfast.api.desk import Asked
from holdfast.api.guard import caller_of
from holdfast.api.problem import Problem
from holdfast.lifecycle.machine import step
from holdfast.lifecycle.policy import Policy
from holdfast.model.life import Happening, NodeEvent, NodeLife, Stage, Verb
from holdfast.store.words import Role

WISHES = (Happening.QUARANTINE, Happening.RELEASE, Happening.RETEST, Happening.REMOVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WishView:
    wish: Happening
    possible: bool
    stage: Stage
    """Where the node would be."""
    actions: tuple[Verb, ...]
    words: str
    """What it means, or why it changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WishesView:
    dry_run: bool
    """Whether actions would only be recorded."""
    wishes: tuple[WishView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerView:
    name: str
    role: Role
    may: tuple[str, ...]
    """read, operate, administer."""


@get("/v1/nodes/{name:str}/wishes", opt={"right": "read"}, tags=["nodes"])
async def show_wishes(desk: Asked, name: str) -> WishesView:
    """What quarantine, release, retest and remove would do to this node now. Nothing is done."""
    life = desk.board.life(name)
    if life is None:
        raise Problem(404, f"no node is called {name[:80]!r}")
    policy = desk.board.policy
    now = time.time()
    return WishesView(dry_run=policy.dry_run, wishes=tuple(_preview(life, wish, now, policy) for wish in WISHES))


def _preview(life: NodeLife, wish: Happening, now: float, policy: Policy) -> WishView:
    event = NodeEvent(kind=wish, cause="operator", reason="")
    after, actions, words = step(life, event, now, policy)
    return WishView(
        wish=wish,
        possible=after.stage is not life.stage or bool(actions),
        stage=after.stage,
        actions=tuple(action.verb for action in actions),
        words=words,
    )


@get("/v1/me", opt={"right": "read"}, tags=["access"])
async def show_caller(request: Request[Any, Any, Any]) -> CallerView:
    """Whose token this is and what it gives the right to."""
    caller = caller_of(request)
    return CallerView(
        name=caller.name, role=caller.role, may=tuple(right for right, roles in MAY.items() if caller.role in roles)
    )


ROUTES = [show_wishes, show_caller]
