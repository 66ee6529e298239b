"""Active probes judged: floors of the model, a fall against the past and the peers, wrong numbers; and a CPU."""

from holdfast.model.health import FailureClass, Health
from holdfast.node.checks.probe import burn_in as probe_burn_in
from holdfast.node.checks.probe import fingerprint as probe_fingerprint
from holdfast.node.checks.probe import host_copy as probe_host_copy
from holdfast.node.checks.probe import memory as probe_memory
from holdfast.node.checks.probe import node_collective as probe_node_collective
from holdfast.node.checks.probe import peer_copy as probe_peer_copy
from holdfast.node.checks.probe import rdma_loopback as probe_rdma_loopback
from tests.node.checks.probe.probe_tray import NODE, gpu, window

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


def test_nobody_fails_for_a_peak_that_nobody_confirmed(monkeypatch) -> None:
    monkeypatch.setattr("tests.node.checks.probe.probe_tray.H100", "NVIDIA H100 NVL")
    verdict = probe_burn_in.CHECK(window(burned([300]), gpus=1))
    assert healths(verdict) == [Health.PASS] and "no floor is known" in verdict.rows[0].reason


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


def test_a_cpu_is_told_and_not_judged_by_speed_but_by_its_numbers() -> None:
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
