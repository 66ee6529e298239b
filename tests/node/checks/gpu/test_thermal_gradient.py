"""gpu.thermal_gradient: core against memory, GPU against tray, GPU against its past; load alone is no fault."""

import pytest

from holdfast.model.health import Health
from holdfast.node.checks.gpu.thermal_gradient import CHECK
from tests.node.checks.gpu.gpu_tray import H100, Tray


def tray(core: dict[int, float], power: dict[int, float], **more: float | dict[int, float]) -> Tray:
    return Tray(len(core)).every(10.0, 600.0, gpu_temperature_celsius=core, gpu_power_watts=power, **more)


def same(value: float, count: int = 5) -> dict[int, float]:
    return dict.fromkeys(range(count), value)


def test_a_gpu_hotter_than_its_peers_at_equal_power_degrades() -> None:
    hot = tray({**same(60), 2: 83}, {**same(650), 2: 660})
    assert [health is Health.DEGRADED for health in hot.healths(CHECK)] == [False, False, True, False, False]
    assert "23 C hotter than the median of 4 peers at equal power (660 W)" in hot.row(CHECK, 2).reason


def test_a_busy_gpu_beside_idle_ones_is_not_hotter_than_its_peers() -> None:
    assert set(tray({**same(34), 2: 78}, {**same(72), 2: 680}).healths(CHECK)) == {Health.PASS}


def test_front_and_rear_of_a_tray_may_differ() -> None:
    spread = tray({0: 55, 1: 58, 2: 62, 3: 66, 4: 70}, same(650))
    assert set(spread.healths(CHECK)) == {Health.PASS}


def test_too_few_peers_are_not_compared_and_reported_so() -> None:
    pair = tray({0: 50, 1: 85}, same(650, 2))
    assert pair.healths(CHECK) == [Health.PASS, Health.PASS]
    assert "too few to compare" in pair.ask(CHECK).evidence[0]


def test_memory_and_core_of_one_package_must_not_drift_apart() -> None:
    hot_memory = tray(same(55), same(600), gpu_memory_temperature_celsius={**same(62), 1: 85})
    row = hot_memory.row(CHECK, 1)
    assert (row.health, row.value, row.limit) == (Health.DEGRADED, 30, 25)
    assert hot_memory.row(CHECK, 0).health is Health.PASS


def test_one_sample_is_enough_to_compare() -> None:
    single = Tray(5).read(0.0, gpu_temperature_celsius={**same(60), 4: 88}, gpu_power_watts=650.0)
    assert single.row(CHECK, 4).health is Health.DEGRADED


def climbing(per_minute: float, power: tuple[float, float]) -> Tray:
    made = Tray(4)
    for at in range(0, 601, 10):
        watts = power[0] if at < 480 else power[1]
        made.read(at, gpu_temperature_celsius=50.0 + per_minute * at / 60, gpu_power_watts=watts)
    return made


def test_warming_at_constant_power_degrades() -> None:
    row = climbing(3.0, (600.0, 610.0)).row(CHECK)
    assert (row.health, "3.0 C a minute" in row.reason) == (Health.DEGRADED, True)


def test_warming_because_of_more_power_passes() -> None:
    assert climbing(3.0, (200.0, 650.0)).row(CHECK).health is Health.PASS


def test_a_steady_temperature_passes() -> None:
    assert climbing(0.5, (600.0, 600.0)).row(CHECK).health is Health.PASS


def test_a_gpu_without_power_reading_is_unknown() -> None:
    blind = Tray(4).read(0.0, gpu_temperature_celsius=50.0, gpu_power_watts={0: 100.0, 1: 100.0, 2: 100.0})
    blind.missing(3, "gpu_power_watts", reason="permission denied")
    assert (blind.row(CHECK, 3).health, blind.row(CHECK, 3).reason) == (Health.UNKNOWN, "permission denied")


