"""fabric.errors: counters that grow faster than a good link allows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from holdfast.catalog import nics
from holdfast.model.health import FailureClass, Health, worst
from holdfast.model.subject import Subject, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Run, Window, increase
from holdfast.node.checks import single_reading
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.fabric.rdma_ports import expected_ports, why_not_seen

_SECOND, _MINUTE, _HOUR = 1.0, 60.0, 3600.0
_LEAST_HISTORY_SECONDS = 60.0
_READABLE = "port_counters_readable"
_LINK_DOWNED = "port_link_downed_total"
CABLE = "clean or replace cable and transceiver; compare the counters of the switch port at the other end of the cable"
FLOW = "check PFC and ECN on this port and on its switch port: packets are lost on the way"
MTU = "compare the MTU of this port with that of the other hosts and of its switch port"
PEERS = "check whether the other end was up when its connections gave up, then the path to it"
SLOT = "reseat the adapter: the PCIe link under it has errors"


class _Rule(NamedTuple):
    signal: str
    limit: str
    unit: float  # seconds the limit is counted over
    physical: bool  # a fault of this link itself, so that a flood of it fails the port
    remedy: str = CABLE


_RULES = (
    _Rule("port_symbol_error_total", "symbol_error_per_hour", _HOUR, True),
    _Rule("port_link_error_recovery_total", "link_error_recovery_per_minute", _MINUTE, True),
    _Rule("port_rcv_errors_total", "rcv_errors_per_second", _SECOND, True),
    _Rule("port_local_link_integrity_errors_total", "local_link_integrity_errors_per_hour", _HOUR, False),
    _Rule("port_excessive_buffer_overrun_errors_total", "excessive_buffer_overrun_errors_per_hour", _HOUR, False, FLOW),
    _Rule("port_xmit_discards_total", "xmit_discards_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_rnr_nak_retry_err_total", "rnr_nak_retry_err_per_hour", _HOUR, False, PEERS),
    _Rule("port_hw_local_ack_timeout_err_total", "local_ack_timeout_err_per_second", _SECOND, False, PEERS),
    _Rule("port_hw_roce_slow_restart_total", "roce_slow_restart_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_rx_icrc_encapsulated_total", "rx_icrc_encapsulated_per_hour", _HOUR, False),
    _Rule("port_hw_roce_adp_retrans_to_total", "retransmission_timeouts_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_req_transport_retries_exceeded_total", "retries_exceeded_per_hour", _HOUR, False, PEERS),
    _Rule("port_net_rx_crc_errors_total", "rx_crc_errors_per_hour", _HOUR, True),
    # counters of an Ethernet adapter's driver (ethtool)
    _Rule("port_phy_errors_total", "symbol_error_per_hour", _HOUR, True),
    _Rule("port_fec_uncorrectable_total", "symbol_error_per_hour", _HOUR, True),
    _Rule("port_phy_discards_total", "roce_discards_per_second", _SECOND, False, FLOW),
    _Rule("port_pause_storms_total", "pause_storms_per_hour", _HOUR, False, FLOW),
    _Rule("port_pcie_signal_errors_total", "pcie_signal_errors_per_hour", _HOUR, False, SLOT),
    # Broadcom (bnxt_re)
    _Rule("port_hw_rx_roce_discards_total", "roce_discards_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_tx_roce_discards_total", "roce_discards_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_rx_roce_errors_total", "roce_errors_per_second", _SECOND, True),
    _Rule("port_hw_tx_roce_errors_total", "roce_errors_per_second", _SECOND, True),
    _Rule("port_hw_max_retry_exceeded_total", "retries_exceeded_per_hour", _HOUR, False, PEERS),
    _Rule("port_hw_to_retransmits_total", "retransmission_timeouts_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_unrecoverable_err_total", "retries_exceeded_per_hour", _HOUR, False, PEERS),
    # AMD Pensando (ionic)
    _Rule("port_hw_tx_rdma_retx_pkts_total", "retransmitted_packets_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_req_tx_retry_excd_err_total", "retries_exceeded_per_hour", _HOUR, False, PEERS),
    _Rule("port_hw_rx_rdma_mtu_discard_pkts_total", "mtu_discards_per_hour", _HOUR, False, MTU),
    # AWS (efa)
    _Rule("port_hw_rx_drops_total", "roce_discards_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_retrans_pkts_total", "retransmitted_packets_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_retrans_timeout_events_total", "retransmission_timeouts_per_second", _SECOND, False, FLOW),
    _Rule("port_hw_impaired_remote_conn_events_total", "impaired_connections_per_hour", _HOUR, False, PEERS),
)
_REPORTED = (  # reported, and never a fault by themselves
    ("port_hw_out_of_sequence_total", "adaptive routing reorders too"),
    ("port_hw_packet_seq_err_total", "adaptive routing reorders too"),
    ("port_hw_seq_err_naks_rcvd_total", "adaptive routing reorders too"),
    ("port_hw_req_rx_pkt_seq_err_total", "adaptive routing reorders too"),
    ("port_hw_np_ecn_marked_roce_packets_total", "congestion"),
    ("port_hw_rp_cnp_handled_total", "congestion"),
    ("port_hw_rx_ecn_marked_pkts_total", "congestion"),
    ("port_hw_rx_cnp_pkts_total", "congestion"),
    ("port_hw_rx_rdma_ecn_pkts_total", "congestion"),
    ("port_hw_rx_rdma_cnp_pkts_total", "congestion"),
    ("port_hw_unresponsive_remote_events_total", "the other end did not answer"),
    ("port_net_rx_dropped_total", "the host or the adapter had no buffer"),
)


def judge(window: Window, limits: Limits) -> Verdict:
    rows, evidence, remedies = [], [], {}
    for port in expected_ports(window):
        seen = {rule: window.runs(port, rule.signal) for rule in _RULES if window.value(port, rule.signal) is not None}
        if not seen:
            rows.append(Row(port, Health.UNKNOWN, reason=_why_blind(window, port)))
            continue
        row, remedies[port] = _judge_port(window, port, seen, limits)
        young = max(map(single_reading.seconds_seen, seen.values())) < _LEAST_HISTORY_SECONDS
        rows.append(single_reading.not_judged(row) if young else row)
        full = _saturated(window, port)
        evidence += [f"{local_name(port)}: {sentence}" for sentence in full]
        if full and rows[-1].health is Health.PASS:
            rows[-1] = replace(rows[-1], reason="; ".join(full))
        evidence += _reordering(window, port)
    return Verdict(
        rows=tuple(rows),
        evidence=single_reading.evidence_of_one_reading(rows) + tuple(evidence),
        remedy=_remedy_of_the_worst(rows, remedies),
    )


def _remedy_of_the_worst(rows: list[Row], remedies: dict[Subject, str]) -> str:
    bad = [row for row in rows if row.health in (Health.FAIL, Health.DEGRADED)]
    gravest = worst(row.health for row in bad)
    return next((remedies[row.subject] for row in bad if row.health is gravest), "")


def _judge_port(window: Window, port: Subject, seen: dict[_Rule, Sequence[Run]], limits: Limits) -> tuple[Row, str]:
    """The row of a port, with the remedy for its most serious counter."""
    found, remedy = Row(port, Health.PASS), ""
    for rule, runs in seen.items():
        limit = limits[rule.limit]
        rate = increase(runs) * rule.unit / window.span  # over the whole span: a short burst is not extrapolated
        if rate <= limit or single_reading.seconds_seen(runs) < _LEAST_HISTORY_SECONDS:
            continue
        flood = rule.physical and rate > limit * limits["fail_times_limit"]
        health = Health.FAIL if flood else Health.DEGRADED
        per = {_SECOND: "a second", _MINUTE: "a minute", _HOUR: "an hour"}[rule.unit]
        reason = f"{_plain(rule.signal)} grew by {rate:.3g} {per}, limit {limit:g}"
        if worst((health, found.health)) is health and found.health is not health:
            found, remedy = Row(port, health, round(rate, 3), limit, reason), rule.remedy
    return found, remedy


def _saturated(window: Window, port: Subject) -> list[str]:
    """Counters that reached their maximum and no longer show new errors."""
    found = {name: window.number(port, name) for name in (_LINK_DOWNED, *(rule.signal for rule in _RULES))}
    return [
        f"{_plain(name)} is at {value:.0f}, its maximum: it stops counting until it is cleared (perfquery -R)"
        for name, value in found.items()
        if value is not None and nics.is_saturated(name, value)
    ]


def _reordering(window: Window, port: Subject) -> list[str]:
    """Reordering, congestion and errors of the other end: reported with their meaning."""
    grown = ((name, increase(window.runs(port, name)), meaning) for name, meaning in _REPORTED)
    return [
        f"{local_name(port)}: {_plain(name)} grew by {count:.0f} in {window.span / _MINUTE:.0f} min: {meaning}"
        for name, count, meaning in grown
        if count
    ]


def _plain(signal: str) -> str:
    return signal.removeprefix("port_").removesuffix("_total")


def _why_blind(window: Window, port: Subject) -> str:
    """Why a port has no counters, as the source reported it."""
    if missing := why_not_seen(window, port):
        return missing
    if window.value(port, _READABLE) is None:
        return window.why_absent(port, _READABLE)
    reasons = [(rule.signal, window.why_absent(port, rule.signal)) for rule in _RULES]
    distinct = dict.fromkeys(reason for signal, reason in reasons if not reason.startswith(signal))
    return "; ".join(distinct) or "the port has none of the error counters that this check reads"


CHECK = Check(
    name="fabric.errors",
    asks="Do the error counters of any RDMA port grow faster than on a good link?",
    about="nic",
    part="rdma",
    reads=(_READABLE,),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy=CABLE,
    owner="network",
    span=900.0,
    limits={
        "symbol_error_per_hour": 120.0,  # a bit error rate of 1e-12, as the InfiniBand architecture allows
        "link_error_recovery_per_minute": 5.0,
        "rcv_errors_per_second": 10.0,
        "local_link_integrity_errors_per_hour": 0.0,
        "excessive_buffer_overrun_errors_per_hour": 0.0,
        "xmit_discards_per_second": 100.0,
        "rnr_nak_retry_err_per_hour": 0.0,
        "local_ack_timeout_err_per_second": 1.0,
        "roce_slow_restart_per_second": 10.0,
        "rx_icrc_encapsulated_per_hour": 0.0,
        "rx_crc_errors_per_hour": 120.0,
        "roce_discards_per_second": 100.0,
        "roce_errors_per_second": 1.0,
        "retries_exceeded_per_hour": 0.0,
        "retransmission_timeouts_per_second": 1.0,
        "retransmitted_packets_per_second": 1000.0,
        "mtu_discards_per_hour": 0.0,
        "impaired_connections_per_hour": 10.0,
        "pause_storms_per_hour": 0.0,
        "pcie_signal_errors_per_hour": 10.0,
        "fail_times_limit": 100.0,
    },
)
