"""gpu.thermal_gradient: core against memory, GPU against tray, GPU against its past; load alone is no fault."""

from holdfast.model.health import Health
from holdfast.node.checks.gpu.thermal_gradient import CHECK
from tests.node.checks.gpu.gpu_tray import Tray


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


def test_too_few_peers_are_not_compared_and_said_so() -> None:
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
