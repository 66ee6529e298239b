"""A controller that ends: no stream begins any more, and a client that reads slowly is no error of the server."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("litestar", reason="needs the extra [controller]")

from holdfast.fleet.api.app import Front
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.routes.live import _events
from holdfast.fleet.api.views.drills import DrillRunView
from holdfast.fleet.controller.operators.drill_player import DrillPlayer
from holdfast.fleet.decisions.lifecycle.policy import Policy

PLAYING = DrillRunView(
    id=1, drill="calm", title="", seed=1, by="ann", at=0.0, state="playing", share=0.0, reason=""
)  # fmt: skip


async def _all(events: Any) -> int:
    return sum([1 async for _ in events])


def test_a_client_that_reconnects_while_the_controller_ends_gets_no_stream_that_lasts() -> None:
    async def run() -> tuple[int, int]:
        board = Board(Policy())
        before = asyncio.create_task(_all(_events(board)))
        while not board.watchers:
            await asyncio.sleep(0)
        board.let_go()
        return await before, await _all(_events(board))

    assert asyncio.run(asyncio.wait_for(run(), 10)) == (1, 1)  # the fleet's state, and then the end


def test_a_drill_is_not_watched_beyond_the_end_of_the_controller() -> None:
    async def run() -> tuple[int, int]:
        player = DrillPlayer()
        player._publish(PLAYING)
        before = asyncio.create_task(_all(player.watch()))
        while not player._watchers:
            await asyncio.sleep(0)
        player.let_go()
        return await before, await _all(player.watch())

    assert asyncio.run(asyncio.wait_for(run(), 10)) == (1, 1)


@pytest.mark.parametrize("ending", [True, False])
def test_a_request_cut_off_by_the_end_is_no_error(ending: bool) -> None:
    """uvicorn cancels what is left after two seconds, and logs each exception with its traceback."""

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async def run() -> bool:
        front = Front.__new__(Front)
        front._service = SimpleNamespace(board=SimpleNamespace(ending=ending))  # type: ignore[assignment]
        front.litestar = waits  # type: ignore[assignment]
        task = asyncio.create_task(front({"type": "http", "method": "GET", "path": "/v1/stream"}, None, None))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(run()) is not ending
