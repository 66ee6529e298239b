"""A sweep judged by regime: latency and bandwidth by the fabric's limits, steps by the curve itself."""

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.sweep import bandwidth as sweep_bandwidth
from holdfast.node.checks.sweep import baseline as sweep_baseline
from holdfast.node.checks.sweep import latency as sweep_latency
from holdfast.node.checks.sweep import steps as sweep_steps
from holdfast.node.checks.sweep.facts import human

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


def row_of(verdict):
    (row,) = verdict.rows
    return row


@pytest.mark.parametrize(("late", "health"), [(250e-6, Health.PASS), (251e-6, Health.FAIL)])
def test_how_late_small_messages_may_be(late, health):
    row = row_of(sweep_latency.CHECK(window(late=late)))
    assert (row.health, row.value, row.limit) == (health, late, 250e-6)


@pytest.mark.parametrize(("rate", "health"), [(350e9, Health.PASS), (349e9, Health.FAIL)])
def test_how_fast_large_messages_must_be(rate, health):
    row = row_of(sweep_bandwidth.CHECK(window({size: rate for size in SIZES})))
    assert (row.health, row.value, row.limit) == (health, rate, 350e9)
    assert f"{rate / 1e9:.0f} GB/s of bus bandwidth at 2 GiB, expected 445" in row.reason


@pytest.mark.parametrize(
    ("hosts", "ranks", "judged"), [(4.0, 32.0, True), (4.0, 31.0, False), (1.0, 8.0, True), (2.0, 64.0, True)]
)
def test_limits_hold_for_eight_ranks_a_host(hosts, ranks, judged):
    verdict = sweep_latency.CHECK(window(hosts=hosts, ranks=ranks, operation="all_reduce"))
    assert (verdict.health is Health.PASS) is judged
    assert judged or "are of 8 ranks a host, here are 7.75" in verdict.summary()


def test_within_a_host_a_network_of_tcp_is_no_fall_back_and_across_two_it_is():
    for hosts, health in ((1.0, Health.PASS), (2.0, Health.FAIL)):
        assert sweep_bandwidth.CHECK(window(network="Socket", hosts=hosts, ranks=8 * hosts)).health is health


def test_a_sweep_without_its_large_or_small_payload_says_so():
    large = sweep_bandwidth.CHECK(window({1 << 10: 1e9, 1 << 20: 1e9}))
    assert large.summary() == "sweep: the sweep ends at 1 MiB, before 2 GiB"
    small = sweep_latency.CHECK(window({8: 1e9, 1 << 31: 4e11}))
    assert "no payload of 1 KiB" in small.summary()


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        ((1 << 20) - 1024, "1023 KiB"),
        (1 << 20, "1 MiB"),
        (1 << 30, "1 GiB"),
    ],
)
def test_sizes_are_reported_in_their_units(size, words):
    assert human(size) == words


LOW, HIGH = 64 << 10, 64 << 20


def dip(at: int, ratio: float = 0.3):
    return {size: 100e9 * (ratio if size == at else 1.0) for size in SIZES}


@pytest.mark.parametrize(
    ("at", "health"),
    [(LOW, Health.DEGRADED), (LOW >> 1, Health.PASS), (HIGH, Health.DEGRADED), (HIGH << 1, Health.PASS)],
)
def test_the_middle_of_the_curve_is_from_64_kib_to_64_mib(at, health):
    assert sweep_steps.CHECK(window(dip(at))).health is health


@pytest.mark.parametrize(
    ("ratio", "variation", "health"),
    [
        (0.51, 0.0, Health.PASS),  # half of what the sizes around it lead to expect
        (0.49, 0.0, Health.DEGRADED),
        (0.4, 0.08, Health.DEGRADED),  # times 1.24
        (0.4, 0.09, Health.PASS),  # times 1.27: within three times what its runs lie apart
    ],
)
def test_how_deep_a_valley_is(ratio, variation, health):
    assert sweep_steps.CHECK(window(dip(1 << 20, ratio), variation=variation)).health is health


def test_a_curve_that_only_rises_or_only_falls_has_no_valley():
    rising = {size: float(size) for size in SIZES}
    falling = {size: 1e12 / size for size in SIZES}
    assert sweep_steps.CHECK(window(rising)).health is sweep_steps.CHECK(window(falling)).health is Health.PASS


def test_one_slow_size_is_reported_alone():
    row = row_of(sweep_steps.CHECK(window(dip(1 << 20))))
    assert (row.value, row.limit) == (1.0, 0.0)
    assert row.reason == "slow only at 1 MiB: the code path that is chosen there"


