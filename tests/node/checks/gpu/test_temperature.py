"""gpu.temperature: the margin where there is one, the threshold where not, and no alarm from a nonsense margin."""

import pytest

from holdfast.model.health import Health
from holdfast.node.checks.gpu.temperature import CHECK
from tests.node.checks.gpu.gpu_tray import A100, L40S, Tray


def with_margin(margin: float, core: float, slowdown: float | None = -2.0, **more: float) -> Tray:
    values = {"gpu_temperature_celsius": core, "gpu_thermal_margin_celsius": margin, **more}
    if slowdown is not None:
        values["gpu_slowdown_margin_celsius"] = slowdown
    return Tray().read(0.0, **values)


def test_the_margin_is_compared_with_the_slowdown_point() -> None:
    assert with_margin(26, 59).row(CHECK).health is Health.PASS
    assert with_margin(2, 85).row(CHECK).health is Health.DEGRADED
    assert with_margin(-2, 89).row(CHECK).health is Health.DEGRADED
    row = with_margin(-3, 90).row(CHECK)
    assert (row.health, row.value, row.limit) == (Health.FAIL, -3, -2)
    assert "core at 90 C" in row.reason


def test_the_catalog_knows_the_slowdown_point_where_the_driver_does_not_report() -> None:
    b200 = Tray(model="NVIDIA B200").read(0.0, gpu_temperature_celsius=89.0, gpu_thermal_margin_celsius=-3.0)
    assert b200.row(CHECK).health is Health.DEGRADED
    assert with_margin(-3, 89, slowdown=None).row(CHECK).health is Health.FAIL


def test_a_nonsense_margin_of_a_cold_gpu_is_not_believed() -> None:
    assert with_margin(0, 35).row(CHECK).health is Health.PASS
    assert with_margin(-20, 35).row(CHECK).health is Health.PASS


def test_a_cold_reading_is_not_believed_while_hardware_slows_down_for_heat() -> None:
    assert with_margin(-5, 60, gpu_clock_event_reasons=0x40).row(CHECK).health is Health.FAIL


def test_without_a_margin_the_slowdown_threshold_counts() -> None:
    def a100(core: float) -> Health:
        tray = Tray(model=A100).read(0.0, gpu_temperature_celsius=core, gpu_slowdown_temperature_celsius=89.0)
        return tray.row(CHECK).health

    assert [a100(core) for core in (60, 85, 89)] == [Health.PASS, Health.DEGRADED, Health.FAIL]


def test_hot_memory_degrades_though_the_core_is_fine() -> None:
    row = with_margin(30, 60, gpu_memory_temperature_celsius=98.0).row(CHECK)
    assert (row.health, "memory at 98 C" in row.reason) == (Health.DEGRADED, True)


def test_gddr_without_a_memory_sensor_passes() -> None:
    tray = Tray(model=L40S).read(0.0, gpu_temperature_celsius=64.0, gpu_thermal_margin_celsius=24.0)
    tray.missing(0, "gpu_memory_temperature_celsius")
    assert tray.row(CHECK).health is Health.PASS


def test_neither_margin_nor_threshold_is_unknown_with_the_reason() -> None:
    tray = Tray(model="NVIDIA H200").read(0.0, gpu_temperature_celsius=60.0)
    tray.missing(0, "gpu_thermal_margin_celsius", "gpu_slowdown_temperature_celsius")
    row = tray.row(CHECK)
    assert (row.health, row.reason) == (Health.UNKNOWN, "not supported by this GPU/driver")


@pytest.mark.parametrize(
    ("margin", "core", "health"),
    [
        (3.0, 84.0, Health.PASS),  # five degrees above the slowdown point at -2
        (2.9, 84.0, Health.DEGRADED),
        (-2.0, 84.0, Health.DEGRADED),
        (-2.1, 84.0, Health.FAIL),
        (-2.1, 70.0, Health.FAIL),  # a core at 70 C is no longer cool
        (-2.1, 69.9, Health.PASS),
    ],
)
def test_near_is_five_degrees_and_a_cool_core_is_below_seventy(margin: float, core: float, health: Health) -> None:
    assert with_margin(margin, core).row(CHECK).health is health


@pytest.mark.parametrize(
    ("reasons", "health"),
    [
        (0x08, Health.FAIL),
        (0x20, Health.FAIL),
        (0x40, Health.FAIL),
        (0x01, Health.PASS),
        (0x04, Health.PASS),
        (0x80, Health.PASS),
    ],
)
def test_only_a_slowdown_for_heat_makes_a_cold_reading_doubtful(reasons: int, health: Health) -> None:
    assert with_margin(-5, 60, gpu_clock_event_reasons=float(reasons)).row(CHECK).health is health


