"""Active probes judged: floors of the model, a fall against the past and the peers, wrong numbers; and a CPU."""

from dataclasses import replace

import pytest

from holdfast.catalog.gpus import gpu_model
from holdfast.model.health import FailureClass, Health
from holdfast.node.checks.probe import burn_in as probe_burn_in
from holdfast.node.checks.probe import fingerprint as probe_fingerprint
from holdfast.node.checks.probe import host_copy as probe_host_copy
from holdfast.node.checks.probe import memory as probe_memory
from holdfast.node.checks.probe import node_collective as probe_node_collective
from holdfast.node.checks.probe import peer_copy as probe_peer_copy
from holdfast.node.checks.probe import rdma_loopback as probe_rdma_loopback
from holdfast.node.checks.probe.facts import amount
from tests.node.checks.probe.probe_tray import H100, NODE, gpu, window

BF16 = "probe_burn_in_bf16_flops_per_second"
MEMORY = "probe_memory_bytes_per_second"


def burned(teraflops: list[float], **more: float) -> dict[str, dict[str, float | str]]:
    return {gpu(i): {BF16: one * 1e12, "probe_burn_in_wrong_steps": 0.0, **more} for i, one in enumerate(teraflops)}


def healths(verdict) -> list[Health]:
    return [row.health for row in verdict.rows]


def test_a_gpu_below_the_floor_of_its_model_fails_and_one_that_was_not_measured_is_unknown() -> None:
    verdict = probe_burn_in.CHECK(window(burned([700, 300]), gpus=3))
    assert healths(verdict) == [Health.PASS, Health.FAIL, Health.UNKNOWN]
    assert verdict.failure_class is FailureClass.SLOWDOWN
    assert "300.0 TFLOP/s" in verdict.summary()


def test_no_one_fails_for_a_peak_that_no_one_confirmed(monkeypatch) -> None:
    monkeypatch.setattr("tests.node.checks.probe.probe_tray.H100", "NVIDIA H100 NVL")
    verdict = probe_burn_in.CHECK(window(burned([300]), gpus=1))
    assert healths(verdict) == [Health.PASS] and "no minimum is known" in verdict.rows[0].reason


def test_three_percent_below_its_peers_is_degraded_and_two_are_not() -> None:
    assert healths(probe_burn_in.CHECK(window(burned([700, 700, 701, 699, 675]), gpus=5)))[4] is Health.DEGRADED
    assert healths(probe_burn_in.CHECK(window(burned([700, 700, 701, 699, 688]), gpus=5)))[4] is Health.PASS


def test_a_fall_against_its_own_past_has_worn_memory_as_evidence() -> None:
    past = {f"past_{MEMORY}": 3.0e12, f"past_spread_{MEMORY}": 0.002, f"past_runs_{MEMORY}": 5.0}
    worn = {"gpu_remapped_rows_correctable": 7.0, "past_gpu_remapped_rows_correctable": 2.0}
    found = {MEMORY: 2.88e12, "probe_memory_wrong_words": 0.0, "probe_memory_tested_bytes": 7e10}
    verdict = probe_memory.CHECK(window({gpu(0): {**found, **past, **worn}}, gpus=1))
    assert verdict.health is Health.DEGRADED
    assert "4.0 % below its own past" in verdict.summary() and "5 more rows remapped" in verdict.summary()


def test_a_past_that_lies_far_apart_raises_no_alarm() -> None:
    past = {f"past_{MEMORY}": 3.0e12, f"past_spread_{MEMORY}": 0.05, f"past_runs_{MEMORY}": 5.0}
    found = {MEMORY: 2.88e12, "probe_memory_wrong_words": 0.0}
    assert probe_memory.CHECK(window({gpu(0): {**found, **past}}, gpus=1)).health is Health.PASS


def test_memory_that_loses_a_pattern_is_corruption_whatever_its_speed() -> None:
    found = {MEMORY: 3.0e12, "probe_memory_wrong_words": 2.0, "probe_memory_tested_bytes": 7e10}
    verdict = probe_memory.CHECK(window({gpu(0): found}, gpus=1))
    assert (verdict.health, verdict.failure_class) == (Health.FAIL, FailureClass.CORRUPTION)


