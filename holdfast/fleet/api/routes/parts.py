"""Routes of a node's parts: their condition, their identity, and tickets."""

import asyncio
from typing import Any

from litestar import Request, get, post
from litestar.params import FromPath, JSONBody

from holdfast.fleet.api.guard import caller_of
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.service import ServiceDep
from holdfast.fleet.api.views.common import TicketRequest
from holdfast.fleet.api.views.parts import PartsView, gpus_of, outages_of, tests_of
from holdfast.fleet.store.history import MOST_LINES
from holdfast.model.assets import AssetRecord

MOST_ACTIONS = 500
MOST_TESTS = 50
MOST_OUTAGES = 100


@get("/v1/nodes/{name:str}/parts", opt={"right": "read"}, tags=["nodes"])
async def show_parts(service: ServiceDep, name: FromPath[str]) -> PartsView:
    """GPUs over the last hour, port outages and past tests that are still in memory."""
    if service.board.node(name) is None:
        raise Problem(404, f"no node is called {name[:80]!r}")
    reported = service.digests(name)
    page = await asyncio.to_thread(service.store.node_history, name, MOST_LINES)
    actions = await asyncio.to_thread(service.store.actions, name, MOST_ACTIONS)
    outages, tests = outages_of(page.lines), tests_of(actions)
    return PartsView(
        times=tuple(at for at, _ in reported),
        gpus=gpus_of(reported),
        outages=outages[:MOST_OUTAGES],
        tests=tests[:MOST_TESTS],
        note=f"looked for in the last {MOST_LINES:,} lines of the history" if page.older else "",
    )


@get("/v1/nodes/{name:str}/assets", opt={"right": "read"}, tags=["nodes"])
async def show_assets(service: ServiceDep, name: FromPath[str]) -> AssetRecord:
    """Parts with serial numbers, earlier parts, and tickets."""
    if service.board.node(name) is None:
        raise Problem(404, f"no node is called {name[:80]!r}")
    return await asyncio.to_thread(service.asset_record, name)


@post("/v1/nodes/{name:str}/tickets", opt={"right": "operate"}, status_code=200, tags=["nodes"])
async def note_ticket(
    service: ServiceDep, request: Request[Any, Any, Any], name: FromPath[str], data: JSONBody[TicketRequest]
) -> AssetRecord:
    """Record a ticket about a node or one of its parts, or its new state."""
    return await service.note_ticket(name, data, caller_of(request))


ROUTES = [show_parts, show_assets, note_ticket]
