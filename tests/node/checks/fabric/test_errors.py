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


@pytest.mark.parametrize(
    ("name", "health"),
    [
        ("port_symbol_error_total", Health.FAIL),
        ("port_link_error_recovery_total", Health.FAIL),
        ("port_rcv_errors_total", Health.FAIL),
        ("port_net_rx_crc_errors_total", Health.FAIL),
        ("port_phy_errors_total", Health.FAIL),
        ("port_fec_uncorrectable_total", Health.FAIL),
        ("port_hw_rx_roce_errors_total", Health.FAIL),
        ("port_hw_tx_roce_errors_total", Health.FAIL),
        ("port_local_link_integrity_errors_total", Health.DEGRADED),
        ("port_xmit_discards_total", Health.DEGRADED),
        ("port_phy_discards_total", Health.DEGRADED),
        ("port_pause_storms_total", Health.DEGRADED),
        ("port_pcie_signal_errors_total", Health.DEGRADED),
        ("port_hw_local_ack_timeout_err_total", Health.DEGRADED),
        ("port_hw_rx_drops_total", Health.DEGRADED),
        ("port_hw_retrans_pkts_total", Health.DEGRADED),
    ],
)
def test_a_flood_fails_the_port_only_if_the_link_itself_is_at_fault(name: str, health: Health) -> None:
    assert ask(name, (0, 0), (450, 0), (900, 10**9)).health is health


@pytest.mark.parametrize("name", ["out_of_sequence", "packet_seq_err"])
def test_packets_out_of_order_are_reported_and_no_fault_because_adaptive_routing_makes_them(name: str) -> None:
    samples = ((0, 1000), (450, 1000), (900, 1_001_000))
    verdict = ask(f"port_hw_{name}_total", *samples, beside="port_symbol_error_total")
    assert verdict.health is Health.PASS
    assert f"nic mlx5_0/1: hw_{name} grew by 1000000 in 15 min: adaptive routing reorders too" in verdict.evidence


def test_large_totals_that_stand_still_pass() -> None:
    assert ask("port_symbol_error_total", (0, 40000), (600, 40000)).health is Health.PASS


def test_one_sample_passes_and_says_so() -> None:
    verdict = ask("port_symbol_error_total", (0, 40000))
    assert verdict.health is Health.PASS
    assert "one reading: rates are not judged" in verdict.evidence
    assert verdict.rows[0].reason == "one reading: rates are not judged"


def test_a_counter_that_was_cleared_is_no_negative_rate() -> None:
    assert ask("port_symbol_error_total", (0, 40000), (300, 3), (600, 5)).health is Health.PASS


def test_a_saturated_counter_is_reported() -> None:
    verdict = ask("port_symbol_error_total", (0, 65535), (600, 65535))
    assert any("65535" in message for message in verdict.evidence)
    assert "its maximum" in verdict.rows[0].reason


def test_a_counter_that_grew_up_to_its_maximum_is_reported_by_its_growth() -> None:
    verdict = ask("port_symbol_error_total", (0, 1000), (450, 1000), (900, 65535))
    assert (verdict.health, "its maximum" in verdict.rows[0].reason) == (Health.FAIL, False)
    assert any("its maximum" in message for message in verdict.evidence)


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


def test_a_port_of_the_manifest_that_is_not_there_is_reported_to_be_missing() -> None:
    other = "node/n1/nic/mlx5_7/1"
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT, other}))
    signals = [Signal(PORT, "port_symbol_error_total", 0.0), Signal(PORT, "port_expected", 1.0), READABLE]
    history.add(Reading(source="infiniband_counters", at=0, signals=signals))
    (row,) = (row for row in CHECK(history.window(0, CHECK.span)).rows if row.subject == other)
    assert (row.health, row.reason) == (Health.UNKNOWN, "no such port is seen on this node; the manifest lists it")


@pytest.mark.parametrize(
    ("name", "most"),
    [  # what a port may count in the fifteen minutes of the window
        ("port_symbol_error_total", 120 / 4),
        ("port_link_error_recovery_total", 5 * 15),
        ("port_rcv_errors_total", 10 * 900),
        ("port_local_link_integrity_errors_total", 0),
        ("port_excessive_buffer_overrun_errors_total", 0),
        ("port_xmit_discards_total", 100 * 900),
        ("port_hw_rnr_nak_retry_err_total", 0),
        ("port_hw_local_ack_timeout_err_total", 1 * 900),
        ("port_hw_roce_slow_restart_total", 10 * 900),
        ("port_hw_rx_icrc_encapsulated_total", 0),
    ],
)
def test_what_a_good_link_may_count_and_one_more(name: str, most: float) -> None:
    assert ask(name, (0, 0), (450, 0), (900, most)).health is Health.PASS
    assert ask(name, (0, 0), (450, 0), (900, most + 1)).health is Health.DEGRADED


@pytest.mark.parametrize(
    ("name", "flood", "health"),
    [
        ("port_symbol_error_total", 3000, Health.DEGRADED),
        ("port_symbol_error_total", 3001, Health.FAIL),
        ("port_link_error_recovery_total", 7501, Health.FAIL),
        ("port_rcv_errors_total", 900_001, Health.FAIL),
        ("port_xmit_discards_total", 90_000_001, Health.DEGRADED),  # the network's congestion, not this link's fault
        ("port_local_link_integrity_errors_total", 1_000_000, Health.DEGRADED),
        ("port_excessive_buffer_overrun_errors_total", 1_000_000, Health.DEGRADED),
        ("port_hw_rnr_nak_retry_err_total", 1_000_000, Health.DEGRADED),
        ("port_hw_local_ack_timeout_err_total", 1_000_000, Health.DEGRADED),
        ("port_hw_roce_slow_restart_total", 10_000_000, Health.DEGRADED),
        ("port_hw_rx_icrc_encapsulated_total", 1_000_000, Health.DEGRADED),
    ],
)
def test_a_hundred_times_the_limit_fails_where_it_is_the_links_own_fault(
    name: str, flood: float, health: Health
) -> None:
    assert ask(name, (0, 0), (450, 0), (900, flood)).health is health


