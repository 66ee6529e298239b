"""Route of a node's parts."""

import asyncio

from litestar import get
from litestar.params import FromPath

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.service import Asked
from holdfast.fleet.api.views.parts import PartsView, gpus_of, outages_of, tests_of
from holdfast.fleet.store.story import MOST_LINES

MOST_ACTIONS = 500
MOST_TESTS = 50
MOST_OUTAGES = 100


@get("/v1/nodes/{name:str}/parts", opt={"right": "read"}, tags=["nodes"])
async def show_parts(service: Asked, name: FromPath[str]) -> PartsView:
    """Its GPUs over the last hour, the outages of its ports and its past tests, as far as they are remembered."""
    if service.board.node(name) is None:
        raise Problem(404, f"no node is called {name[:80]!r}")
    reported = service.digests(name)
    page = await asyncio.to_thread(service.store.story, name, MOST_LINES)
    actions = await asyncio.to_thread(service.store.actions, name, MOST_ACTIONS)
    outages, tests = outages_of(page.lines), tests_of(actions)
    return PartsView(
        times=tuple(at for at, _ in reported),
        gpus=gpus_of(reported),
        outages=outages[:MOST_OUTAGES],
        tests=tests[:MOST_TESTS],
        note=f"looked for in the last {MOST_LINES:,} lines of the story" if page.older else "",
    )


ROUTES = [show_parts]