@pytest.mark.parametrize(
    ("core", "health"),
    [(84.0, Health.PASS), (84.1, Health.DEGRADED), (88.9, Health.DEGRADED), (89.0, Health.FAIL)],
)
def test_without_a_margin_near_is_five_degrees_too(core: float, health: Health) -> None:
    tray = Tray(model=A100).read(0.0, gpu_temperature_celsius=core, gpu_slowdown_temperature_celsius=89.0)
    assert tray.row(CHECK).health is health


def test_a_gpu_no_one_knows_slows_down_at_two_degrees_beyond_its_limit() -> None:
    def strange(margin: float) -> Health:
        tray = Tray(model="NVIDIA X1").read(0.0, gpu_temperature_celsius=89.0, gpu_thermal_margin_celsius=margin)
        return tray.row(CHECK).health

    assert [strange(margin) for margin in (-1.9, -2.0, -2.1)] == [Health.DEGRADED, Health.DEGRADED, Health.FAIL]


@pytest.mark.parametrize(
    ("memory", "limit", "health"),
    [
        (95.0, None, Health.PASS),
        (95.1, None, Health.DEGRADED),
        (99.0, 100.0, Health.PASS),
        (90.0, 89.0, Health.DEGRADED),
    ],
)
def test_memory_is_judged_by_its_own_limit_or_ninety_five(memory: float, limit: float | None, health: Health) -> None:
    result = {} if limit is None else {"gpu_memory_max_temperature_celsius": limit}
    assert with_margin(30, 60, gpu_memory_temperature_celsius=memory, **result).row(CHECK).health is health


def test_a_hot_core_is_reported_before_hot_memory_and_hot_memory_before_a_core_no_one_can_judge() -> None:
    assert with_margin(-3, 90, gpu_memory_temperature_celsius=98.0).row(CHECK).health is Health.FAIL
    blind = Tray().read(0.0, gpu_temperature_celsius=60.0, gpu_memory_temperature_celsius=98.0)
    assert blind.row(CHECK).health is Health.DEGRADED


def test_a_gpu_that_does_not_report_its_temperature_is_unknown() -> None:
    tray = Tray().read(0.0, gpu_temperature_celsius={1: 50.0}, gpu_thermal_margin_celsius=40.0)
    assert tray.healths(CHECK) == [Health.UNKNOWN, Health.PASS, Health.UNKNOWN, Health.UNKNOWN]


def test_a_gpu_at_a_limit_does_not_change_its_verdict_with_every_reading() -> None:
    tray = Tray()
    healths = []
    for at in range(0, 600, 10):
        tray.read(float(at), gpu_temperature_celsius=85.0, gpu_thermal_margin_celsius=2.0 + at % 20 / 10.0)
        healths.append(tray.row(CHECK).health)  # 2 and 3 C of margin, near is below 3 C
    assert set(healths) == {Health.DEGRADED}
    tray.read(610.0, gpu_temperature_celsius=80.0, gpu_thermal_margin_celsius=6.0)
    assert tray.row(CHECK).health is Health.PASS, "3 C beyond the limit it is cool at once"


def test_a_gpu_just_off_its_limit_is_cool_after_five_minutes() -> None:
    tray = Tray().read(0.0, gpu_temperature_celsius=85.0, gpu_thermal_margin_celsius=2.0)
    tray.every(10.0, 290.0, gpu_temperature_celsius=85.0, gpu_thermal_margin_celsius=3.0)
    assert tray.row(CHECK).health is Health.DEGRADED
    tray.every(10.0, 420.0, gpu_temperature_celsius=85.0, gpu_thermal_margin_celsius=3.0)
    assert tray.row(CHECK).health is Health.PASS


def test_the_threshold_has_hysteresis_too() -> None:
    tray = Tray(model=A100).read(0.0, gpu_temperature_celsius=92.0, gpu_slowdown_temperature_celsius=92.0)
    assert tray.row(CHECK).health is Health.FAIL
    tray.read(10.0, gpu_temperature_celsius=90.0, gpu_slowdown_temperature_celsius=92.0)
    assert tray.row(CHECK).health is Health.FAIL
    tray.read(20.0, gpu_temperature_celsius=89.0, gpu_slowdown_temperature_celsius=92.0)
    assert tray.row(CHECK).health is Health.DEGRADED


