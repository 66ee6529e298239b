"""`holdfast top` with Textual's pilot against a real controller."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litestar", reason="needs the extra [controller]")
pytest.importorskip("textual", reason="needs the extra [top]")

from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from holdfast.cli.app import run
from holdfast.cli.top.app import Top
from holdfast.client.client import Client
from holdfast.client.watch import FleetWatch

from ...fleet.controller.running import Controller, running  # noqa: TID252  tests are no package to name

pytestmark = pytest.mark.slow
TIMEOUT_SECONDS = 60.0


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    with running(tmp_path_factory.mktemp("top"), policy="dry_run = false\nbreaker_share = 1.0\n") as one:
        for name in ("n01", "n02", "n03"):
            one.ready_node(name, place={"rack": "r7" if name == "n03" else "r1"})
        yield one


def words(pilot: "Pilot[None]", widget: str) -> str:
    return str(pilot.app.screen.query_one(widget, Static).render())


def cells(pilot: "Pilot[None]", table: str) -> list[list[str]]:
    found: DataTable[Any] = pilot.app.screen.query_one(table, DataTable)
    return [[str(cell) for cell in found.get_row_at(number)] for number in range(found.row_count)]


async def until(pilot: "Pilot[None]", holds: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if found := holds():
            return found
        await pilot.pause(0.05)
    raise AssertionError(f"not within {TIMEOUT_SECONDS:g} s: {what}")


def on_screen(controller: Controller, play: Callable[["Pilot[None]"], Any]) -> None:
    watch = FleetWatch(Client(controller.url, controller.admin))
    watch.read_all()

    async def session() -> None:
        async with Top(watch).run_test(size=(140, 45)) as pilot:
            await until(pilot, lambda: pilot.app.screen.query("#nodes"), "the fleet's screen")
            await play(pilot)

    asyncio.run(session())


def test_the_fleet_is_live_can_be_filtered_and_sorted(controller: Controller) -> None:
    async def play(pilot: "Pilot[None]") -> None:
        await until(pilot, lambda: len(cells(pilot, "#nodes")) == 3, "three nodes")
        assert "3 nodes   3 ready" in words(pilot, "#stages")
        assert "breaker closed" in words(pilot, "#pools")
        assert words(pilot, "#incidents") == "0 open incidents"
        controller.post("/v1/nodes/n02/quarantine", {"reason": "loud fans"})
        await until(
            pilot, lambda: cells(pilot, "#nodes")[0][:3] == ["n02", "default", "quarantined"], "the worst first"
        )
        await until(pilot, lambda: "1 quarantined" in words(pilot, "#stages"), "it is counted")
        await pilot.press("s")
        assert [row[0] for row in cells(pilot, "#nodes")] == ["n01", "n02", "n03"]
        pilot.app.simulate_key("slash")  # no pause behind it: what is typed at once is not lost
        await pilot.press(*"rack/r7")
        await until(pilot, lambda: [row[0] for row in cells(pilot, "#nodes")] == ["n03"], "only those of the rack")
        await pilot.press("escape")
        await until(pilot, lambda: len(cells(pilot, "#nodes")) == 3, "all again")

    on_screen(controller, play)


def test_a_node_shows_verdicts_evidence_and_history(controller: Controller) -> None:
    agent = controller.ready_node("n04")
    change = {"at": time.time(), "check": "gpu.xid", "before": "", "after": "degraded", "reason": "[b]Xid 63[/b]"}
    agent.send(agent.next(changes=[{**change, "evidence": ["gpu/3: 2 rows remapped"]}]))

    async def play(pilot: "Pilot[None]") -> None:
        await pilot.press("slash", *"n04", "enter")
        await until(pilot, lambda: [row[0] for row in cells(pilot, "#nodes")] == ["n04"], "one node")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen.query("#verdicts"), "the node's screen")
        await until(pilot, lambda: cells(pilot, "#verdicts"), "its verdicts")
        assert [row[:2] for row in cells(pilot, "#verdicts")] == [["gpu.xid", "degraded"]]
        assert cells(pilot, "#verdicts")[0][3] == "[b]Xid 63[/b]"
        await until(pilot, lambda: "2 rows remapped" in words(pilot, "#evidence"), "its evidence")
        assert any("testing -> ready" in row[2] for row in cells(pilot, "#history"))
        result = pilot.app.screen.query_one("#history", DataTable)
        await until(pilot, lambda: result.ordered_columns[0].content_width == 19, "a time that is not cut")
        assert "n04" in words(pilot, "#who") and "pool default" in words(pilot, "#place")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen.query("#nodes"), "back at the fleet")

    on_screen(controller, play)


def test_a_controller_that_goes_away_is_reported_and_the_last_view_stays(tmp_path: Path) -> None:
    with running(tmp_path / "short") as controller:
        controller.ready_node("n01")

        async def play(pilot: "Pilot[None]") -> None:
            await until(pilot, lambda: "live" in words(pilot, "#connection"), "it is live")
            controller.kill()
            await until(pilot, lambda: "NOT LIVE since" in words(pilot, "#connection"), "it says so")
            assert cells(pilot, "#nodes")[0][0] == "n01"
            await pilot.press("enter")
            await until(pilot, lambda: pilot.app.screen.query("#verdicts"), "a node opens all the same")
            await until(pilot, lambda: "NOT LIVE since" in words(pilot, "#connection"), "and says so too")

        on_screen(controller, play)


def test_what_cannot_be_shown_is_reported_in_one_sentence(
    controller: Controller, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["top", "--url", controller.url]) == 1
    assert capsys.readouterr().err == "holdfast: top needs a terminal; `holdfast node list` prints the same once\n"


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [("textual", "textual is not installed; it comes with: pip install '.[top]' in a clone"), ("", "token")],
    ids=["without the extra", "with a wrong token"],
)
def test_in_a_terminal_it_refuses_before_it_takes_the_screen(
    controller: Controller, tmp_path: Path, hidden: str, expected: str
) -> None:
    hide = f"import sys; sys.modules[{hidden!r}] = None\n" if hidden else ""
    code = f"{hide}from holdfast.cli.app import run\nraise SystemExit(run(['top', '--url', {controller.url!r}]))"
    environ = {**os.environ, "HOLDFAST_TOKEN": "wrong", "HOLDFAST_STATE": str(tmp_path), "TERM": "xterm"}
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environ, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, timeout=60
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 1
    assert expected in done.stderr.decode() and done.stderr.count(b"\n") == 1
