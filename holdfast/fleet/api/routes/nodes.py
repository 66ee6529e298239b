"""Routes of nodes: state, history and operator actions."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from holdfast.fleet.api import operator_actions
from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.guard import caller_of
from holdfast.fleet.api.problem import Problem, busy
from holdfast.fleet.api.service import Service, ServiceDep
from holdfast.fleet.api.views.common import Forgotten, HistoryView, NodeDetail, NodesView, NodeView, OperatorRequest
from holdfast.fleet.api.views.show import history_view, verdict_views
from holdfast.fleet.inbox.next_step import of_node
from holdfast.fleet.store import BadCursor
from holdfast.fleet.store.history import MOST_LINES
from holdfast.model.health import Health
from holdfast.model.incident import IncidentState
from holdfast.model.lifecycle import EventKind, Stage

MOST_VERDICTS = 1_000
MOST_NODES = 10_000
MOST_INCIDENTS = 1_000
WORST_FIRST = {"fail": 0, "unknown": 1, "degraded": 2, "pass": 3, "not_applicable": 4, "disabled": 4}
Limit = Annotated[int, QueryParameter(ge=1, le=MOST_LINES, description="Lines of a page.")]
Before = Annotated[str, QueryParameter(description="`next` of the page before; '' is the newest page.")]


MostNodes = Annotated[int, QueryParameter(ge=0, le=MOST_NODES, description="Nodes of a page; 0: all of them.")]
After = Annotated[str, QueryParameter(description="`next` of the page before; '' is the first page.")]
OWN = {"right": "read own nodes"}


@get("/v1/nodes", opt=OWN, tags=["nodes"])
async def list_nodes(
    service: ServiceDep,
    request: Request[Any, Any, Any],
    pool: FromQuery[str] = "",
    stage: FromQuery[Stage | None] = None,
    health: FromQuery[Health | None] = None,
    limit: MostNodes = 0,
    after: After = "",
) -> NodesView:
    """All nodes by name, optionally of one pool, stage or health. A job's token shows only the job's nodes."""
    caller = caller_of(request)
    found = service.board.nodes(pool, stage, health, after)
    shown = [one for one in found if caller.may_see(one.name, one.jobs)]
    page = tuple(shown[:limit] if limit else shown)
    return NodesView(nodes=page, next=page[-1].name if len(page) < len(shown) else "")


@get("/v1/nodes/{name:str}", opt=OWN, tags=["nodes"])
async def show_node(service: ServiceDep, request: Request[Any, Any, Any], name: FromPath[str]) -> NodeDetail:
    """One node with the current verdict of every check."""
    view = _known(service, name, caller_of(request))
    shown = {field.name: getattr(view, field.name) for field in fields(view)}
    changes = (await asyncio.to_thread(service.store.verdicts, name)).get(name, ())
    incidents = await asyncio.to_thread(service.store.incidents, IncidentState.OPEN, MOST_INCIDENTS)
    life = service.board.life(name)
    current = sorted(verdict_views(life, changes, incidents), key=lambda one: WORST_FIRST.get(one.health, 0))
    left_out = max(0, len(current) - MOST_VERDICTS)
    return NodeDetail(
        **shown,
        verdicts=tuple(current[:MOST_VERDICTS]),
        verdicts_left_out=left_out,
        next_step=of_node(life, changes, service.board.policy, incidents) if life is not None else None,
    )


@get("/v1/nodes/{name:str}/history", opt=OWN, tags=["nodes"])
async def node_history(
    service: ServiceDep, request: Request[Any, Any, Any], name: FromPath[str], limit: Limit = 50, before: Before = ""
) -> HistoryView:
    """History of a node: transitions, verdicts, events and actions, newest first."""
    _known(service, name, caller_of(request))
    try:
        return history_view(await asyncio.to_thread(service.store.node_history, name, limit, before))
    except BadCursor as error:
        raise Problem(400, f"before: {error}") from None


@post("/v1/nodes/{name:str}/forget", opt={"right": "operate"}, status_code=200, tags=["nodes"])
async def forget_node(
    service: ServiceDep, request: Request[Any, Any, Any], name: FromPath[str], data: JSONBody[OperatorRequest]
) -> Forgotten:
    """Delete a removed node with its verdicts and credentials. If it enrols again it is a new node."""
    await service.forget_node(name, data, caller_of(request))
    return Forgotten(name=name)


def _known(service: Service, name: str, caller: Caller) -> NodeView:
    view = service.board.node(name)
    if not caller.may_see(name, view.jobs if view else ()):
        raise Problem(403, f"the token of {caller.name} is not for {name[:80]!r}", who=(caller.name, caller.role.value))
    if view is None and not service.board.read:
        raise busy("the controller starts and has not read its store yet; try again", 1)
    if view is None:
        raise Problem(404, f"no node is called {name[:80]!r}")
    return view


def _operator_route(kind: EventKind, text: str) -> Any:
    async def handle(
        service: ServiceDep, request: Request[Any, Any, Any], name: FromPath[str], data: JSONBody[OperatorRequest]
    ) -> NodeView:
        return await service.operator_request(name, kind, data, caller_of(request))

    handle.__doc__ = text
    handle.__name__ = kind.value
    path = f"/v1/nodes/{{name:str}}/{kind.value}"
    right = "retest own nodes" if kind in (EventKind.RETEST, EventKind.QUARANTINE) else "operate"
    route: Callable[[Callable[..., Awaitable[NodeView]]], Any] = post(
        path, opt={"right": right}, status_code=200, tags=["nodes"], operation_id=kind.value
    )
    return route(handle)


ROUTES = [
    list_nodes,
    show_node,
    node_history,
    forget_node,
    *operator_actions.ROUTES,
    _operator_route(EventKind.QUARANTINE, "Take a node out of service; running jobs finish first."),
    _operator_route(EventKind.RELEASE, "Let a quarantined or removed node back: it is tested first."),
    _operator_route(EventKind.RETEST, "Test a node in full before anything runs there again."),
    _operator_route(EventKind.REMOVE, "Take a node out of the fleet until it is released."),
]
