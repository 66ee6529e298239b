"""Routes of the fleet, its history, and the caller's own rights."""

import asyncio
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.params import FromQuery, JSONBody, QueryParameter

from holdfast.fleet.api.guard import caller_of
from holdfast.fleet.api.ingest import PATH
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.routes import tokens
from holdfast.fleet.api.service import ServiceDep
from holdfast.fleet.api.views.common import (
    ActionsView,
    AuditView,
    Enrolled,
    EnrolRequest,
    FleetView,
    IncidentsView,
    JobsView,
    OrdersView,
    PendingView,
    Revoked,
    RevokeRequest,
    TokenMade,
    TokenRequest,
    TransitionsView,
    VouchRequest,
)
from holdfast.fleet.api.views.show import action_view, incident_view, transition_view
from holdfast.model.incident import IncidentState
from holdfast.model.records import CredentialKind, PendingNode
from holdfast.model.wire.order import Ack, Admission
from holdfast.model.wire.report import Report

Most = Annotated[int, QueryParameter(ge=1, le=10_000, description="Limit of the list.")]
Since = Annotated[float, QueryParameter(ge=0, le=1e12, description="From this time on, in seconds since the epoch.")]
Until = Annotated[float | None, QueryParameter(ge=0, le=1e12, description="Only those that had started by then.")]
READ = {"right": "read"}


@get("/v1/fleet", opt=READ, tags=["fleet"])
async def show_fleet(service: ServiceDep) -> FleetView:
    """Counts, pools with their breakers, and whether actions are carried out."""
    return service.board.fleet()


@get("/v1/incidents", opt=READ, tags=["fleet"])
async def list_incidents(
    service: ServiceDep, only: FromQuery[IncidentState | None] = None, limit: Most = 100
) -> IncidentsView:
    """Newest first."""
    found = await asyncio.to_thread(service.store.incidents, only, limit)
    return IncidentsView(incidents=tuple(incident_view(one, service.incident_figures(one)) for one in found))


@get("/v1/actions", opt=READ, tags=["fleet"])
async def list_actions(service: ServiceDep, node: FromQuery[str] = "", limit: Most = 100) -> ActionsView:
    """Newest first."""
    found = await asyncio.to_thread(service.store.actions, node or None, limit)
    return ActionsView(actions=tuple(action_view(one) for one in found))


@get("/v1/orders", opt=READ, tags=["fleet"])
async def list_orders(service: ServiceDep, node: FromQuery[str] = "", limit: Most = 1_000) -> OrdersView:
    """Orders that agents have not answered, oldest first. Only the leader has them."""
    return await service.orders(node, limit)


@get("/v1/transitions", opt=READ, tags=["fleet"])
async def list_transitions(service: ServiceDep, since: Since = 0.0, limit: Most = 1_000) -> TransitionsView:
    """Oldest first."""
    found = await asyncio.to_thread(service.store.transitions, since, limit)
    return TransitionsView(transitions=tuple(transition_view(one) for one in found))


@get("/v1/jobs", opt=READ, tags=["fleet"])
async def list_jobs(
    service: ServiceDep, node: FromQuery[str] = "", since: Since = 0.0, until: Until = None, limit: Most = 1_000
) -> JobsView:
    """Jobs that run or ended since a time, latest start first. For the next page, set `until` to the start of the last
    one."""
    return JobsView(jobs=tuple(await asyncio.to_thread(service.store.jobs, node or None, since, limit, until)))


@get("/v1/audit", opt={"right": "administer"}, tags=["access"])
async def read_audit(service: ServiceDep, since: Since = 0.0, limit: Most = 1_000) -> AuditView:
    """Requests with caller and outcome, newest first."""
    return AuditView(entries=tuple(await asyncio.to_thread(service.store.audit, since, limit)))


@post("/v1/enrol", status_code=200, tags=["agents"])
async def enrol(service: ServiceDep, request: Request[Any, Any, Any], data: JSONBody[EnrolRequest]) -> Enrolled:
    """A node's own credential for a join token."""
    return await service.enrol(data, request.client.host if request.client else "")


@get("/v1/pending", opt={"right": "read"}, tags=["agents"])
async def list_pending(service: ServiceDep) -> PendingView:
    """Nodes that enrolled and wait for approval. Their reports are refused, and no action is taken on them."""
    return PendingView(pending=tuple(await asyncio.to_thread(service.store.pending)))


@post("/v1/pending/vouch", opt={"right": "operate"}, status_code=200, tags=["agents"])
async def vouch_for_node(
    service: ServiceDep, request: Request[Any, Any, Any], data: JSONBody[VouchRequest]
) -> PendingNode:
    """Approve a node: it joins the fleet and is tested before work starts there."""
    return await service.vouch(data, caller_of(request))


@post("/v1/credential", opt={"right": "report"}, status_code=200, tags=["agents"])
async def renew_credential(service: ServiceDep, request: Request[Any, Any, Any]) -> Enrolled:
    """A new credential for a node, in exchange for its old one before that expires."""
    return await service.renew(caller_of(request))


@get("/v1/admission", opt={"right": "report"}, tags=["agents"])
async def admission(service: ServiceDep, request: Request[Any, Any, Any]) -> Admission:
    """Whether work may start now on the caller's node. The node's prolog sends this request."""
    return await service.admission(caller_of(request))


@post(PATH, opt={"right": "report"}, status_code=200, tags=["agents"])
async def report(data: JSONBody[list[Report]]) -> Ack:
    """Reports of agents, acknowledged after the commit. (Served by api/ingest.py; listed here for the OpenAPI
    document.)"""
    raise Problem(404, f"reports are sent to {PATH}")


@post("/v1/tokens", opt={"right": "administer"}, status_code=200, tags=["access"])
async def make_token(service: ServiceDep, request: Request[Any, Any, Any], data: JSONBody[TokenRequest]) -> TokenMade:
    """Create a token for a person or program, or a join token for agents. It is shown only once."""
    return await service.make_token(data, caller_of(request))


@post("/v1/tokens/revoke", opt={"right": "administer"}, status_code=200, tags=["access"])
async def revoke_token(service: ServiceDep, request: Request[Any, Any, Any], data: JSONBody[RevokeRequest]) -> Revoked:
    """Revoke all tokens of a node or a user, or the one with this hash."""
    if not 0 < len(data.target) <= 255:
        raise Problem(400, "target: expected a name or the hash of a token")
    if data.kind not in ("", *CredentialKind):
        raise Problem(400, "kind: expected node or user, or nothing where the name is only one of them")
    return Revoked(revoked=await service.revoke(data, caller_of(request)))


ROUTES = [
    show_fleet,
    list_incidents,
    list_actions,
    list_orders,
    list_transitions,
    list_jobs,
    read_audit,
    enrol,
    list_pending,
    vouch_for_node,
    renew_credential,
    admission,
    report,
    make_token,
    revoke_token,
    *tokens.ROUTES,
]
