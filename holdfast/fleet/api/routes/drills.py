"""Routes of drills: list, play and watch."""

from typing import Any

from litestar import Request, delete, get, post
from litestar.params import JSONBody
from litestar.response import Stream

from holdfast.fleet.api.access import MAY
from holdfast.fleet.api.guard import caller_of
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.service import Service, ServiceDep
from holdfast.fleet.api.streams import Events, event, streamed
from holdfast.fleet.api.views.drills import DrillPlayback, DrillRequest, DrillRunView, DrillsView
from holdfast.lab.drills.shipped import shipped

READ = {"right": "read"}
DrillHttpRequest = Request[Any, Any, Any]


@get("/v1/drills", opt=READ, tags=["drills"])
async def list_drills(service: ServiceDep, request: DrillHttpRequest) -> DrillsView:
    """The shipped drills, and the one that is playing."""
    return DrillsView(drills=tuple(shipped().values()), run=service.drills.run, may_play=_may_play(service, request))


@post("/v1/drills/run", opt=READ, status_code=202, tags=["drills"])
async def play_drill(service: ServiceDep, request: DrillHttpRequest, data: JSONBody[DrillRequest]) -> DrillRunView:
    """Play a drill in a separate process, one at a time. The fleet is not affected."""
    _refuse_viewer(service, request)
    if data.drill not in shipped():
        raise Problem(404, f"no drill that comes along is called {data.drill[:80]!r}; /v1/drills lists them")
    return await service.drills.play(data, caller_of(request).name)


@delete("/v1/drills/run", opt=READ, status_code=200, tags=["drills"])
async def cancel_drill(service: ServiceDep, request: DrillHttpRequest) -> DrillRunView:
    """Stop the running drill."""
    _refuse_viewer(service, request)
    return await service.drills.cancel()


@get("/v1/drills/stream", opt={**READ, "stream": True}, tags=["drills"], media_type="text/event-stream")
async def watch_drill(service: ServiceDep, request: DrillHttpRequest) -> Stream:
    """Server-sent events of the run from its beginning to its end: `run` at each change, then `outcome`."""
    if service.drills.run is None:
        raise Problem(404, "no drill was played yet: POST /v1/drills/run plays one")
    return streamed(service.board.streams, request, _events(service.drills))


async def _events(room: DrillPlayback) -> Events:
    async for name, data in room.watch():
        yield event(name, data)


def _may_play(service: Service, request: DrillHttpRequest) -> bool:
    return service.board.demo or caller_of(request).role in MAY["operate"]


def _refuse_viewer(service: Service, request: DrillHttpRequest) -> None:
    if not _may_play(service, request):
        caller = caller_of(request)
        raise Problem(403, f"a token of role {caller.role.value} may watch drills and not play them")


ROUTES = [list_drills, play_drill, cancel_drill, watch_drill]
