"""gpu.throttle: most minutes of ten are a fault, a moment is not, and idle or power-capped GPUs are healthy."""

import pytest

from holdfast.model.health import FailureClass, Health
from holdfast.node.checks.gpu.throttle import CHECK
from tests.node.checks.gpu.gpu_tray import Tray

IDLE, POWER_CAP, HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, BRAKE = 0x1, 0x4, 0x8, 0x20, 0x40, 0x80


def minutes(tray: Tray, count: int, mask: int) -> Tray:
    """This many minutes of GPU 1 under a mask; the others only meet their power cap."""
    end = tray.now + count * 60 - 10
    return tray.every(10.0, end, gpu_clock_event_reasons={0: POWER_CAP, 1: mask, 2: IDLE, 3: POWER_CAP})


def test_six_throttled_minutes_of_ten_fail_the_gpu_and_name_the_cause() -> None:
    tray = minutes(minutes(Tray(), 4, POWER_CAP), 6, HW_THERMAL | HW_SLOWDOWN)
    verdict = tray.ask(CHECK)
    row = tray.row(CHECK, 1)
    assert row.health is Health.FAIL
    assert "HW slowdown, HW thermal slowdown" in row.reason
    assert verdict.failure_class is FailureClass.SLOWDOWN
    assert verdict.remedy
    assert [health for index, health in enumerate(tray.healths(CHECK)) if index != 1] == [Health.PASS] * 3


def test_a_few_throttled_minutes_of_ten_pass() -> None:
    tray = minutes(minutes(minutes(Tray(), 5, POWER_CAP), 2, BRAKE), 3, POWER_CAP)
    assert tray.row(CHECK, 1).health is Health.PASS


def test_every_bit_of_hardware_protection_counts() -> None:
    for mask in (HW_SLOWDOWN, HW_THERMAL, BRAKE):
        assert minutes(Tray(), 10, mask).row(CHECK, 1).health is Health.FAIL


def test_software_thermal_slowdown_degrades() -> None:
    row = minutes(Tray(), 10, SW_THERMAL).row(CHECK, 1)
    assert (row.health, "SW thermal" in row.reason) == (Health.DEGRADED, True)


def test_idle_and_power_capped_gpus_pass() -> None:
    assert minutes(Tray(), 10, POWER_CAP | IDLE).healths(CHECK) == [Health.PASS] * 4


def test_a_single_throttled_sample_is_reported_but_not_judged() -> None:
    tray = Tray().read(0.0, gpu_clock_event_reasons={0: 0, 1: BRAKE, 2: 0, 3: 0})
    assert tray.healths(CHECK) == [Health.PASS] * 4
    line, caveat = tray.ask(CHECK).evidence
    assert line.startswith("gpu 1: HW power brake in 1 of 1 minutes seen, too few")
    assert caveat == "one reading: rates are not judged"


def test_a_warm_gpu_in_a_single_sample_is_reported() -> None:
    tray = Tray().read(0.0, gpu_clock_event_reasons={0: 0, 1: SW_THERMAL, 2: 0, 3: 0})
    assert tray.row(CHECK, 1).health is Health.PASS
    assert "SW thermal slowdown in 1 of 1 minutes seen, too few" in tray.ask(CHECK).evidence[0]


def test_after_a_minute_nothing_is_reported_of_one_look() -> None:
    assert minutes(Tray(), 3, IDLE).ask(CHECK).evidence == ()


def test_a_gpu_throttled_ever_since_it_is_seen_degrades_after_three_minutes() -> None:
    assert minutes(Tray(), 2, BRAKE).row(CHECK, 1).health is Health.PASS
    row = minutes(Tray(), 3, BRAKE).row(CHECK, 1)
    assert (row.health, "too few" in row.reason) == (Health.DEGRADED, True)


def test_a_gpu_whose_reasons_no_one_read_is_unknown() -> None:
    tray = Tray().read(0.0, gpu_clock_event_reasons={0: 0, 1: 0, 2: 0})
    tray.missing(3, "gpu_clock_event_reasons", reason="the GPU is lost")
    row = tray.row(CHECK, 3)
    assert (row.health, row.reason) == (Health.UNKNOWN, "the GPU is lost")


def test_evidence_reports_the_clocks() -> None:
    tray = Tray().read(
        0.0,
        gpu_clock_event_reasons=BRAKE,
        gpu_clock_sm_hertz=345e6,
        gpu_clock_sm_max_hertz=1980e6,
        gpu_temperature_celsius=91.0,
    )
    assert any(
        line.startswith("gpu 1: ") and line.endswith("SM clock 345 MHz of 1980 MHz, core at 91 C")
        for line in tray.ask(CHECK).evidence
    )


@pytest.mark.parametrize(
    ("throttled", "mask", "health"),
    [
        (5, HW_THERMAL, Health.PASS),
        (6, HW_THERMAL, Health.FAIL),
        (5, SW_THERMAL, Health.PASS),
        (6, SW_THERMAL, Health.DEGRADED),
    ],
)
def test_six_minutes_of_ten_are_most_of_them(throttled: int, mask: int, health: Health) -> None:
    tray = minutes(Tray(), 10 - throttled, POWER_CAP)
    tray.now += 10.0
    minutes(tray, throttled, mask)
    row = tray.row(CHECK, 1)
    assert (row.health, row.limit) == (health, 6.0)
    assert f"in {throttled} of 10 minutes seen" in row.reason


def test_one_free_minute_of_three_is_no_early_alarm() -> None:
    tray = minutes(Tray(), 1, POWER_CAP)
    tray.now += 10.0
    assert minutes(tray, 3, BRAKE).row(CHECK, 1).health is Health.PASS


def test_a_minute_of_watching_is_needed_to_judge() -> None:
    def watched(seconds: float) -> str:
        return Tray().every(10.0, seconds, gpu_clock_event_reasons=IDLE).row(CHECK).reason

    assert [watched(seconds) for seconds in (50.0, 60.0)] == ["one reading: rates are not judged", ""]


def test_a_gpu_whose_clock_is_not_known_is_reported_so() -> None:
    tray = Tray().read(0.0, gpu_clock_event_reasons={0: 0, 1: BRAKE, 2: 0, 3: 0})
    assert tray.ask(CHECK).evidence[0].endswith("too few to call it a fault; SM clock not known")
    assert len(tray.ask(CHECK).evidence) == 2


@pytest.mark.parametrize(
    ("mask", "words", "absent"),
    [
        (HW_THERMAL | HW_SLOWDOWN, "heat sink", "power"),
        (SW_THERMAL, "heat sink", "power"),
        (BRAKE | HW_SLOWDOWN, "power supplies", "airflow"),
    ],
)
def test_what_slows_it_down_says_what_to_check(mask: int, words: str, absent: str) -> None:
    remedy = minutes(Tray(), 10, mask).ask(CHECK).remedy
    assert words in remedy
    assert absent not in remedy


def test_a_slowdown_without_a_cause_leaves_both_to_check_and_the_last_cause_counts() -> None:
    assert minutes(Tray(), 10, HW_SLOWDOWN).ask(CHECK).remedy == CHECK.remedy
    assert minutes(Tray(), 10, HW_THERMAL | BRAKE).ask(CHECK).remedy == CHECK.remedy
    later = minutes(minutes(Tray(), 4, HW_THERMAL), 6, BRAKE)
    assert "power supplies" in later.ask(CHECK).remedy and "heat sink" not in later.ask(CHECK).remedy