@pytest.mark.parametrize(("sizes", "health"), [(3, Health.PASS), (2, Health.UNKNOWN)])
def test_three_sizes_in_the_middle_are_needed(sizes, health):
    some = {LOW << power: 1e9 for power in range(sizes)}
    verdict = sweep_steps.CHECK(window({8: 1e9, 16: 1e9, 32: 1e9, **some}))
    assert verdict.health is health
    assert health is Health.PASS or "has 2 sizes between 64 KiB and 64 MiB" in verdict.summary()


@pytest.mark.parametrize(
    ("rate", "spread", "health"),
    [
        (361e9, 0.0, Health.PASS),  # a tenth below its past
        (359e9, 0.0, Health.DEGRADED),
        (341e9, 0.05, Health.PASS),  # three times what runs differ by
        (339e9, 0.05, Health.DEGRADED),
        (41e9, 0.9, Health.PASS),
        (39e9, 0.9, Health.DEGRADED),  # and a tenth of it is too little whatever they differ by
    ],
)
def test_how_far_below_its_past_a_size_may_lie(rate, spread, health):
    assert sweep_baseline.CHECK(with_past(rate, runs=5, spread=spread)).health is health


def past_of(sizes: dict[int, tuple[float, float]]):
    """Size -> (rate now, runs), against a past of 400 GB/s."""
    history = History("sweep")
    signals = []
    for size, (rate, runs) in sizes.items():
        result = {sweep_baseline.PAST: 400e9, sweep_baseline.SPREAD: 0.0, sweep_baseline.RUNS: runs,
                "sweep_busbw_bytes_per_second": rate}  # fmt: skip
        signals += [Signal(f"node/sweep/size/{size}", name, value) for name, value in result.items()]
    history.add(Reading(source="probes", at=0.0, signals=signals))
    return history.window(0.0, 600.0)


def test_slow_sizes_are_reported_with_their_ends_and_the_worst():
    row = row_of(sweep_baseline.CHECK(past_of({1024: (300e9, 5.0), 2048: (200e9, 6.0), 4096: (300e9, 5.0)})))
    assert row.reason == ("slower than its own past at 1 KiB to 4 KiB, most at 2 KiB: 50 % below the mean of 6 runs")
    assert (row.value, row.limit) == (0.5, 0.1)


@pytest.mark.parametrize(
    ("slow", "where"),
    [((1024,), "at 1 KiB:"), ((1024, 2048), "at 1 KiB to 2 KiB, most at 1 KiB:")],
)
def test_one_slow_size_is_reported_alone_and_two_with_their_ends(slow: tuple[int, ...], where: str) -> None:
    rates = {size: (200e9 if size in slow else 400e9, 5.0) for size in (1024, 2048)}
    assert where in row_of(sweep_baseline.CHECK(past_of(rates))).reason


def test_a_size_with_too_short_a_past_is_not_compared():
    assert sweep_baseline.CHECK(past_of({1024: (100e9, 4.0), 2048: (400e9, 5.0)})).health is Health.PASS
    unknown = sweep_baseline.CHECK(past_of({1024: (100e9, 4.0)}))
    assert "4 healthy runs of this kind are known, 5 are needed" in unknown.summary()


def test_where_no_one_reported_how_many_ranks_ran_the_limits_hold():
    assert sweep_latency.CHECK(window(hosts=4.0)).health is Health.PASS


def test_both_ends_of_the_middle_count_towards_its_sizes():
    assert sweep_steps.CHECK(window({8: 1e9, LOW: 1e9, LOW << 1: 1e9, HIGH: 1e9})).health is Health.PASS


@pytest.mark.parametrize("past", [{}, {sweep_baseline.PAST: 0.0}])
def test_a_size_of_which_no_past_is_known_is_not_compared(past):
    history = History("sweep")
    known = {sweep_baseline.PAST: 400e9, sweep_baseline.RUNS: 5.0, "sweep_busbw_bytes_per_second": 400e9}
    unknown = {**past, sweep_baseline.RUNS: 5.0, "sweep_busbw_bytes_per_second": 1e9}
    signals = [
        Signal(f"node/sweep/size/{size}", name, value)
        for size, result in ((1024, known), (2048, unknown))
        for name, value in result.items()
    ]
    history.add(Reading(source="probes", at=0.0, signals=signals))
    assert sweep_baseline.CHECK(history.window(0.0, 600.0)).health is Health.PASS
