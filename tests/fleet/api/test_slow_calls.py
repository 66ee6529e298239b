"""Callers that ask for slow work take no thread from agents, from the store or from each other."""

import asyncio
import socket
import threading
from pathlib import Path

import httpx
import pytest

from holdfast.fleet.api.access import CredentialCache
from holdfast.fleet.api.slow_calls import SlowCalls, TooManyCalls
from tests.fleet.controller.running import running


def test_so_many_are_under_way_and_the_next_is_refused() -> None:
    async def attack() -> None:
        calls, over = SlowCalls("test", threads=2, most=3), threading.Event()
        strangers = [asyncio.create_task(calls.run(over.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyCalls):
            await calls.run(over.wait)
        assert await asyncio.to_thread(lambda: "the store is read") == "the store is read"
        strangers[0].cancel()
        await asyncio.sleep(0)
        with pytest.raises(TooManyCalls):  # whoever gives up frees no thread
            await calls.run(over.wait)
        over.set()
        assert all(await asyncio.gather(*strangers[1:]))
        assert await calls.run(lambda: 1) == 1

    asyncio.run(attack())


def test_agents_are_known_while_peoples_requests_take_every_thread() -> None:
    async def attack() -> None:
        over, threads = threading.Event(), 64  # more than asyncio has
        people = [asyncio.create_task(asyncio.to_thread(over.wait)) for _ in range(threads)]
        try:
            async with asyncio.timeout(60):
                assert await CredentialCache(lambda asked: {})("a hash") is None
        finally:
            over.set()
            await asyncio.gather(*people)

    asyncio.run(attack())


def test_a_prometheus_that_does_not_answer_keeps_no_one_else_waiting(tmp_path: Path) -> None:
    """A viewer may ask for charts as often as it likes."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as silent:
        more = f'[history]\nurl = "http://127.0.0.1:{silent.getsockname()[1]}"\ntimeout = 600.0\n'
        with running(tmp_path / "site", more=more) as controller:
            tokens = controller.token(name="v", role="viewer"), controller.admin
            viewer, admin = ({"Authorization": f"Bearer {token}"} for token in tokens)

            async def attack() -> None:
                unlimited = httpx.Limits(max_connections=None)
                async with httpx.AsyncClient(
                    base_url=controller.url, trust_env=False, timeout=600, limits=unlimited
                ) as browser:
                    chart = "/v1/series?subject=rack/r1&signal=ambient_celsius"
                    charts = [asyncio.create_task(browser.get(chart, headers=viewer)) for _ in range(64)]
                    silent.setblocking(False)
                    asked = [await asyncio.get_running_loop().sock_accept(silent) for _ in range(5)]
                    assert (await browser.get("/v1/audit", headers=admin)).status_code == 200
                    assert (await browser.get("/readyz")).status_code == 200
                    for one in charts:
                        one.cancel()
                    for connection, _ in asked:
                        connection.close()

            asyncio.run(asyncio.wait_for(attack(), 60))
            controller.kill()  # it would wait for the charts
