"""A loop of the controller that ends takes the controller with it: half dead it would look well."""

import asyncio

import pytest
import uvicorn

from holdfast.fleet.controller.server import _end_with, _Quiet


async def _broken() -> None:
    raise ZeroDivisionError


async def _waiting() -> None:
    await asyncio.Event().wait()


def _ended(loop_is_broken: bool) -> bool:
    async def run() -> bool:
        server = _Quiet(uvicorn.Config("nobody:app", log_config=None), lambda: None)
        loop = asyncio.create_task(_broken() if loop_is_broken else _waiting())
        await asyncio.sleep(0)
        loop.cancel()
        await asyncio.wait([loop])
        _end_with(server, loop)
        return server.should_exit

    return asyncio.run(run())


@pytest.mark.parametrize("broken", [True, False])
def test_only_a_loop_that_broke_ends_the_controller(broken: bool) -> None:
    assert _ended(broken) is broken
