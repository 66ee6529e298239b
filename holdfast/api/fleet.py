"""Routes about the fleet and its history, and about who may ask."""

import asyncio
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.params import Parameter

from holdfast.api import tokens
from holdfast.api.desk import Asked
from holdfast.api.guard import caller_of
from holdfast.api.ingest import PATH
from holdfast.api.probe_views import ProbesView
from holdfast.api.problem import Problem
from holdfast.api.show import action_view, transition_view
from holdfast.api.views import (
    Ack,
    ActionsView,
    AuditView,
    EnrolAsk,
    Enrolled,
    FleetView,
    IncidentsView,
    JobsView,
    RevokeAsk,
    Revoked,
    TokenAsk,
    TokenMade,
    TransitionsView,
)
from holdfast.model.incident import IncidentState
from holdfast.model.report import Report

Most = Annotated[int, Parameter(ge=1, le=10_000, description="At most so many.")]
Since = Annotated[float, Parameter(ge=0, le=1e12, description="From this time on, in seconds since the epoch.")]
Until = Annotated[float | None, Parameter(ge=0, le=1e12, description="Only those that had started by then.")]
READ = {"right": "read"}


@get("/v1/fleet", opt=READ, tags=["fleet"])
async def show_fleet(desk: Asked) -> FleetView:
    """Counts, pools with their breakers, and whether actions are carried out."""
    return desk.board.fleet()


@get("/v1/incidents", opt=READ, tags=["fleet"])
async def list_incidents(desk: Asked, only: IncidentState | None = None, limit: Most = 100) -> IncidentsView:
    """Newest first."""
    return IncidentsView(incidents=tuple(await asyncio.to_thread(desk.store.incidents, only, limit)))


@get("/v1/actions", opt=READ, tags=["fleet"])
async def list_actions(desk: Asked, node: str = "", limit: Most = 100) -> ActionsView:
    """Newest first."""
    found = await asyncio.to_thread(desk.store.actions, node or None, limit)
    return ActionsView(actions=tuple(action_view(one) for one in found))


@get("/v1/transitions", opt=READ, tags=["fleet"])
async def list_transitions(desk: Asked, since: Since = 0.0, limit: Most = 1_000) -> TransitionsView:
    """Oldest first."""
    found = await asyncio.to_thread(desk.store.transitions, since, limit)
    return TransitionsView(transitions=tuple(transition_view(one) for one in found))


@get("/v1/jobs", opt=READ, tags=["fleet"])
async def list_jobs(
    desk: Asked, node: str = "", since: Since = 0.0, until: Until = None, limit: Most = 1_000
) -> JobsView:
    """Latest start first: those that run or ended since. The next page: until the start of the last one told."""
    return JobsView(jobs=tuple(await asyncio.to_thread(desk.store.jobs, node or None, since, limit, until)))


@get("/v1/probes", opt=READ, tags=["fleet"])
async def show_probes(desk: Asked) -> ProbesView:
    """Which leaves were proven when and how fast, who is suspected, who meets now and next."""
    return await desk.probes()


@get("/v1/audit", opt={"right": "administer"}, tags=["access"])
async def read_audit(desk: Asked, since: Since = 0.0, limit: Most = 1_000) -> AuditView:
    """Who asked for what, and what came of it. Newest first."""
    return AuditView(entries=tuple(await asyncio.to_thread(desk.store.audit, since, limit)))


@post("/v1/enrol", status_code=200, tags=["agents"])
async def enrol(desk: Asked, data: EnrolAsk) -> Enrolled:
    """A node's own credential for a join token."""
    return await desk.enrol(data)


@post("/v1/credential", opt={"right": "report"}, status_code=200, tags=["agents"])
async def renew_credential(desk: Asked, request: Request[Any, Any, Any]) -> Enrolled:
    """A new credential for the node that asks with its old one, before that expires."""
    return await desk.renew(caller_of(request))


@post(PATH, opt={"right": "report"}, status_code=200, tags=["agents"])
async def report(desk: Asked, request: Request[Any, Any, Any], data: list[Report]) -> Ack:
    """What agents saw. Answered after it is committed. (Served by api/ingest.py; here for the document.)"""
    return await desk.take(caller_of(request), data)


@post("/v1/tokens", opt={"right": "administer"}, status_code=200, tags=["access"])
async def make_token(desk: Asked, request: Request[Any, Any, Any], data: TokenAsk) -> TokenMade:
    """A token for a person or program, or a join token with which agents enrol. Shown this once."""
    return await desk.make_token(data, caller_of(request))


@post("/v1/tokens/revoke", opt={"right": "administer"}, status_code=200, tags=["access"])
async def revoke_token(desk: Asked, request: Request[Any, Any, Any], data: RevokeAsk) -> Revoked:
    """End all tokens of a name, or the one with this hash."""
    if not 0 < len(data.target) <= 255:
        raise Problem(400, "target: expected a name or the hash of a token")
    return Revoked(revoked=await desk.revoke(data.target, caller_of(request)))


ROUTES = [
    show_fleet,
    list_incidents,
    list_actions,
    list_transitions,
    list_jobs,
    show_probes,
    read_audit,
    enrol,
    renew_credential,
    report,
    make_token,
    revoke_token,
    *tokens.ROUTES,
]