def test_a_cpu_is_reported_and_not_judged_by_speed_but_by_its_numbers() -> None:
    found = {NODE: {BF16: 1e9, "probe_burn_in_wrong_steps": 0.0}}
    verdict = probe_burn_in.CHECK(window(found, device="cpu"))
    assert verdict.health is Health.PASS and "not judged" in verdict.summary()
    found[NODE]["probe_burn_in_wrong_steps"] = 1.0
    assert probe_burn_in.CHECK(window(found, device="cpu")).health is Health.FAIL


def test_a_slow_direction_of_a_host_path_fails() -> None:
    path = f"{NODE}/host_path/numa0-gpu0"
    found = {
        "probe_host_copy_to_device_bytes_per_second": 53e9,
        "probe_host_copy_from_device_bytes_per_second": 12e9,
        "probe_host_copy_wrong": 0.0,
    }
    verdict = probe_host_copy.CHECK(window({path: found}, gpus=1))
    assert (verdict.health, verdict.rows[0].value) == (Health.FAIL, 12e9)


def test_the_pair_that_is_slower_than_the_others_is_named() -> None:
    pairs = {
        f"{NODE}/peer/gpu{one}-gpu{other}": {
            "probe_peer_copy_bytes_per_second": 100e9 if (one, other) == (2, 1) else 370e9,
            "probe_peer_copy_wrong": 0.0,
        }
        for one in range(3)
        for other in range(3)
        if one != other
    }
    verdict = probe_peer_copy.CHECK(window(pairs, gpus=3))
    assert [row.subject for row in verdict.rows if row.health is not Health.PASS] == [f"{NODE}/peer/gpu2-gpu1"]


def fingerprints(digests: list[str], **more: float | str) -> dict[str, dict[str, float | str]]:
    common = {
        "probe_fingerprint_key": "H100 torch 2",
        "probe_fingerprint_repeats": 9.0,
        "probe_fingerprint_unstable": 0.0,
    }
    return {gpu(i): {**common, "probe_fingerprint": one, **more} for i, one in enumerate(digests)}


def test_the_gpu_whose_bits_differ_from_the_majority_is_named() -> None:
    verdict = probe_fingerprint.CHECK(window(fingerprints(["a", "a", "b", "a"]), gpus=4))
    assert [row.subject for row in verdict.rows if row.health is Health.FAIL] == [gpu(2)]
    assert verdict.failure_class is FailureClass.CORRUPTION


def test_bits_are_compared_with_the_golden_value_where_there_are_no_peers() -> None:
    alone = probe_fingerprint.CHECK(window(fingerprints(["b"]), gpus=1))
    assert alone.health is Health.PASS and "no other device to compare with" in alone.summary()
    golden = probe_fingerprint.CHECK(window(fingerprints(["b"], probe_fingerprint_golden="a"), gpus=1))
    assert golden.health is Health.FAIL


def test_other_bits_in_a_repeat_are_corruption() -> None:
    found = fingerprints(["a"])
    found[gpu(0)]["probe_fingerprint_unstable"] = 1.0
    assert probe_fingerprint.CHECK(window(found, gpus=1)).health is Health.FAIL


def test_wrong_sums_name_whose_numbers_they_are() -> None:
    found = {
        "probe_collective_wrong_sizes": 1.0,
        "probe_collective_busbw_bytes_per_second": 1e11,
        "probe_collective_wrong_from": "gpu3",
    }
    verdict = probe_node_collective.CHECK(window({NODE: found}, gpus=0))
    assert verdict.health is Health.FAIL and "gpu3" in verdict.summary()


def test_a_port_that_does_not_reach_its_rate_fails() -> None:
    ports = {
        f"{NODE}/nic/mlx5_{i}/1": {
            "probe_rdma_loopback_bytes_per_second": speed,
            "port_rate_bytes_per_second": 50e9,
        }
        for i, speed in enumerate((48e9, 20e9))
    }
    assert healths(probe_rdma_loopback.CHECK(window(ports))) == [Health.PASS, Health.FAIL]


H100_TERAFLOPS, H100_MEMORY, H100_LINK = 989e12, 3350e9, 3.938e9 * 16
TO, FROM = "probe_host_copy_to_device_bytes_per_second", "probe_host_copy_from_device_bytes_per_second"


