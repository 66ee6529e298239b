"""The live event stream and the health endpoints."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec
from litestar import Response, get
from litestar.response import Stream

from holdfast.fleet.api.board import Board
from holdfast.fleet.api.service import ServiceDep
from holdfast.fleet.api.streams import Events, HttpRequest, event, streamed
from holdfast.fleet.store import StoreError
from holdfast.fleet.store.errors import public
from holdfast.model.records import Leader
from holdfast.runtime.components import ComponentView

STORE_SECONDS = 5.0  # shorter than the usual timeout of a readiness probe
_readiness = ThreadPoolExecutor(1, "readiness")
NEEDED = ("store", "slurm", "kubernetes")  # components without which nothing is decided or done
_asking: dict[int, "asyncio.Future[Leader | None]"] = {}
QUIET_SECONDS = 15.0  # interval of comments, to notice dead connections and expired tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    leading: bool
    waiting: int
    failing: tuple[str, ...]
    """Components of this controller that fail now; /v1/components says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    ready: bool
    missing: Mapping[str, str]
    """What does not answer: store, slurm, kubernetes, fleet. It is open to all, so that it names no host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentsView:
    components: tuple[ComponentView, ...]
    """Those that have failed at least once since this controller started."""


@get("/healthz", tags=["live"])
async def healthz(service: ServiceDep) -> Alive:
    """Liveness: this process answers. The body says whether it leads and which components fail."""
    failing = tuple(one.name for one in service.board.components.failing)
    return Alive(leading=service.board.leading, waiting=service.waiting, failing=failing)


@get("/readyz", tags=["live"])
async def readyz(service: ServiceDep) -> Response[Ready]:
    """200 while the store and the scheduler answer and the fleet was read; otherwise 503 with the missing parts."""
    failing = {one.name for one in service.board.components.failing}
    missing = {name: "it fails; /v1/components says why" for name in NEEDED if name in failing}
    if not service.board.read:
        missing["fleet"] = "the store has not been read yet"
    try:
        async with asyncio.timeout(STORE_SECONDS):
            await asyncio.shield(_asked(service))
    except StoreError as error:
        missing["store"] = public(error)
    except TimeoutError:
        missing["store"] = f"no answer within {STORE_SECONDS:g} s"
    return Response(Ready(ready=not missing, missing=missing), status_code=503 if missing else 200)


def _asked(service: ServiceDep) -> "asyncio.Future[Leader | None]":
    """Queries the store once for all simultaneous callers: they need no token and must not occupy all threads."""
    under_way = _asking.get(id(service))
    if under_way is None:
        under_way = asyncio.get_running_loop().run_in_executor(_readiness, service.store.current_leader)
        _asking[id(service)] = under_way
        under_way.add_done_callback(lambda done: _asking.pop(id(service), None) and done.exception())
    return under_way


@get("/v1/components", opt={"right": "read"}, tags=["live"])
async def list_components(service: ServiceDep) -> ComponentsView:
    """The controller's own health: failed components, with count, start and reason."""
    return ComponentsView(components=service.board.components.all)


@get("/v1/stream", opt={"right": "read", "stream": True}, tags=["live"], media_type="text/event-stream")
async def stream(service: ServiceDep, request: HttpRequest) -> Stream:
    """Server-sent events: `node`, `transition`, `incident`, `fleet`. The first event is the current fleet."""
    return streamed(service.board.streams, request, _events(service.board))


async def _events(board: Board) -> Events:
    watcher = board.watch()
    try:
        yield event("fleet", msgspec.json.encode(board.fleet()))
        while True:
            try:
                async with asyncio.timeout(QUIET_SECONDS):  # wait_for can swallow a cancellation in 3.11
                    message = await watcher.queue.get()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if message is None:
                return
            yield event(*message)
    finally:
        board.watchers.discard(watcher)


ROUTES = [healthz, readyz, list_components, stream]
