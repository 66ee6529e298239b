"""Jobs that tell nothing: the busy GPU with the low clock is the slow one, not those that wait for it."""

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.job.passive import CHECK


def window(clock, busy=lambda gpu: 1.0, minutes=4, begins=0.0):
    history = History("4711")
    history.expect_freshness("digest", 180.0)
    for minute in range(minutes):
        signals = []
        for gpu in range(16):
            about = f"node/n{gpu // 8}/gpu/{gpu % 8}"
            signals.append(Signal(about, "gpu_clock_sm_hertz", clock(gpu)))
            signals.append(Signal(about, "gpu_utilization_ratio", busy(gpu)))
        history.add(Reading(source="digest", at=begins + 60.0 * minute, signals=signals))
    return history.window(begins + 60.0 * (minutes - 1), 600.0)


def guilty(verdict):
    return [row.subject for row in verdict.rows if row.health is Health.DEGRADED]


def test_clocks_alike_pass():
    assert CHECK(window(lambda gpu: 1.98e9)).health is Health.PASS


def test_the_busy_gpu_with_the_low_clock_is_the_slow_one():
    verdict = CHECK(window(lambda gpu: 1.6e9 if gpu == 11 else 1.98e9))
    assert guilty(verdict) == ["node/n1/gpu/3"] and "24 % slower" in verdict.summary()


def test_an_idle_gpu_has_a_low_clock_and_is_not_slow():
    verdict = CHECK(window(lambda gpu: 0.3e9 if gpu == 11 else 1.98e9, lambda gpu: 0.0 if gpu == 11 else 1.0))
    assert verdict.health is Health.PASS


def test_one_look_is_not_enough_whenever_it_is():
    assert CHECK(window(lambda gpu: 1.98e9, minutes=1)).health is Health.UNKNOWN
    assert CHECK(window(lambda gpu: 1.98e9, minutes=1, begins=1e6)).health is Health.UNKNOWN


def test_a_job_no_one_sees_is_unknown():
    assert CHECK(History("4711").window(0.0, 600.0)).health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("clock", "busy", "slow"),
    [
        (1.87e9, 1.0, False),  # 1.98 GHz makes the others 5.9 % quicker
        (1.86e9, 1.0, True),  # 6.5 %
        (1.6e9, 0.5, True),
        (1.6e9, 0.49, False),
    ],
)
def test_how_low_is_low_and_how_busy_is_busy(clock, busy, slow):
    verdict = CHECK(window(lambda gpu: clock if gpu == 11 else 1.98e9, lambda gpu: busy if gpu == 11 else 1.0))
    assert bool(guilty(verdict)) is slow


@pytest.mark.parametrize(("lowest", "slow"), [(0.94, False), (0.85, False), (0.60, True)])
def test_where_clocks_differ_anyway_six_times_that_is_needed(lowest, slow):
    spread = [1.0, 0.98, 1.02, 0.97, 1.03, 0.98, 1.02, 1.0]
    verdict = CHECK(window(lambda gpu: (lowest if gpu == 15 else spread[gpu % 8]) * 1.98e9))
    assert bool(guilty(verdict)) is slow


def test_the_row_reports_by_how_much_and_what_the_hardware_says():
    (row,) = (
        row for row in CHECK(window(lambda gpu: 0.99e9 if gpu == 11 else 1.98e9)).rows if row.health is Health.DEGRADED
    )
    assert (row.value, row.limit) == (1.0, 0.06)
    assert row.reason == "its clock makes it 100 % slower than the job's other busy GPUs"


def history_of(clocks, gpus=4, apart=60.0):
    history = History("4711")
    history.expect_freshness("digest", 600.0)
    at = 0.0
    for clock in clocks:
        signals = []
        for gpu in range(gpus):
            about = f"node/n0/gpu/{gpu}"
            signals.append(Signal(about, "gpu_clock_sm_hertz", clock if gpu == 0 else 1.98e9))
            signals.append(Signal(about, "gpu_utilization_ratio", 1.0))
            signals.append(Signal(about, "job_rank_hardware", "thermal throttle"))
        history.add(Reading(source="digest", at=at, signals=signals))
        at += apart
    return history.window(at - apart, 600.0)


def test_four_busy_gpus_and_two_minutes_are_needed():
    slow = [1.0e9] * 3
    assert CHECK(history_of(slow, gpus=3)).health is Health.UNKNOWN
    assert guilty(CHECK(history_of(slow, gpus=4))) == ["node/n0/gpu/0"]
    assert CHECK(history_of(slow, apart=54.0)).health is Health.UNKNOWN
    assert CHECK(history_of(slow, apart=55.0)).health is Health.DEGRADED
    assert CHECK(history_of(slow)).summary().endswith(", thermal throttle")


def test_a_clock_counts_that_held_for_half_the_time():
    assert guilty(CHECK(history_of([1.98e9, 1.0e9, 1.0e9, 1.0e9, 1.0e9]))) == ["node/n0/gpu/0"]
    assert guilty(CHECK(history_of([1.0e9, 1.98e9, 1.98e9, 1.98e9, 1.98e9]))) == []