def one_row(verdict):
    (row,) = verdict.rows
    return row


@pytest.mark.parametrize(("share", "health"), [(0.4501, Health.PASS), (0.4499, Health.FAIL)])
def test_products_reach_forty_five_percent_of_the_peak(share, health) -> None:
    row = one_row(probe_burn_in.CHECK(window(burned([share * H100_TERAFLOPS / 1e12]), gpus=1)))
    assert (row.health, row.limit) == (health, pytest.approx(0.45 * H100_TERAFLOPS))


@pytest.mark.parametrize(("share", "health"), [(0.7501, Health.PASS), (0.7499, Health.FAIL)])
def test_memory_reaches_three_quarters_of_the_peak(share, health) -> None:
    found = {MEMORY: share * H100_MEMORY, "probe_memory_wrong_words": 0.0}
    assert one_row(probe_memory.CHECK(window({gpu(0): found}, gpus=1))).health is health


@pytest.mark.parametrize(("share", "health"), [(0.6001, Health.PASS), (0.5999, Health.FAIL)])
def test_a_host_path_reaches_six_tenths_of_its_link_both_ways(share, health) -> None:
    for slow, fast in ((TO, FROM), (FROM, TO)):
        found = {slow: share * H100_LINK, fast: H100_LINK, "probe_host_copy_wrong": 0.0}
        assert one_row(probe_host_copy.CHECK(window({f"{NODE}/host_path/numa0-gpu0": found}, gpus=1))).health is health


def test_a_host_path_to_a_device_of_an_unknown_model_has_no_floor() -> None:
    found = {TO: 2.0, FROM: 2.0, "probe_host_copy_wrong": 0.0}
    row = one_row(probe_host_copy.CHECK(window({f"{NODE}/host_path/numa0-gpu0": found})))
    assert (row.health, row.limit) == (Health.PASS, None)
    assert row.reason == "no minimum is known for it: compared with its own past and its peers only"


@pytest.mark.parametrize(
    ("generation", "lanes", "rate"),
    [(3, 16, 15.76e9), (4, 16, 31.504e9), (5, 16, 63.008e9), (6, 8, 60.504e9), (2, 16, 0.0), (None, None, 0.0)],
)
def test_what_a_link_can_carry(generation, lanes, rate) -> None:
    model = replace(gpu_model(H100), pcie_generation=generation, pcie_width_lanes=lanes)
    assert probe_host_copy.link_rate(model) == pytest.approx(rate)


@pytest.mark.parametrize(("share", "health"), [(0.851, Health.PASS), (0.849, Health.FAIL)])
def test_a_port_reaches_eighty_five_percent_of_its_rate(share, health) -> None:
    port = {"probe_rdma_loopback_bytes_per_second": share * 50e9, "port_rate_bytes_per_second": 50e9}
    row = one_row(probe_rdma_loopback.CHECK(window({f"{NODE}/nic/mlx5_0/1": port})))
    assert (row.health, row.limit) == (health, pytest.approx(42.5e9))


def test_a_port_whose_rate_is_not_reported_is_unknown() -> None:
    port = {"probe_rdma_loopback_bytes_per_second": 50e9}
    assert probe_rdma_loopback.CHECK(window({f"{NODE}/nic/mlx5_0/1": port})).health is Health.UNKNOWN


def remembered(value: float, past: float, spread: float = 0.0, runs: float = 3.0, name: str = MEMORY):
    """A GPU's memory beside what it reached before."""
    result = {f"past_{name}": past, f"past_spread_{name}": spread, f"past_runs_{name}": runs}
    found = {name: value, "probe_memory_wrong_words": 0.0}
    return one_row(probe_memory.CHECK(window({gpu(0): {**found, **result}}, gpus=1)))