@pytest.mark.parametrize(
    ("memory", "health", "words"),
    [
        (80.0, Health.PASS, ""),  # 25 C above the core
        (80.5, Health.DEGRADED, "memory is 26 C hotter"),
        (25.0, Health.PASS, ""),  # 30 C below it
        (24.0, Health.DEGRADED, "core is 31 C hotter"),
    ],
)
def test_how_far_memory_and_core_may_be_apart(memory: float, health: Health, words: str) -> None:
    row = tray(same(55), same(600), gpu_memory_temperature_celsius=memory).row(CHECK)
    assert row.health is health
    assert row.reason.startswith(words)


@pytest.mark.parametrize(("core", "health"), [(80.0, Health.PASS), (80.5, Health.DEGRADED)])
def test_twenty_degrees_above_its_peers_are_borne(core: float, health: Health) -> None:
    assert tray({**same(60), 2: core}, same(650)).row(CHECK, 2).health is health


@pytest.mark.parametrize(
    ("watts", "peers", "health"),
    [
        (660.0, 562.0, Health.DEGRADED),  # within 15 % of 660 W: comparable
        (660.0, 560.0, Health.PASS),
        (660.0, 758.0, Health.DEGRADED),
        (660.0, 760.0, Health.PASS),
        (100.0, 70.0, Health.DEGRADED),  # or within 30 W
        (100.0, 69.0, Health.PASS),
    ],
)
def test_peers_are_those_at_about_the_same_power(watts: float, peers: float, health: Health) -> None:
    assert tray({**same(60), 2: 90.0}, {**same(peers), 2: watts}).row(CHECK, 2).health is health


def test_three_peers_are_needed_and_another_model_is_none() -> None:
    assert tray({**same(60, 4), 2: 90.0}, same(650, 4)).row(CHECK, 2).health is Health.DEGRADED
    assert tray({**same(60, 3), 2: 90.0}, same(650, 3)).row(CHECK, 2).health is Health.PASS
    mixed = tray(
        {**same(60), 2: 90.0}, same(650), gpu_model={0: "NVIDIA L40S", 1: "NVIDIA L40S", 2: H100, 3: H100, 4: H100}
    )  # type: ignore[arg-type]
    assert mixed.row(CHECK, 2).health is Health.PASS


def test_too_few_to_compare_is_reported_up_to_three_gpus() -> None:
    assert tray(same(50, 3), same(650, 3)).ask(CHECK).evidence == (
        "3 GPUs with power and temperature: too few to compare a GPU with its peers",
    )
    assert tray(same(50, 4), same(650, 4)).ask(CHECK).evidence == ()
    assert Tray(2).read(0.0, gpu_temperature_celsius=50.0).ask(CHECK).evidence == ()


@pytest.mark.parametrize(("per_minute", "health"), [(1.9, Health.PASS), (2.1, Health.DEGRADED)])
def test_two_degrees_a_minute_at_constant_power_are_borne(per_minute: float, health: Health) -> None:
    assert climbing(per_minute, (600.0, 600.0)).row(CHECK).health is health


@pytest.mark.parametrize(("later", "health"), [(672.0, Health.PASS), (662.0, Health.DEGRADED)])
def test_a_tenth_more_power_is_a_load_step(later: float, health: Health) -> None:
    made = Tray(4)
    for at in range(0, 601, 10):
        made.read(at, gpu_temperature_celsius=50.0 + 3.0 * at / 60, gpu_power_watts=600.0 if at < 460 else later)
    assert made.row(CHECK).health is health


def test_the_temperatures_of_a_slope_are_reported() -> None:
    row = climbing(3.0, (600.0, 600.0)).row(CHECK)
    assert row.reason == "warms by 3.0 C a minute at a constant 600 W (from 66 to 78 C)"
    assert (round(row.value, 1), row.limit) == (3.0, 2.0)  # type: ignore[call-overload]


def test_memory_that_reports_0_has_no_sensor() -> None:
    tray = Tray().every(
        10.0, 300.0, gpu_temperature_celsius=60.0, gpu_memory_temperature_celsius=0.0, gpu_power_watts=400.0
    )
    assert tray.ask(CHECK).health is Health.PASS
