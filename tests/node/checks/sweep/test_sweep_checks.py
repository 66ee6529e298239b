"""A sweep judged by regime: latency and bandwidth by the fabric's limits, steps by the curve itself."""

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.sweep import bandwidth as sweep_bandwidth
from holdfast.node.checks.sweep import baseline as sweep_baseline
from holdfast.node.checks.sweep import latency as sweep_latency
from holdfast.node.checks.sweep import steps as sweep_steps

H100 = "NVIDIA H100 80GB HBM3"
SIZES = [1 << power for power in range(3, 32)]


def window(rates=None, late=None, network="IB", gpu=H100, variation=None, **reported):
    rates = rates or {size: 400e9 * size / (size + (8 << 20)) for size in SIZES}
    signals = [Signal(f"node/sweep/size/{size}", "sweep_busbw_bytes_per_second", rate) for size, rate in rates.items()]
    signals += [Signal(f"node/sweep/size/{size}", "sweep_p95_seconds", late or 100e-6) for size in rates]
    signals += [Signal("node/sweep", "sweep_network", network), Signal("node/sweep", "gpu_model", gpu)]
    signals += [Signal("node/sweep", f"sweep_{name}", value) for name, value in reported.items()]
    if variation is not None:
        signals += [Signal(f"node/sweep/size/{size}", "sweep_variation_ratio", variation) for size in rates]
    history = History("sweep")
    history.add(Reading(source="probes", at=0.0, signals=signals))
    return history.window(0.0, 600.0)


@pytest.mark.parametrize("check", [sweep_bandwidth.CHECK, sweep_latency.CHECK, sweep_steps.CHECK])
def test_a_healthy_sweep_passes(check):
    assert check(window()).health is Health.PASS


def test_small_messages_above_250_us_fail():
    assert sweep_latency.CHECK(window(late=240e-6)).health is Health.PASS
    verdict = sweep_latency.CHECK(window(late=300e-6))
    assert verdict.health is Health.FAIL and "300 us at 1 KiB, expected 120" in verdict.summary()


def test_large_messages_below_350_gigabytes_fail():
    verdict = sweep_bandwidth.CHECK(window({size: 340e9 for size in SIZES}))
    assert verdict.health is Health.FAIL and "340 GB/s" in verdict.summary()


def test_a_fall_back_to_tcp_is_called_that():
    verdict = sweep_bandwidth.CHECK(window({size: 4e9 for size in SIZES}, network="Socket"))
    assert verdict.health is Health.FAIL and "TCP" in verdict.summary() and "plugin" in verdict.remedy


def test_within_a_host_nothing_falls_back():
    alone = {"hosts": 1.0, "ranks": 8.0}
    assert sweep_bandwidth.CHECK(window(network="Socket", **alone)).health is Health.PASS


@pytest.mark.parametrize("reported", [{"operation": "all_to_all"}, {"hosts": 4.0, "ranks": 4.0}])
def test_limits_of_something_else_judge_nothing(reported):
    slow = window({size: 40e9 for size in SIZES}, late=1.0, **reported)
    assert sweep_bandwidth.CHECK(slow).health is sweep_latency.CHECK(slow).health is Health.UNKNOWN
    assert "limits of reference are of" in sweep_bandwidth.CHECK(slow).summary()


def test_a_step_is_larger_than_its_own_runs_lie_apart():
    dip = {size: 100e9 * (0.3 if size == 1 << 20 else 1.0) for size in SIZES}
    assert sweep_steps.CHECK(window(dip, variation=0.05)).health is Health.DEGRADED
    assert sweep_steps.CHECK(window(dip, variation=0.6)).health is Health.PASS


def test_an_unknown_fabric_is_judged_by_its_curve_only():
    unknown = window(gpu="")
    assert sweep_latency.CHECK(unknown).health is sweep_bandwidth.CHECK(unknown).health is Health.UNKNOWN
    assert "no limits are known" in sweep_bandwidth.CHECK(unknown).summary()
    assert sweep_steps.CHECK(unknown).health is Health.PASS


def with_past(rate: float, runs: int, spread: float = 0.02):
    size = 1 << 31
    history = History("sweep")
    reported = {sweep_baseline.PAST: 400e9, sweep_baseline.SPREAD: spread, sweep_baseline.RUNS: float(runs)}
    reported["sweep_busbw_bytes_per_second"] = rate
    signals = [Signal(f"node/sweep/size/{size}", name, value) for name, value in reported.items()]
    history.add(Reading(source="probes", at=0.0, signals=signals))
    return history.window(0.0, 600.0)


def test_a_cluster_is_compared_with_its_own_past_once_it_has_one():
    assert sweep_baseline.CHECK(with_past(400e9, runs=4)).health is Health.UNKNOWN
    assert sweep_baseline.CHECK(with_past(385e9, runs=5)).health is Health.PASS
    verdict = sweep_baseline.CHECK(with_past(300e9, runs=5))
    assert verdict.health is Health.DEGRADED and "25 % below the mean of 5 runs" in verdict.summary()


def test_where_runs_differ_anyway_a_fall_must_be_larger():
    assert sweep_baseline.CHECK(with_past(300e9, runs=9, spread=0.1)).health is Health.PASS


def test_a_valley_is_named_with_its_ends():
    rates = {size: 400e9 * size / (size + (64 << 10)) for size in SIZES}
    slow = {size: rate / 10 if (256 << 10) <= size <= (4 << 20) else rate for size, rate in rates.items()}
    verdict = sweep_steps.CHECK(window(slow))
    assert verdict.health is Health.DEGRADED and "slow only between 256 KiB and 4 MiB" in verdict.summary()


def test_a_sweep_that_stops_early_is_unknown_and_not_a_pass():
    short = window({size: 1e9 for size in SIZES if size <= 4096})
    assert sweep_bandwidth.CHECK(short).health is sweep_steps.CHECK(short).health is Health.UNKNOWN