@pytest.mark.parametrize(
    ("value", "spread", "runs", "health"),
    [
        (2.911e12, 0.0, 3, Health.PASS),  # three percent below its past
        (2.909e12, 0.0, 3, Health.DEGRADED),
        (2.909e12, 0.0, 2, Health.PASS),  # two runs are no past
        (2.69e12, 0.02, 3, Health.DEGRADED),
        (2.83e12, 0.02, 3, Health.PASS),  # three times what runs differ by: six percent
        (2.81e12, 0.02, 3, Health.DEGRADED),
    ],
)
def test_how_far_below_its_own_past_a_part_may_lie(value, spread, runs, health) -> None:
    assert remembered(value, 3.0e12, spread, runs).health is health


def test_a_fall_reports_the_least_that_was_allowed_and_by_how_much_it_fell() -> None:
    row = remembered(2.7e12, 3.0e12)
    assert (row.value, row.limit) == (2.7e12, pytest.approx(2.91e12))
    assert "2700.00 GB/s, 10.0 % below its own past (3 runs)" in row.reason
    assert "; since the last run" not in row.reason


def test_however_far_runs_lie_apart_a_tenth_of_the_past_is_too_little() -> None:
    def copied(value: float):
        name = "probe_peer_copy_bytes_per_second"
        past = {f"past_{name}": 100e9, f"past_spread_{name}": 0.9, f"past_runs_{name}": 9.0}
        return one_row(
            probe_peer_copy.CHECK(
                window({f"{NODE}/peer/gpu0-gpu1": {name: value, "probe_peer_copy_wrong": 0.0, **past}})
            )
        )

    assert [copied(value).health for value in (11e9, 9e9)] == [Health.PASS, Health.DEGRADED]


def pairs(*speeds: float):
    return {
        f"{NODE}/peer/gpu0-gpu{number}": {"probe_peer_copy_bytes_per_second": speed, "probe_peer_copy_wrong": 0.0}
        for number, speed in enumerate(speeds, 1)
    }


@pytest.mark.parametrize(
    ("speeds", "health"),
    [
        ((90.1e9, 100e9, 100e9, 100e9), Health.PASS),  # a pair may be ten percent slower than the others
        ((89.9e9, 100e9, 100e9, 100e9), Health.DEGRADED),
        ((50e9, 100e9, 100e9), Health.PASS),  # two are no peers
        ((70e9, 90e9, 100e9, 110e9), Health.PASS),  # where the others lie apart more is allowed
        ((50e9, 90e9, 100e9, 110e9), Health.DEGRADED),
    ],
)
def test_how_far_below_its_peers_a_pair_may_lie(speeds, health) -> None:
    verdict = probe_peer_copy.CHECK(window(pairs(*speeds)))
    assert verdict.rows[0].health is health
    assert health is Health.PASS or "below its 3 peers in this node" in verdict.rows[0].reason


def test_peers_are_of_the_same_model_and_kind() -> None:
    found = burned([500, 700, 700, 700])
    assert healths(probe_burn_in.CHECK(window(found, gpus=4)))[0] is Health.DEGRADED
    found[gpu(3)]["gpu_model"] = "NVIDIA H100 NVL"
    assert healths(probe_burn_in.CHECK(window(found, gpus=4)))[0] is Health.PASS
    found = burned([500, 700, 700])
    found[f"{NODE}/part/x"] = {BF16: 700e12}
    assert healths(probe_burn_in.CHECK(window(found, gpus=3)))[0] is Health.PASS


def test_wear_is_reported_only_where_a_count_grew() -> None:
    counts = {"gpu_ecc_aggregate_corrected_total": 5.0, "past_gpu_ecc_aggregate_corrected_total": 5.0}
    found = {MEMORY: 3.0e12, "probe_memory_wrong_words": 2.0, "probe_memory_tested_bytes": 7e10, **counts}
    row = one_row(probe_memory.CHECK(window({gpu(0): found}, gpus=1)))
    assert (row.value, row.limit) == (2.0, 0.0)
    assert row.reason == "2 words of 70.0 GB did not hold their pattern"
    found["gpu_ecc_aggregate_corrected_total"] = 6.0
    grown = one_row(probe_memory.CHECK(window({gpu(0): found}, gpus=1)))
    assert grown.reason.endswith("; since the last run 1 more corrected memory errors")
    del found["past_gpu_ecc_aggregate_corrected_total"]
    assert "since the last run" not in one_row(probe_memory.CHECK(window({gpu(0): found}, gpus=1))).reason