def test_a_minute_of_history_is_needed_and_enough() -> None:
    young = ask("port_symbol_error_total", (0, 0), (59, 5000))
    assert (young.health, young.rows[0].reason) == (Health.PASS, "one reading: rates are not judged")
    assert ask("port_symbol_error_total", (0, 0), (60, 5000)).health is Health.FAIL
    quiet = ask("port_symbol_error_total", (0, 0), (60, 0))
    assert (quiet.rows[0].reason, quiet.evidence) == ("", ())


def two(first: tuple[str, float], second: tuple[str, float], second_from: float = 0.0) -> Verdict:
    """Two counters of one port, each with what it grew by; the second may be new."""
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    for at in (0.0, 450.0, 900.0):
        signals = [READABLE, Signal(PORT, "port_expected", 1.0), Signal(PORT, first[0], first[1] * (at == 900.0))]
        if at >= second_from:
            signals.append(Signal(PORT, second[0], second[1] * (at == 900.0)))
        history.add(Reading(source="infiniband_counters", at=at, signals=signals))
    return CHECK(history.window(900.0, CHECK.span))


def test_the_worst_counter_speaks_for_the_port_and_of_equals_the_first() -> None:
    symbols, recoveries = ("port_symbol_error_total", 40.0), ("port_link_error_recovery_total", 8000.0)
    assert two(symbols, recoveries).rows[0].reason.startswith("link_error_recovery grew by 533 a minute")
    flood, some = ("port_symbol_error_total", 5000.0), ("port_rcv_errors_total", 9100.0)
    assert two(flood, some).rows[0].reason.startswith("symbol_error grew by 2e+04 an hour, limit 120")
    both = two(symbols, some).rows[0]
    assert (both.health, both.reason) == (Health.DEGRADED, "symbol_error grew by 160 an hour, limit 120")
    assert (both.value, both.limit) == (160.0, 120.0)
    odd = ask("port_link_error_recovery_total", (0, 0), (450, 0), (900, 76)).rows[0]
    assert odd.value == 5.067  # 76 in 15 minutes, to three places


def test_a_counter_that_has_just_appeared_is_not_judged_beside_one_that_is_known() -> None:
    still, new = ("port_symbol_error_total", 0.0), ("port_rcv_errors_total", 1e6)
    verdict = two(still, new, second_from=900.0)
    assert (verdict.health, verdict.rows[0].reason) == (Health.PASS, "")


def test_only_a_counter_at_its_end_is_reported_to_stand_still() -> None:
    assert ask("port_symbol_error_total", (0, 65535), (600, 5)).evidence == ()
    assert len(ask("port_symbol_error_total", (0, 5), (600, 65535)).evidence) == 1


def test_packets_in_order_are_not_reported_of() -> None:
    samples = ((0, 1000), (450, 1000), (900, 1000))
    assert ask("port_hw_out_of_sequence_total", *samples, beside="port_symbol_error_total").evidence == ()


def test_a_link_downed_counter_at_its_maximum_is_reported() -> None:
    at_rest = ask("port_link_downed_total", (0, 255), (600, 255), beside="port_symbol_error_total")
    assert any("link_downed is at 255, its maximum" in line for line in at_rest.evidence)
    assert "link_downed" in at_rest.rows[0].reason
    below = ask("port_link_downed_total", (0, 254), (600, 254), beside="port_symbol_error_total")
    assert not any("link_downed" in line for line in below.evidence)


@pytest.mark.parametrize(
    ("name", "grown", "words"),
    [
        ("port_symbol_error_total", 5000, "cable"),
        ("port_hw_roce_slow_restart_total", 20000, "PFC"),
        ("port_hw_rx_roce_discards_total", 200000, "PFC"),
        ("port_hw_max_retry_exceeded_total", 3, "other end"),
        ("port_hw_rx_rdma_mtu_discard_pkts_total", 40, "MTU"),
        ("port_pcie_signal_errors_total", 400, "reseat"),
    ],
)
def test_the_counter_says_what_to_check(name: str, grown: float, words: str) -> None:
    verdict = ask(name, (0, 0), (450, 0), (900, grown))
    assert verdict.health in (Health.FAIL, Health.DEGRADED)
    assert words in verdict.remedy
    assert ("cable" in verdict.remedy) is (words == "cable")


def test_the_gravest_counter_decides_what_to_do() -> None:
    history = History("n1")
    other = PORT.replace("mlx5_0", "mlx5_1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT, other}))
    for at, lost, symbols in ((0.0, 0.0, 0.0), (450.0, 0.0, 0.0), (900.0, 3.0, 50000.0)):
        signals = [Signal(port, "port_expected", 1.0) for port in (PORT, other)]
        signals += [Signal(port, "port_counters_readable", 1.0) for port in (PORT, other)]
        signals += [
            Signal(PORT, "port_hw_max_retry_exceeded_total", lost),
            Signal(other, "port_symbol_error_total", symbols),
        ]
        history.add(Reading(source="infiniband_counters", at=at, signals=signals))
    verdict = CHECK(history.window(900.0, CHECK.span))
    assert {row.health for row in verdict.rows} == {Health.FAIL, Health.DEGRADED}
    assert "cable" in verdict.remedy