@pytest.mark.parametrize(
    ("before", "core", "health"),
    [
        (88.0, 86.0, Health.DEGRADED),  # above 87 before, and not three degrees below it
        (88.0, 84.0, Health.PASS),
        (87.0, 86.0, Health.PASS),  # never above
        (60.0, 88.0, Health.DEGRADED),
    ],
)
def test_near_a_threshold_has_hysteresis_too(before: float, core: float, health: Health) -> None:
    tray = Tray(model=A100)
    for at, degrees in ((0.0, before), (10.0, core)):
        tray.read(at, gpu_temperature_celsius=degrees, gpu_slowdown_temperature_celsius=92.0)
    assert tray.row(CHECK).health is health


@pytest.mark.parametrize(
    ("core", "health"), [(92.0, Health.FAIL), (91.9, Health.DEGRADED), (87.1, Health.DEGRADED), (87.0, Health.PASS)]
)
def test_without_hysteresis_a_threshold_is_what_the_core_has_now(core: float, health: Health) -> None:
    tray = Tray(model=A100)
    for at, degrees in ((0.0, 99.0), (10.0, core)):
        tray.read(at, gpu_temperature_celsius=degrees, gpu_slowdown_temperature_celsius=92.0)
    assert tray.row(CHECK, overrides={"hysteresis_celsius": 0.0}).health is health


@pytest.mark.parametrize(("later", "health"), [(93.0, Health.DEGRADED), (92.0, Health.PASS)])
def test_memory_is_cool_three_degrees_below_its_limit(later: float, health: Health) -> None:
    tray, core = Tray(), {"gpu_temperature_celsius": 60.0, "gpu_thermal_margin_celsius": 30.0}
    for at, memory in ((0.0, 96.0), (10.0, later)):
        tray.read(at, gpu_memory_temperature_celsius=memory, **core)
    assert tray.row(CHECK).health is health


def test_a_failing_margin_has_hysteresis_too() -> None:
    tray = with_margin(-3, 90)
    assert tray.row(CHECK).health is Health.FAIL
    values = {"gpu_temperature_celsius": 89.0, "gpu_slowdown_margin_celsius": -2.0}
    assert tray.read(10.0, gpu_thermal_margin_celsius=-1.0, **values).row(CHECK).health is Health.FAIL
    assert tray.read(20.0, gpu_thermal_margin_celsius=2.0, **values).row(CHECK).health is Health.DEGRADED


@pytest.mark.parametrize(("hot", "owner"), [(1, "hardware"), (2, "hardware"), (3, "facilities"), (4, "facilities")])
def test_one_hot_gpu_is_its_heat_sink_and_most_of_them_are_the_cooling_of_the_node(hot: int, owner: str) -> None:
    margins = {index: -3.0 if index < hot else 26.0 for index in range(4)}
    tray = Tray().read(0.0, gpu_temperature_celsius=90.0, gpu_thermal_margin_celsius=margins)
    verdict = tray.ask(CHECK)
    assert verdict.owner == owner
    assert ("heat sink" in verdict.remedy) is (owner == "hardware")


def test_the_only_gpu_of_a_node_is_not_most_of_them() -> None:
    tray = Tray(gpus=1).read(0.0, gpu_temperature_celsius=90.0, gpu_thermal_margin_celsius=-3.0)
    assert tray.ask(CHECK).owner == "hardware"


@pytest.mark.parametrize(("core", "health"), [(84.0, Health.PASS), (85.0, Health.DEGRADED), (89.0, Health.FAIL)])
def test_the_catalog_knows_the_threshold_of_some_models(core: float, health: Health) -> None:
    row = Tray().read(0.0, gpu_temperature_celsius=core).row(CHECK)
    assert row.health is health
    assert ("catalog" in row.reason) is (health is not Health.PASS)


def test_what_the_driver_reports_comes_before_the_catalog() -> None:
    tray = Tray().read(0.0, gpu_temperature_celsius=90.0, gpu_slowdown_temperature_celsius=100.0)
    assert tray.row(CHECK).health is Health.PASS


def test_a_warm_gpu_of_which_no_limit_is_known_is_reported_with_its_temperature() -> None:
    tray = Tray(model="NVIDIA H200").read(0.0, gpu_temperature_celsius=70.0)
    assert (tray.row(CHECK).health, tray.row(CHECK).value) == (Health.UNKNOWN, 70.0)
    assert "core at 70 C" in tray.row(CHECK).reason