@pytest.mark.parametrize(
    ("value", "name", "words"),
    [
        (5e9, "x_bytes_per_second", "5.00 GB/s"),
        (1e12, "x_flops_per_second", "1.0 TFLOP/s"),
        (0.9e12, "x_flops_per_second", "900.0 GFLOP/s"),
    ],
)
def test_amounts_are_reported_in_their_units(value, name, words) -> None:
    assert amount(value, name) == words


def test_the_floor_is_of_bf16_alone_and_the_gravest_precision_is_reported() -> None:
    fp32 = "probe_burn_in_fp32_flops_per_second"
    assert one_row(probe_burn_in.CHECK(window(burned([700], **{fp32: 1e12}), gpus=1))).value == 700e12
    slow = {f"past_{fp32}": 50e12, f"past_spread_{fp32}": 0.0, f"past_runs_{fp32}": 9.0, fp32: 40e12}
    row = one_row(probe_burn_in.CHECK(window(burned([700], **slow), gpus=1)))
    assert (row.health, row.value) == (Health.DEGRADED, 40e12)
    row = one_row(probe_burn_in.CHECK(window(burned([300], **slow), gpus=1)))
    assert (row.health, row.value) == (Health.FAIL, 300e12)


def test_wrong_products_are_counted() -> None:
    row = one_row(probe_burn_in.CHECK(window({gpu(0): {BF16: 7e14, "probe_burn_in_wrong_steps": 3.0}}, gpus=1)))
    assert (row.reason, row.value, row.limit) == ("3 matrix products were wrong", 3.0, 0.0)


def test_what_came_back_changed_is_corruption_on_every_path() -> None:
    host = {TO: 1e12, FROM: 1e12, "probe_host_copy_wrong": 1.0}
    assert probe_host_copy.CHECK(window({f"{NODE}/host_path/numa0-gpu0": host}, gpus=1)).health is Health.FAIL
    peer = {"probe_peer_copy_bytes_per_second": 1e12, "probe_peer_copy_wrong": 1.0}
    verdict = probe_peer_copy.CHECK(window({f"{NODE}/peer/gpu0-gpu1": peer}, gpus=1))
    assert (verdict.health, verdict.failure_class) == (Health.FAIL, FailureClass.CORRUPTION)


def test_a_majority_is_more_than_half_of_three() -> None:
    def failed(*digests: str) -> list[str]:
        verdict = probe_fingerprint.CHECK(window(fingerprints(list(digests)), gpus=len(digests)))
        return [row.subject for row in verdict.rows if row.health is Health.FAIL]

    assert failed("a", "b") == []
    assert failed("a", "b", "a") == [gpu(1)]
    assert failed("a", "a", "b", "b") == []
    assert failed("a", "b", "c") == []


def test_devices_of_another_kind_are_no_majority() -> None:
    found = fingerprints(["a", "a", "a", "b"])
    found[gpu(3)]["probe_fingerprint_key"] = "H100 torch 3"
    assert probe_fingerprint.CHECK(window(found, gpus=4)).health is Health.PASS


def test_the_golden_value_comes_before_the_majority() -> None:
    verdict = probe_fingerprint.CHECK(window(fingerprints(["a", "a", "b"], probe_fingerprint_golden="b"), gpus=3))
    assert healths(verdict) == [Health.FAIL, Health.FAIL, Health.PASS]
    assert (verdict.rows[0].value, verdict.rows[0].limit) == ("a", "b")


def test_other_bits_in_repeats_are_counted() -> None:
    found = fingerprints(["a"])
    found[gpu(0)]["probe_fingerprint_unstable"] = 2.0
    row = one_row(probe_fingerprint.CHECK(window(found, gpus=1)))
    assert row.reason == "the same numbers gave other bits in 2 of 9 repeats"


def test_sums_that_add_up_are_judged_by_their_past() -> None:
    name = "probe_collective_busbw_bytes_per_second"
    past = {f"past_{name}": 1e11, f"past_spread_{name}": 0.0, f"past_runs_{name}": 3.0}

    def summed(value: float, wrong: float = 0.0):
        return probe_node_collective.CHECK(window({NODE: {name: value, "probe_collective_wrong_sizes": wrong, **past}}))

    assert [summed(value).health for value in (0.971e11, 0.969e11)] == [Health.PASS, Health.DEGRADED]
    assert "an unknown device" in summed(1e11, 2.0).summary()
    assert probe_node_collective.CHECK(window({NODE: {}})).health is Health.UNKNOWN


