"""fabric.errors: rates over the window, never totals."""

import pytest

from holdfast.checks.fabric_errors import CHECK
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.model.verdict import Verdict

PORT = "node/n1/nic/mlx5_0/1"


def ask(name: str, *samples: tuple[float, float], beside: str = "") -> Verdict:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    for at, value in samples:
        signals = [Signal(PORT, name, value), Signal(PORT, "port_expected", 1.0)]
        if beside:
            signals.append(Signal(PORT, beside, 0.0))
        history.add(Reading(source="infiniband_counters", at=at, signals=signals))
    return CHECK(history.window(samples[-1][0] if samples else 0.0, CHECK.span))


@pytest.mark.parametrize(
    ("name", "grown", "health"),
    [
        ("port_symbol_error_total", 29, Health.PASS),
        ("port_symbol_error_total", 31, Health.DEGRADED),
        ("port_symbol_error_total", 5000, Health.FAIL),
        ("port_link_error_recovery_total", 76, Health.DEGRADED),
        ("port_local_link_integrity_errors_total", 1, Health.DEGRADED),
        ("port_rcv_errors_total", 8000, Health.PASS),
        ("port_rcv_errors_total", 9100, Health.DEGRADED),
        ("port_hw_rnr_nak_retry_err_total", 1, Health.DEGRADED),
        ("port_hw_local_ack_timeout_err_total", 1000, Health.DEGRADED),
        ("port_hw_roce_slow_restart_total", 100, Health.PASS),
    ],
)
def test_growth_in_fifteen_minutes(name: str, grown: float, health: Health) -> None:
    assert ask(name, (0, 1000), (450, 1000), (900, 1000 + grown)).health is health


@pytest.mark.parametrize("name", ["out_of_sequence", "packet_seq_err"])
def test_packets_out_of_order_are_told_and_no_fault_because_adaptive_routing_makes_them(name: str) -> None:
    samples = ((0, 1000), (450, 1000), (900, 1_001_000))
    verdict = ask(f"port_hw_{name}_total", *samples, beside="port_symbol_error_total")
    assert verdict.health is Health.PASS
    assert f"nic mlx5_0/1: hw_{name} grew by 1000000 in 15 min" in verdict.evidence


def test_large_totals_that_stand_still_pass() -> None:
    assert ask("port_symbol_error_total", (0, 40000), (600, 40000)).health is Health.PASS


def test_one_sample_passes_and_says_so() -> None:
    verdict = ask("port_symbol_error_total", (0, 40000))
    assert verdict.health is Health.PASS
    assert any("one sample only" in said for said in verdict.evidence)


def test_a_counter_that_was_cleared_is_no_negative_rate() -> None:
    assert ask("port_symbol_error_total", (0, 40000), (300, 3), (600, 5)).health is Health.PASS


def test_a_saturated_counter_is_told() -> None:
    verdict = ask("port_symbol_error_total", (0, 65535), (600, 65535))
    assert any("65535" in said for said in verdict.evidence)


def test_a_port_without_counters_is_unknown_with_the_reason() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    absent = {(PORT, "port_symbol_error_total"): "reads 'N/A (no PMA)'"}
    history.add(Reading(source="infiniband_counters", at=0, absent=absent))
    verdict = CHECK(history.window(0, 900))
    assert verdict.health is Health.UNKNOWN
    assert "no PMA" in verdict.summary()
