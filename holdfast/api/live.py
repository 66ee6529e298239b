"""What is asked all the time: the live stream, and whether we are there."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec
from litestar import get
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


ROUTES = [healthz, stream]
