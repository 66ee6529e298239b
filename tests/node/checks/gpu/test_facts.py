"""What the GPU checks share: how findings add up, and means over time."""

import pytest

from holdfast.model.health import FailureClass, Health
from holdfast.model.inventory import Inventory
from holdfast.model.verdict import Row
from holdfast.model.window import Run
from holdfast.node.checks.gpu.facts import (
    GpuFinding,
    average,
    conclude,
    events_named,
    gpus,
    history_seconds,
    numbers,
    peer_median,
)
from tests.node.checks.gpu.gpu_tray import Tray


def finding(health: Health, remedy: str = "") -> GpuFinding:
    return GpuFinding(Row(f"node/n1/gpu/{remedy}", health), remedy, FailureClass.CRASH)


def test_the_first_of_the_worst_says_what_to_do() -> None:
    found = conclude(
        [None, finding(Health.DEGRADED, "a"), finding(Health.FAIL, "b"), finding(Health.FAIL, "c")], ("seen",)
    )
    assert (found.remedy, found.failure_class, len(found.rows), found.evidence) == (
        "b",
        FailureClass.CRASH,
        3,
        ("seen",),
    )
    assert conclude([finding(Health.PASS, "x"), finding(Health.DEGRADED, "a")]).remedy == "a"


@pytest.mark.parametrize("health", [Health.PASS, Health.UNKNOWN, Health.NOT_APPLICABLE])
def test_where_nothing_is_wrong_there_is_nothing_to_do(health: Health) -> None:
    found = conclude([finding(health, "a")])
    assert (found.remedy, found.failure_class) == ("", None)
    assert conclude([]).remedy == ""


def test_the_gpus_to_judge_are_those_expected_or_those_seen() -> None:
    tray = Tray(2).read(0.0, gpu_power_watts={0: 1.0})
    assert gpus(tray.history.window(0.0, 60.0), "gpu_power_watts") == tuple(tray.gpus)
    tray.history.inventory = Inventory(node="n1")
    assert gpus(tray.history.window(0.0, 60.0), "gpu_power_watts") == (tray.gpus[0],)


def test_runs_are_weighed_by_how_long_they_held_within_the_span() -> None:
    runs = [Run(0.0, 50.0, 1.0), Run(50.0, 90.0, 2.0), Run(95.0, 95.0, 3.0)]
    assert numbers(runs, 40.0, 95.0) == [(11.0, 1.0), (41.0, 2.0), (1.0, 3.0)]
    assert numbers(runs, 91.0, 94.0) == []
    assert numbers(runs, 90.0, 94.0) == [(1.0, 2.0)]


def test_a_mean_is_over_time_and_of_what_is_fresh() -> None:
    tray = Tray(1)
    for at, watts in ((0.0, 100.0), (60.0, 100.0), (61.0, 300.0)):
        tray.read(at, gpu_power_watts=watts)
    window = tray.history.window(61.0, 600.0)
    assert average(window, tray.gpus[0], "gpu_power_watts", 600.0) == pytest.approx((62 * 100 + 300) / 63)
    assert average(window, tray.gpus[0], "gpu_power_watts", 10.0, ago=30.0) == 100.0
    assert average(window, tray.gpus[0], "gpu_power_watts", 10.0, ago=300.0) is None
    tray.missing(0, "gpu_power_watts")
    assert average(tray.history.window(61.0, 600.0), tray.gpus[0], "gpu_power_watts", 600.0) is None


def test_how_far_back_a_signal_is_known() -> None:
    tray = Tray(1).read(10.0, gpu_power_watts=1.0).read(70.0, gpu_power_watts=1.0)
    assert history_seconds(tray.history.window(75.0, 600.0), tray.gpus[0], "gpu_power_watts") == 65.0
    assert history_seconds(tray.history.window(75.0, 600.0), tray.gpus[0], "gpu_temperature_celsius") == 0.0


def test_the_median_is_of_the_others_and_of_enough_of_them() -> None:
    values = {"a": 100.0, "b": 1.0, "c": 2.0, "d": 3.0}
    assert peer_median(values, "a", 3) == 2.0
    assert peer_median(values, "a", 4) is None


def test_clock_events_are_named_by_their_bits() -> None:
    assert events_named(0x02 | 0x10 | 0x80) == "application clock setting, sync boost, HW power brake"
    assert events_named(0x01) == ""
    words = [events_named(bit) for bit in (0x04, 0x08, 0x20, 0x40)]
    assert words == ["power cap", "HW slowdown", "SW thermal slowdown", "HW thermal slowdown"]
