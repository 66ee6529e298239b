"""gpu.clocks: busy, slow and without an excuse."""

import pytest

from holdfast.model.health import Health
from holdfast.node.checks.gpu.clocks import CHECK
from tests.node.checks.gpu.gpu_tray import Tray

MOST = {"gpu_clock_sm_max_hertz": 1980e6, "gpu_clock_memory_max_hertz": 2619e6}


def running(sm: float, load: float = 1.0, reasons: float = 0.0, memory: float = 2619e6, until: float = 300.0) -> Tray:
    return Tray().every(
        10.0,
        until,
        gpu_clock_sm_hertz=sm,
        gpu_clock_memory_hertz=memory,
        gpu_utilization_ratio=load,
        gpu_clock_event_reasons=reasons,
        **MOST,
    )


def test_full_clocks_pass() -> None:
    assert running(1980e6).ask(CHECK).health is Health.PASS


def test_a_busy_gpu_stuck_at_a_low_clock_degrades() -> None:
    row = running(345e6).row(CHECK)
    assert (row.health, "345 MHz of 1980 MHz, and the driver names no cause" in row.reason) == (Health.DEGRADED, True)


def test_a_clock_setting_is_named() -> None:
    assert "held there by a clock setting" in running(900e6, reasons=0x2).row(CHECK).reason


def test_slow_memory_degrades() -> None:
    assert "memory clock of 1593 MHz" in running(1980e6, memory=1593e6).row(CHECK).reason


def test_low_clocks_that_are_explained_pass_here() -> None:
    for reasons in (0x4, 0x8, 0x20, 0x40, 0x80):
        assert running(900e6, reasons=reasons).ask(CHECK).health is Health.PASS


def test_an_idle_gpu_may_sleep() -> None:
    assert running(345e6, load=0.0, reasons=0x1).ask(CHECK).health is Health.PASS


def test_one_sample_is_too_short_to_blame() -> None:
    assert running(345e6, until=0.0).ask(CHECK).health is Health.PASS


def test_without_utilisation_under_mig_nothing_is_claimed() -> None:
    tray = Tray().read(0.0, gpu_clock_sm_hertz=345e6, **MOST).missing(0, "gpu_utilization_ratio")
    assert tray.row(CHECK).health is Health.PASS


@pytest.mark.parametrize(
    ("sm", "memory", "load", "health"),
    [
        (0.60 * 1980e6, 2619e6, 1.0, Health.PASS),  # six tenths of its clock is enough
        (0.59 * 1980e6, 2619e6, 1.0, Health.DEGRADED),
        (1980e6, 0.91 * 2619e6, 1.0, Health.PASS),
        (1980e6, 0.89 * 2619e6, 1.0, Health.DEGRADED),
        (345e6, 2619e6, 0.90, Health.DEGRADED),  # busy begins here
        (345e6, 2619e6, 0.89, Health.PASS),
    ],
)
def test_how_slow_is_slow_and_how_busy_is_busy(sm: float, memory: float, load: float, health: Health) -> None:
    assert running(sm, load, memory=memory).ask(CHECK).health is health


def test_two_minutes_of_it_are_needed_and_enough() -> None:
    assert running(345e6, until=120.0).ask(CHECK).health is Health.DEGRADED
    assert running(345e6, until=110.0).ask(CHECK).health is Health.PASS


@pytest.mark.parametrize(("excused_until", "health"), [(100.0, Health.DEGRADED), (110.0, Health.PASS)])
def test_an_excuse_counts_for_two_minutes(excused_until: float, health: Health) -> None:
    tray = running(345e6, reasons=0x4, until=excused_until - 10.0)
    tray.now = excused_until
    tray.every(10.0, 230.0, gpu_clock_sm_hertz=345e6, gpu_utilization_ratio=1.0, gpu_clock_event_reasons=0.0, **MOST)
    assert tray.ask(CHECK).health is health


def test_a_gpu_whose_highest_clock_is_not_reported_is_not_blamed() -> None:
    tray = Tray().every(10.0, 300.0, gpu_clock_sm_hertz=345e6, gpu_utilization_ratio=1.0)
    assert tray.ask(CHECK).health is Health.PASS


def test_a_gpu_without_a_clock_is_unknown_beside_the_others() -> None:
    tray = Tray().read(0.0, gpu_clock_sm_hertz={1: 345e6, 2: 345e6, 3: 345e6})
    assert tray.healths(CHECK) == [Health.UNKNOWN, Health.PASS, Health.PASS, Health.PASS]


def test_the_row_reports_the_clock_and_the_least_it_should_be() -> None:
    row = running(345e6).row(CHECK)
    assert (row.value, row.limit) == (pytest.approx(345e6), pytest.approx(0.6 * 1980e6))
    assert "held there" not in row.reason


def test_a_clock_or_a_load_that_is_new_is_not_judged() -> None:
    for late in ("gpu_clock_sm_hertz", "gpu_utilization_ratio"):
        tray = Tray()
        while tray.now < 300.0:
            result = {"gpu_clock_sm_hertz": 345e6, "gpu_utilization_ratio": 1.0}
            if tray.now < 200.0:
                del result[late]
            tray.read(tray.now + 10.0, **result, **MOST)
        assert tray.row(CHECK).health is Health.PASS
