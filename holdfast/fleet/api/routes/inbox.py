"""Routes of the home page: its figures, items that need an operator, and runbooks."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from holdfast.catalog import runbooks
from holdfast.config.suggest import hint
from holdfast.fleet.api.guard import caller_of
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.runbook import RunbookView, view
from holdfast.fleet.api.service import ServiceDep
from holdfast.fleet.inbox.figures import Figures, FigureSample
from holdfast.fleet.inbox.next_step import values
from holdfast.fleet.inbox.states import ItemCommand, ItemState, ItemView
from holdfast.model.inbox import ItemNote

Points = Annotated[int, QueryParameter(ge=2, le=1_000, description="Limit of samples.")]
Only = Annotated[ItemState | None, QueryParameter(description="Only items in this state.")]
Owner = Annotated[str, QueryParameter(description="Only items of this team.")]
Assignee = Annotated[str, QueryParameter(description="Only items that are assigned to this person.")]
PastHours = Annotated[
    float, QueryParameter(ge=0, le=24 * 90, description="Also items that ended within this number of hours.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxView:
    items: tuple[ItemView, ...]
    """Worst first: what loses work now, then what costs most an hour, then what waits longest."""
    counts: Mapping[str, int]
    """All items by state, whatever was asked for."""
    past: tuple[ItemView, ...] = ()
    """Items that are over, the last one first: who resolved them or how they ended, when, and the last comment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDetail:
    item: ItemView
    notes: tuple[ItemNote, ...]
    """Newest first."""


@get("/v1/inbox", opt={"right": "read"}, tags=["inbox"])
async def list_inbox(
    service: ServiceDep, only: Only = None, owner: Owner = "", assignee: Assignee = "", past_hours: PastHours = 0.0
) -> InboxView:
    """Nodes that need an operator, open incidents and jobs that died, with remedy, owner, runbook and price."""
    found = await service.inbox()
    past = await service.past_items(past_hours) if past_hours > 0 else []

    def chosen(items: list[ItemView]) -> tuple[ItemView, ...]:
        return tuple(one for one in items if owner in ("", one.owner) and assignee in ("", one.assignee))

    wanted = [one for one in found if only is None or one.state is only]
    counts = Counter(one.state.value for one in found)
    return InboxView(items=chosen(wanted), counts=counts, past=chosen(past))


@get("/v1/inbox/{key:path}", opt={"right": "read"}, tags=["inbox"])
async def show_item(service: ServiceDep, key: FromPath[str]) -> ItemDetail:
    """One item with its history; also one that is over."""
    wanted = key.lstrip("/")
    found = next((one for one in await service.inbox() if one.key == wanted), None)
    found = found or await service.past_item(wanted)
    if found is None:
        raise Problem(404, f"no item of the inbox is {wanted[:120]!r}; GET /v1/inbox lists the open items")
    notes = await asyncio.to_thread(service.store.item_notes, wanted)
    return ItemDetail(item=found, notes=tuple(notes))


@post("/v1/inbox", opt={"right": "operate"}, status_code=200, tags=["inbox"])
async def act_on_item(service: ServiceDep, request: Request[Any, Any, Any], data: JSONBody[ItemCommand]) -> ItemView:
    """Acknowledge, assign, mute, comment, resolve or reopen an item. Stored and audited."""
    return await service.act_on_item(data, caller_of(request))


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    figures: Figures
    currency: str
    history: tuple[FigureSample, ...]
    """Oldest first, from the controller's memory: at most a day, and nothing from before it started."""


@get("/v1/home", opt={"right": "read"}, tags=["fleet"])
async def show_home(service: ServiceDep, points: Points = 240) -> HomeView:
    """GPUs productive and lost now; lost GPU-hours and money, and goodput, of the last 24 hours."""
    now = await service.figures_now()
    return HomeView(figures=now, currency=service.currency, history=tuple(service.figures.thinned(points)))


@get("/v1/runbook/{name:str}", opt={"right": "read"}, tags=["fleet"])
async def show_runbook_by_name(
    name: FromPath[str], node: FromQuery[str] = "", part: FromQuery[str] = ""
) -> RunbookView:
    """The runbook of a check, cause or alert, with a node and a part of it (gpu/3) filled in."""
    if runbooks.find(name) is None:
        raise Problem(404, f"no runbook is called {name[:80]!r}; {hint(name[:80], runbooks.all_runbooks())}")
    subjects = (f"node/{node}/{part}",) if part else ()
    return view(name, values(node[:253], subjects, name))


ROUTES = [show_home, list_inbox, show_item, act_on_item, show_runbook_by_name]
