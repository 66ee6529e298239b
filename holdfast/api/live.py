"""What is asked all the time: the live stream, metrics for Prometheus, and whether we are there."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import msgspec
from litestar import Response, get
from litestar.response import Stream

from holdfast.api.board import Board, Watcher
from holdfast.api.desk import Asked
from holdfast.api.problem import Problem

MOST_WATCHERS = 200
QUIET_SECONDS = 15.0  # a comment now and then, so that a dead connection is noticed


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    leading: bool
    waiting: int


@get("/healthz", tags=["live"])
async def healthz(desk: Asked) -> Alive:
    """This process answers. Whether it leads is for load balancers and people."""
    return Alive(leading=desk.board.leading, waiting=desk.waiting)


@get("/v1/stream", opt={"right": "read"}, tags=["live"], media_type="text/event-stream")
async def stream(desk: Asked) -> Stream:
    """Server-sent events: `node`, `transition`, `incident`, `fleet`. Opens with the fleet as it is."""
    if len(desk.board.watchers) >= MOST_WATCHERS:
        raise Problem(503, f"{MOST_WATCHERS} streams are open already", {"Retry-After": "10"})
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Stream(_events(desk.board, desk.board.watch()), media_type="text/event-stream", headers=headers)


async def _events(board: Board, watcher: Watcher) -> AsyncIterator[bytes]:
    try:
        yield _event("fleet", msgspec.json.encode(board.fleet()))
        while True:
            try:
                async with asyncio.timeout(QUIET_SECONDS):  # wait_for can swallow a cancellation in 3.11
                    message = await watcher.queue.get()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if message is None:
                return
            yield _event(*message)
    finally:
        board.watchers.discard(watcher)


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


@get("/metrics", opt={"right": "read"}, tags=["live"], media_type="text/plain; version=0.0.4")
async def metrics(desk: Asked) -> Response[str]:
    """For Prometheus."""
    board = desk.board
    fleet = board.fleet()
    lines = [
        *_family("holdfast_nodes", "gauge", "stage", fleet.stages),
        *_family("holdfast_nodes_health", "gauge", "health", fleet.healths),
        *_family("holdfast_pool_out", "gauge", "pool", {one.pool: one.out for one in fleet.pools}),
        *_family("holdfast_pool_breaker_open", "gauge", "pool", {one.pool: one.breaker_open for one in fleet.pools}),
        *_family("holdfast_controller_leading", "gauge", "", {"": board.leading}),
        *_family("holdfast_controller_dry_run", "gauge", "", {"": fleet.dry_run}),
        *_family("holdfast_controller_waiting", "gauge", "", {"": desk.waiting}),
        *_family("holdfast_reports_total", "counter", "", {"": board.counts["reports"]}),
        *_family("holdfast_requests_refused_total", "counter", "", {"": board.counts["refused"]}),
        *_family("holdfast_streams", "gauge", "", {"": len(board.watchers)}),
    ]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


def _family(name: str, kind: str, label: str, values: Mapping[str, int]) -> list[str]:
    rows = [f"{name}{_label(label, key)} {int(value)}" for key, value in values.items()]
    return [f"# TYPE {name} {kind}", *rows]


def _label(label: str, value: str) -> str:
    return f'{{{label}="{value}"}}' if label else ""


ROUTES = [healthz, stream, metrics]
