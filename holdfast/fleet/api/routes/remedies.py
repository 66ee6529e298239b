"""Route of runbooks by name: checks, causes, alerts."""

from litestar import get
from litestar.params import FromPath, FromQuery

from holdfast.catalog import runbooks
from holdfast.config.suggest import hint
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.runbook import RunbookView, view
from holdfast.fleet.inbox.next_step import values


@get("/v1/runbook/{name:str}", opt={"right": "read"}, tags=["fleet"])
async def show_runbook_by_name(
    name: FromPath[str], node: FromQuery[str] = "", part: FromQuery[str] = ""
) -> RunbookView:
    """What to look at and to do for a check, cause or alert; a node and a part of it (gpu/3) are filled in."""
    if runbooks.find(name) is None:
        raise Problem(404, f"no runbook is called {name[:80]!r}; {hint(name[:80], runbooks.all_runbooks())}")
    subjects = (f"node/{node}/{part}",) if part else ()
    return view(name, values(node[:253], subjects, name))


ROUTES = [show_runbook_by_name]
