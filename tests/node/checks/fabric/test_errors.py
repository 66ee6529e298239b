"""fabric.errors: rates over the window, never totals."""

from pathlib import Path

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.model.verdict import Verdict
from holdfast.node.checks.fabric.errors import CHECK
from holdfast.node.sources.fabric.infiniband import InfinibandCountersSource

PORT = "node/n1/nic/mlx5_0/1"
READABLE = Signal(PORT, "port_counters_readable", 1.0)


def ask(name: str, *samples: tuple[float, float], beside: str = "") -> Verdict:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    for at, value in samples:
        signals = [Signal(PORT, name, value), Signal(PORT, "port_expected", 1.0), READABLE]
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
    assert "one look: rates are not judged" in verdict.evidence
    assert verdict.rows[0].reason == "one look: rates are not judged"


def test_a_counter_that_was_cleared_is_no_negative_rate() -> None:
    assert ask("port_symbol_error_total", (0, 40000), (300, 3), (600, 5)).health is Health.PASS


def test_a_saturated_counter_is_told() -> None:
    verdict = ask("port_symbol_error_total", (0, 65535), (600, 65535))
    assert any("65535" in said for said in verdict.evidence)


def test_a_port_without_counters_is_unknown_with_the_reason() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    absent = {(PORT, "port_symbol_error_total"): "reads 'N/A (no PMA)'"}
    history.add(Reading(source="infiniband_counters", at=0, signals=[READABLE], absent=absent))
    verdict = CHECK(history.window(0, 900))
    assert verdict.health is Health.UNKNOWN
    assert "no PMA" in verdict.summary()


def of_a_tree(counters: dict[str, bytes], root: Path) -> Verdict:
    """The source and the check together, on a port with these files."""
    port = root / "class" / "infiniband" / "mlx5_0" / "ports" / "1" / "counters"
    port.mkdir(parents=True)
    for name, raw in counters.items():
        (port / name).write_bytes(raw)
    source = InfinibandCountersSource("n1", str(root))
    history = History("n1")
    history.promise(source.name, source.carries)
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    for at in (0.0, 30.0, 60.0):
        history.add(source.read(at))
    return CHECK(history.window(60.0, CHECK.span))


@pytest.mark.parametrize(
    ("file", "raw"),
    [("symbol_error", b"\x00\xff\x01"), ("link_downed", b""), ("port_rcv_errors", b"-1\n"), ("symbol_error", b"\n")],
)
def test_a_counter_that_makes_no_sense_makes_the_port_unknown_and_is_named(
    tmp_path: Path, file: str, raw: bytes
) -> None:
    counters = {"symbol_error": b"0\n", "link_downed": b"0\n", "port_rcv_errors": b"0\n", file: raw}
    verdict = of_a_tree(counters, tmp_path)
    assert verdict.health is Health.UNKNOWN
    assert f"file counters/{file} reads" in verdict.summary()


def test_a_counter_the_device_does_not_keep_leaves_the_others_to_judge(tmp_path: Path) -> None:
    assert of_a_tree({"symbol_error": b"N/A (no PMA)\n", "port_rcv_errors": b"0\n"}, tmp_path).health is Health.PASS


def test_a_port_without_any_counter_says_so_in_words(tmp_path: Path) -> None:
    verdict = of_a_tree({}, tmp_path)
    assert verdict.health is Health.UNKNOWN
    assert "shows no counters" in verdict.summary()
    assert "never read" not in verdict.summary()


def test_a_port_with_none_of_the_judged_counters_says_so_in_words(tmp_path: Path) -> None:
    verdict = of_a_tree({"port_xmit_data": b"5\n"}, tmp_path)
    assert verdict.health is Health.UNKNOWN
    assert "none of the error counters" in verdict.summary()


def test_a_machine_without_rdma_says_why(tmp_path: Path) -> None:
    source = InfinibandCountersSource("n1", str(tmp_path))
    history = History("n1")
    history.promise(source.name, source.carries)
    history.add(source.read(0.0))
    verdict = CHECK(history.window(0.0, CHECK.span))
    assert verdict.health is Health.UNKNOWN
    assert "no RDMA device: " in verdict.summary()


def test_a_port_of_the_manifest_that_is_not_there_is_said_to_be_missing() -> None:
    other = "node/n1/nic/mlx5_7/1"
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT, other}))
    signals = [Signal(PORT, "port_symbol_error_total", 0.0), Signal(PORT, "port_expected", 1.0), READABLE]
    history.add(Reading(source="infiniband_counters", at=0, signals=signals))
    (row,) = (row for row in CHECK(history.window(0, CHECK.span)).rows if row.subject == other)
    assert (row.health, row.reason) == (Health.UNKNOWN, "no such port is seen on this node; the manifest lists it")
