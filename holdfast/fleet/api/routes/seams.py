"""Routes of seams: rules, incidents, and signals that no agent reads."""

import asyncio
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, JSONBody

from holdfast.fleet.api import runbook
from holdfast.fleet.api.guard import caller_of
from holdfast.fleet.api.post_mortem.text import as_markdown, by_clock
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.runbook import RunbookView
from holdfast.fleet.api.service import ServiceDep
from holdfast.fleet.api.views.common import IncidentView
from holdfast.fleet.api.views.show import incident_view
from holdfast.fleet.incidents.views import PlannedWorksView, PlannedWorkView, SeamsView, SignalsRequest, SignalsTaken
from holdfast.model.incident import Incident


@get("/v1/incidents/{wanted:path}", opt={"right": "read"}, tags=["fleet"])
async def show_incident(service: ServiceDep, wanted: FromPath[str]) -> IncidentView:
    """One incident by id, or the newest one of a subject. An incident of a seam has an account."""
    found = await _incident(service, wanted)
    return incident_view(found, service.incident_figures(found))


@get("/v1/post-mortems/{wanted:path}", opt={"right": "read"}, tags=["fleet"], media_type="text/markdown")
async def show_post_mortem(service: ServiceDep, wanted: FromPath[str]) -> str:
    """The post-mortem of an incident as Markdown: what happened, its cause, cost, timeline, runbook and charts in
    text."""
    found = await _incident(service, wanted)
    began, factor = service.board.clock_began, service.board.time_factor
    view = msgspec.to_builtins(incident_view(found, service.incident_figures(found)))
    return as_markdown(by_clock(view, lambda at: began + (at - began) * factor, factor))


@get("/v1/runbooks/{wanted:path}", opt={"right": "read"}, tags=["fleet"])
async def show_runbook(service: ServiceDep, wanted: FromPath[str]) -> RunbookView:
    """The runbook of an incident with its names filled in; no steps if its kind has no runbook."""
    return runbook.of(await _incident(service, wanted))


async def _incident(service: ServiceDep, wanted: str) -> Incident:
    wanted = wanted.lstrip("/")
    found = await asyncio.to_thread(service.store.incident, wanted)
    if found is None:
        raise Problem(404, f"no incident has the id or subject {wanted[:80]!r}")
    return found


@get("/v1/seams", opt={"right": "read"}, tags=["fleet"])
async def list_seams(service: ServiceDep) -> SeamsView:
    """The seam rules, and the state of the facility sources."""
    return service.seams_view()


@post("/v1/signals", opt={"right": "report signals"}, status_code=200, tags=["agents"])
async def receive_signals(
    service: ServiceDep, request: Request[Any, Any, Any], data: JSONBody[SignalsRequest]
) -> SignalsTaken:
    """Send signals and events, such as step times or a route change. They are kept in memory, not stored."""
    return service.receive_signals(caller_of(request), data)


@get("/v1/planned", opt={"right": "read"}, tags=["fleet"])
async def list_planned(service: ServiceDep) -> PlannedWorksView:
    """Announced work, including work that ended within the last day."""
    return await service.planned()


@post("/v1/planned", opt={"right": "operate"}, status_code=200, tags=["fleet"])
async def announce(
    service: ServiceDep, request: Request[Any, Any, Any], data: JSONBody[PlannedWorkView]
) -> PlannedWorksView:
    """Announce work, or change the announcement of the same name. Findings that it explains open no incident."""
    return await service.announce(data, caller_of(request))


@post("/v1/planned/{name:str}/withdraw", opt={"right": "operate"}, status_code=200, tags=["fleet"])
async def withdraw(service: ServiceDep, request: Request[Any, Any, Any], name: FromPath[str]) -> PlannedWorksView:
    """Withdraw announced work: its findings open incidents again."""
    return await service.withdraw(name, caller_of(request))


ROUTES = [show_incident, show_post_mortem, show_runbook, list_seams, receive_signals, list_planned, announce, withdraw]
