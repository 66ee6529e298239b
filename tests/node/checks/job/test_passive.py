"""Jobs that tell nothing: the busy GPU with the low clock is the slow one, not those that wait for it."""

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.job.passive import CHECK


def window(clock, busy=lambda gpu: 1.0, minutes=4):
    history = History("4711")
    history.expect_freshness("digest", 180.0)
    for minute in range(minutes):
        signals = []
        for gpu in range(16):
            about = f"node/n{gpu // 8}/gpu/{gpu % 8}"
            signals.append(Signal(about, "gpu_clock_sm_hertz", clock(gpu)))
            signals.append(Signal(about, "gpu_utilization_ratio", busy(gpu)))
        history.add(Reading(source="digest", at=60.0 * minute, signals=signals))
    return history.window(60.0 * (minutes - 1), 600.0)


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


def test_one_look_is_not_enough():
    assert CHECK(window(lambda gpu: 1.98e9, minutes=1)).health is Health.UNKNOWN


def test_a_job_nobody_sees_is_unknown():
    assert CHECK(History("4711").window(0.0, 600.0)).health is Health.UNKNOWN
