"""pcie.replay: scaled by generation and lanes, so that a fast wide link is not blamed for being one."""

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.model.verdict import Verdict
from holdfast.node.checks.pcie.replay import CHECK

GPU = "node/n1/gpu/0"


def ask(*replays: float, generation: float = 5.0, width: float = 16.0) -> Verdict:
    """One sample a minute."""
    history = History("n1")
    history.expect_freshness("nvml_slow", 200)
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    for minute, count in enumerate(replays):
        signals = [
            Signal(GPU, "gpu_pcie_replay_total", count),
            Signal(GPU, "gpu_pcie_generation", generation),
            Signal(GPU, "gpu_pcie_width_lanes", width),
        ]
        history.add(Reading(source="nvml_slow", at=minute * 60, signals=signals))
    return CHECK(history.window((len(replays) - 1) * 60, CHECK.span))


@pytest.mark.parametrize(
    ("generation", "width", "per_minute", "health"),
    [
        (5, 16, 30, Health.PASS),
        (5, 16, 32, Health.DEGRADED),
        (5, 16, 400, Health.FAIL),
        (4, 16, 16, Health.DEGRADED),
        (5, 8, 16, Health.DEGRADED),
        (1, 16, 2, Health.PASS),
        (1, 16, 3, Health.DEGRADED),
    ],
)
def test_replays_a_minute(generation: float, width: float, per_minute: float, health: Health) -> None:
    counts = [100 + per_minute * minute for minute in range(6)]
    assert ask(*counts, generation=generation, width=width).health is health


def test_one_sample_passes_and_says_so() -> None:
    verdict = ask(90000)
    assert verdict.health is Health.PASS
    assert verdict.evidence == ("one reading: rates are not judged",)
    assert verdict.rows[0].reason == "one reading: rates are not judged"


def test_without_the_links_generation_nothing_can_be_reported() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    history.add(Reading(source="nvml", at=0, signals=[Signal(GPU, "gpu_pcie_replay_total", 5.0)]))
    assert CHECK(history.window(0, 600)).health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("generation", "per_lane"), [(1, 0.15), (2, 0.30), (3, 0.48), (4, 0.96), (5, 1.92), (6, 3.84), (7, 3.84), (0, 0.15)]
)
def test_what_a_good_link_of_each_generation_repeats(generation: float, per_lane: float) -> None:
    row = ask(0.0, 0.0, generation=generation, width=8.0).rows[0]
    assert row.limit == pytest.approx(per_lane * 8)


@pytest.mark.parametrize(
    ("per_minute", "health"),
    [(24.0, Health.PASS), (24.1, Health.DEGRADED), (240.0, Health.DEGRADED), (241.0, Health.FAIL)],
)
def test_ten_times_what_is_allowed_fails(per_minute: float, health: Health) -> None:
    row = ask(0.0, per_minute, generation=3.0, width=50.0).rows[0]  # 0.48 a minute and lane
    assert (row.health, row.value) == (health, per_minute)


def test_the_fastest_and_widest_of_the_window_counts() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    history.expect_freshness("nvml_slow", 200)
    for at, generation, width in ((0, 1.0, 8.0), (60, 5.0, 16.0), (120, 1.0, 4.0)):
        names = ("gpu_pcie_replay_total", "gpu_pcie_generation", "gpu_pcie_width_lanes")
        values = zip(names, (0.0, generation, width), strict=True)
        history.add(Reading(source="nvml_slow", at=at, signals=[Signal(GPU, *one) for one in values]))
    assert CHECK(history.window(120, CHECK.span)).rows[0].limit == pytest.approx(1.92 * 16)


def test_a_minute_of_history_is_needed() -> None:
    def after(seconds: float) -> Health:
        history = History("n1")
        history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
        for at, count in ((0.0, 0.0), (seconds, 1e6)):
            values = (("gpu_pcie_replay_total", count), ("gpu_pcie_generation", 5.0), ("gpu_pcie_width_lanes", 16.0))
            history.add(Reading(source="nvml_slow", at=at, signals=[Signal(GPU, *one) for one in values]))
        return CHECK(history.window(seconds, CHECK.span)).health

    assert [after(59.0), after(60.0)] == [Health.PASS, Health.FAIL]


def test_the_width_is_needed_too() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    signals = [Signal(GPU, "gpu_pcie_replay_total", 5.0), Signal(GPU, "gpu_pcie_generation", 5.0)]
    history.add(Reading(source="nvml", at=0, signals=signals))
    assert CHECK(history.window(0, 600)).health is Health.UNKNOWN


def test_a_rate_is_told_with_two_decimals() -> None:
    assert [row.value for row in ask(0, 1.234, 2.468).rows] == [1.23]
    assert [row.value for row in ask(0, 1000.234, 2000.468).rows] == [1000.23]