def test_a_pass_above_a_known_floor_needs_no_word() -> None:
    assert one_row(probe_burn_in.CHECK(window(burned([700]), gpus=1))).reason == ""


def test_a_direction_that_fell_is_reported_though_the_other_did_not() -> None:
    past = {f"past_{FROM}": 60e9, f"past_spread_{FROM}": 0.0, f"past_runs_{FROM}": 5.0}
    found = {TO: 60e9, FROM: 50e9, "probe_host_copy_wrong": 0.0, **past}
    row = one_row(probe_host_copy.CHECK(window({f"{NODE}/host_path/numa0-gpu0": found}, gpus=1)))
    assert (row.health, row.value) == (Health.DEGRADED, 50e9)


@pytest.mark.parametrize("speeds", [[0.5], [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
def test_runs_without_a_result_and_peers_that_moved_nothing_are_no_reference(speeds: list[float]) -> None:
    found = {"probe_memory_wrong_words": 0.0, f"past_runs_{MEMORY}": 5.0, "gpu_model": "some GPU"}
    readings = {gpu(number): {**found, MEMORY: speed} for number, speed in enumerate(speeds)}
    first = probe_memory.CHECK(window(readings, gpus=len(speeds))).rows[0]
    assert (first.subject, first.health) == (gpu(0), Health.PASS)


def test_a_part_that_moved_nothing_fails_though_no_minimum_is_known() -> None:
    found = {MEMORY: 0.0, "probe_memory_wrong_words": 0.0, "gpu_model": "some GPU"}
    row = one_row(probe_memory.CHECK(window({gpu(0): found}, gpus=1)))
    assert row.health is Health.FAIL and "nothing was done" in row.reason


def test_a_model_that_no_one_knows_has_no_minimum() -> None:
    row = one_row(probe_burn_in.CHECK(window({gpu(0): {**burned([700])[gpu(0)], "gpu_model": "some GPU"}}, gpus=1)))
    assert (row.health, row.limit) == (Health.PASS, None)
    assert "no minimum is known" in row.reason


@pytest.mark.parametrize(("counted", "health"), [({}, Health.PASS), ({f"past_runs_{MEMORY}": 1.0}, Health.DEGRADED)])
def test_a_past_of_no_counted_run_is_none_though_one_run_is_enough(counted, health) -> None:
    found = {MEMORY: 2.8e12, "probe_memory_wrong_words": 0.0, f"past_{MEMORY}": 3.0e12, **counted}
    verdict = probe_memory.CHECK(window({gpu(0): found}, gpus=1), {"least_past_runs": 1.0})
    assert verdict.health is health


@pytest.mark.parametrize(
    ("model", "limit"), [(H100, 0.45 * gpu_model(H100).confirmed_flops_per_second), ("some GPU", None)]
)
def test_a_test_in_which_nothing_was_done_is_held_against_the_minimum_if_there_is_one(model, limit) -> None:
    found = {BF16: 0.0, "probe_burn_in_wrong_steps": 0.0, "gpu_model": model}
    row = one_row(probe_burn_in.CHECK(window({gpu(0): found}, gpus=1)))
    assert (row.health, row.limit) == (Health.FAIL, limit)


@pytest.mark.parametrize(("value", "health"), [(11e9, Health.PASS), (9e9, Health.DEGRADED)])
def test_however_far_its_peers_lie_apart_a_tenth_of_them_is_too_little(value, health) -> None:
    verdict = probe_peer_copy.CHECK(window(pairs(value, 20e9, 100e9, 180e9)))
    assert {row.subject: row.health for row in verdict.rows}[f"{NODE}/peer/gpu0-gpu1"] is health


def test_a_device_alone_is_compared_with_no_peers_though_none_are_asked_for() -> None:
    verdict = probe_peer_copy.CHECK(window(pairs(50e9)), {"least_peers": 0.0})
    assert healths(verdict) == [Health.PASS]
