"""The home page tells of this moment: an incident that is over is not counted until the next sample."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.economics.costs.finding import Prices
from holdfast.fleet.controller.operators import home_figures
from holdfast.fleet.controller.operators.home_figures import HomeFigures
from holdfast.fleet.inbox.figures import Figures, FigureSample
from holdfast.model.lifecycle import NodeState, Stage

NOW = 1_000_000.0


class Site:
    def __init__(self) -> None:
        self.node = NodeState(name="n1", stage=Stage.ALLOCATED, held="leaf/l3", tested_at=None)
        self.asked = 0
        self.board = SimpleNamespace(views={"n1": None}, life=lambda name: self.node)
        self.items = SimpleNamespace(prices=Prices(), gpus=lambda name: 8)
        self.store = SimpleNamespace(incidents=self._incidents)

    def _incidents(self, state: object, limit: object) -> list[Any]:
        self.asked += 1
        return []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(at=NOW)
    monkeypatch.setattr(home_figures.clock, "now", lambda: made.at)
    return made


def lost(figures: Figures) -> float | None:
    assert figures.now is not None
    return figures.now.lost


def test_what_is_over_is_not_counted_any_more(clock: SimpleNamespace) -> None:
    site = Site()

    async def run() -> None:
        home = HomeFigures(site, 1.0)  # type: ignore[arg-type]
        home.window.take(FigureSample(at=NOW - 9, nodes=1, in_service=1, gpus=8, productive=0, lost=8, cost_per_hour=1))
        assert lost(await home.now()) == 8.0
        site.node = NodeState(name="n1", stage=Stage.ALLOCATED, tested_at=NOW)
        clock.at += 1.1
        figures = await home.now()
        assert lost(figures) == 0.0
        assert figures.lost_gpu_hours == pytest.approx(8 * 10.1 / 3600)  # it was lost until it was seen to be back
        assert len(home.window.samples) == 1  # a day of regular samples has room, however many ask

    asyncio.run(run())


def test_who_asks_at_once_shares_a_sample(clock: SimpleNamespace) -> None:
    site = Site()

    async def run() -> None:
        home = HomeFigures(site, 1.0)  # type: ignore[arg-type]
        await asyncio.gather(*(home.now() for _ in range(5)))
        assert site.asked == 1
        clock.at += 1.1
        await home.now()
        assert site.asked == 2

    asyncio.run(run())


def test_without_a_node_nothing_is_claimed(clock: SimpleNamespace) -> None:
    site = Site()
    site.board.views = {}

    async def run() -> None:
        home = HomeFigures(site, 1.0)  # type: ignore[arg-type]
        figures = await home.now()
        assert figures.now is None and figures.goodput is None

    asyncio.run(run())
