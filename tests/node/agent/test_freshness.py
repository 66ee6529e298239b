"""Freshness follows from the cadence and the deadline of the source: slow sources alone never change a verdict."""

import heapq
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from holdfast.lab.twin.node import make_node
from holdfast.model.health import Health
from holdfast.model.settings import Settings
from holdfast.node.agent.assemble import census, load_settings, questions, sources
from holdfast.node.agent.node import CheckChange, Node
from holdfast.node.agent.once import prepare
from holdfast.runtime.source import Source
from tests.counts import draws

DAY = 86400.0
START = 1_700_000_000.0
CADENCES = (2.0, 10.0, 59.0, 60.0, 61.0, 300.0, 600.0)
JUDGED_SECONDS = 60.0


class Healthy:
    """One reading of every source of a healthy node, to be repeated for as long as a test lasts."""

    def __init__(self, configuration: Settings) -> None:
        self.settings = configuration
        self.sources = sources(configuration, "passive")
        self.readings = {source.name: source.read(START) for source in self.sources}

    def day(self, seconds: float, cadences: Mapping[str, float], seed: int) -> "Day":
        return Day(self, seconds, cadences, random.Random(seed))


class Day:
    """Every source answers at a random moment before its deadline; every check is asked at the worst moments."""

    def __init__(self, node: Healthy, seconds: float, cadences: Mapping[str, float], chance: random.Random) -> None:
        for source in node.sources:
            source.every = cadences.get(source.name, source.every)
        self.node = Node(census(node.settings), questions(node.settings, "passive"))
        prepare(self.node, node.sources)
        self.changes: list[CheckChange] = []
        self.refused: list[str] = []
        self.asked = 0
        self._chance = chance
        self._run(node, seconds)

    def _run(self, node: Healthy, seconds: float) -> None:
        waiting = [self._next(source, START) for source in node.sources]
        heapq.heapify(waiting)
        by_name = {source.name: source for source in node.sources}
        missing, judged = set(by_name), START
        while waiting[0][0] < START + seconds:
            arrives, started, name, due = heapq.heappop(waiting)
            while not missing and judged + JUDGED_SECONDS < arrives:
                judged += JUDGED_SECONDS
                self._ask(judged)
            if not missing and self._chance.random() < by_name[name].every / 2400.0:
                self.node._dirty.update(self.node.questions)
                self._ask(arrives - 0.001)  # values are oldest just before the next arrives
                judged = arrives
            self.node.take(replace(node.readings[name], at=started))
            missing.discard(name)
            if not missing and not self.asked:
                self.node.judge(arrives)
            heapq.heappush(waiting, self._next(by_name[name], due))

    def _next(self, source: Source, started: float) -> tuple[float, float, str, float]:
        """(arrives, started, source, next start): the runner waits for a read before it starts the next."""
        arrives = started + self._chance.uniform(0.0, 0.99) * source.deadline
        return arrives, started, source.name, max(started + source.every, arrives)

    def _ask(self, now: float) -> None:
        self.changes += self.node.judge(now)
        self.asked += 1
        if self.node.health is not Health.PASS:
            self.refused.append(f"{now - START:.0f} s: {self.node.reason()}")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Healthy:
    home = tmp_path_factory.mktemp("twin") / "n01"
    make_node(home, "h100", now=START)
    return Healthy(load_settings(str(home / "holdfast.toml")))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_healthy_day_with_slow_sources_has_no_verdict_change(healthy: Healthy) -> None:
    day = healthy.day(DAY, {}, seed=1)
    assert day.asked > DAY / JUDGED_SECONDS
    assert day.changes == []
    assert day.refused == []


@pytest.mark.parametrize("seed", range(draws(1, 3)))
def test_no_cadence_makes_a_healthy_node_unknown(healthy: Healthy, seed: int) -> None:
    chance = random.Random(seed)
    cadences = {source.name: chance.choice(CADENCES) for source in healthy.sources}
    day = healthy.day(3 * max(cadences.values()), cadences, seed)
    assert day.changes == []
    assert day.refused == []
