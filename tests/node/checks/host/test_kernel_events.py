# ruff: noqa: E501  kernel messages stand on one line, as the kernel prints them
"""The checks that judge what the kernel says about switches, adapters and the host."""

from dataclasses import replace

import pytest

from holdfast.formats.kernel.log import KernelLog
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event, Reading, Signal
from holdfast.model.verdict import Verdict
from holdfast.node.checks.check import Check
from holdfast.node.checks.fabric import driver as fabric_driver
from holdfast.node.checks.gpu import nvswitch_sxid
from holdfast.node.checks.host import cpu_heat as host_cpu_heat
from holdfast.node.checks.host import disk_errors as host_disk_errors
from holdfast.node.checks.host import lockup as host_lockup
from holdfast.node.checks.host import memory_errors as host_memory_errors
from holdfast.node.checks.host import oom as host_oom
from holdfast.node.checks.host import storage_events as host_storage_events

NOW = 1_700_000_000.0
SWITCH = "node/n1/nvswitch/0000:85:00.0"
PORT = "node/n1/nic/mlx5_0/1"  # expected to be up; the adapter's second port, 0000:5c:00.1, is not
SXID = "nvidia-nvswitch2: SXid (PCI:0000:85:00.0): %s, Link 61 something"


def judged(check: Check, *lines: str, inventory: Inventory | None = None, **seen: float) -> Verdict:
    log = KernelLog()
    found = [event for line in lines for event in log.feed(line.encode() + b"\n")]
    events = [
        Event(kind=e.kind, at=NOW - 30 + i, text=e.text, device=e.device, code=e.code, severity=e.severity,
              action=e.action, count=e.count, detail=e.detail)
        for i, e in enumerate(found)
    ]  # fmt: skip
    past = History("n1")
    past.inventory = inventory or Inventory(
        node="n1",
        subjects=frozenset({SWITCH, "node/n1/gpu/0", PORT}),
        by_device={"0000:85:00.0": SWITCH, "0000:5c:00.0": PORT},
    )
    signals = [Signal("node/n1", name, value) for name, value in {"kmsg_records_total": 1.0, **seen}.items()]
    past.add(Reading(source="kmsg", at=NOW, signals=signals, events=events))
    return check(past.window(NOW, check.span))


@pytest.mark.parametrize(
    ("check", "lines", "health"),
    [
        (nvswitch_sxid, [], Health.PASS),
        (nvswitch_sxid, [SXID % "20034, Fatal"], Health.FAIL),
        (nvswitch_sxid, [SXID % "20034, Non-fatal"], Health.PASS),
        (nvswitch_sxid, [SXID % "12028, Non-fatal"] * 11, Health.DEGRADED),
        (host_oom, [], Health.PASS),
        (host_oom, ["Memory cgroup out of memory: Killed process 7 (python)"], Health.PASS),
        (host_oom, ["Out of memory: Killed process 7 (python)"], Health.DEGRADED),
        (host_lockup, [], Health.PASS),
        (host_lockup, ["Oops: 0000 [#1] SMP NOPTI"], Health.FAIL),
        (host_cpu_heat, [], Health.PASS),
        (host_cpu_heat, ["mce: CPU1: Core temperature above threshold, cpu clock throttled"], Health.DEGRADED),
        (host_cpu_heat, ["thermal thermal_zone0: critical temperature reached, shutting down"], Health.FAIL),
        (host_lockup, ["INFO: task python:7 blocked for more than 120 seconds."], Health.DEGRADED),
        (host_lockup, ["watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [x:1]"], Health.FAIL),
        (host_memory_errors, [], Health.PASS),
        (host_memory_errors, ["mce: [Hardware Error]: Machine check events logged"], Health.PASS),
        (host_memory_errors, ["EDAC MC0: 101 CE memory read error on DIMM_A1 (x)"], Health.DEGRADED),
        (host_memory_errors, ["EDAC MC0: 1 UE memory read error on DIMM_A1 (x)"], Health.FAIL),
        (host_disk_errors, [], Health.PASS),
        (host_disk_errors, ["blk_update_request: I/O error, dev fd0, sector 0"], Health.PASS),
        (host_disk_errors, ["nvme nvme0: I/O 12 QID 4 timeout, aborting"], Health.DEGRADED),
        (host_disk_errors, ["EXT4-fs (sda1): Remounting filesystem read-only"], Health.FAIL),
        (host_storage_events, ["nfs: server a not responding, still trying", "nfs: server a OK"], Health.PASS),
        (host_storage_events, ["nfs: server a OK", "nfs: server a not responding, timed out"], Health.DEGRADED),
        (host_storage_events, ["nfs: server a not responding, timed out", "nfs: server b OK"], Health.DEGRADED),
        (fabric_driver, [], Health.PASS),
        (fabric_driver, ["mlx5_core 0000:5c:00.0: device's health compromised - reached miss count"], Health.FAIL),
        (fabric_driver, ["mlx5_core 0000:5c:00.0: Detected insufficient power on the PCIe slot (27W)."], Health.PASS),
        (fabric_driver, ["mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged"], Health.DEGRADED),
        (fabric_driver, ["mlx5_core 0000:5c:00.1: Port module event: module 1, Cable unplugged"], Health.PASS),
        (fabric_driver, ["mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged",
                         "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged"], Health.DEGRADED),
        (fabric_driver, ["mlx5_core 0000:5c:00.1: Port module event[error]: module 1, Cable error, Bus stuck"], Health.PASS),
        (fabric_driver, ["mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, Bus stuck"], Health.DEGRADED),
        (fabric_driver, ["mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged",
                         "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged"], Health.PASS),
        (fabric_driver, ["mlx5_core 0000:5c:00.0: mlx5_cmd_out_err:839:(pid 1): ACCESS_REG(0x805) failed"], Health.PASS),
    ],
)  # fmt: skip
def test_what_the_kernel_says_becomes_a_verdict(check: object, lines: list[str], health: Health) -> None:
    verdict = judged(check.CHECK, *lines)  # type: ignore[attr-defined]
    assert verdict.health is health
    if health in (Health.FAIL, Health.DEGRADED):
        assert verdict.summary()
        assert verdict.evidence
        assert verdict.remedy


def test_a_switch_is_named_and_one_no_one_listed_gets_its_own_row() -> None:
    verdict = judged(nvswitch_sxid.CHECK, SXID % "20034, Fatal", (SXID % "20034, Fatal").replace("85", "86"))
    assert {row.subject: row.health for row in verdict.rows} == {
        SWITCH: Health.FAIL,
        "node/n1/nvswitch/0000:86:00.0": Health.FAIL,
    }


def test_where_no_switch_is_known_the_answer_is_about_the_node_and_not_given_for_hosts_without_gpus() -> None:
    with_gpu = Inventory(node="n1", subjects=frozenset({"node/n1/gpu/0"}))
    assert [row.subject for row in judged(nvswitch_sxid.CHECK, inventory=with_gpu).rows] == ["node/n1"]
    assert judged(nvswitch_sxid.CHECK, inventory=Inventory(node="n1")).health is Health.UNKNOWN
    lacking = Inventory(node="n1", subjects=frozenset({"node/n1/gpu/0"}), lacks={"nvswitch": "catalog: L40S has none"})
    assert judged(nvswitch_sxid.CHECK, inventory=lacking).health is Health.NOT_APPLICABLE


def test_what_is_no_fault_of_an_adapter_is_still_reported() -> None:
    verdict = judged(fabric_driver.CHECK, "mlx5_core 0000:5c:00.1: Port module event: module 1, Cable unplugged")
    assert "Cable unplugged" in verdict.evidence[0]


def test_corrected_errors_are_left_to_the_memory_controllers_where_they_count_them() -> None:
    lines = ["EDAC MC0: 101 CE memory read error on DIMM_A1 (x)"]
    verdict = judged(host_memory_errors.CHECK, *lines, host_edac_correctable_total=101.0)
    assert (verdict.health, len(verdict.evidence)) == (Health.PASS, 1)
    fatal = judged(host_memory_errors.CHECK, lines[0].replace("CE", "UE"), host_edac_correctable_total=0.0)
    assert fatal.health is Health.FAIL


def after(check: Check, seconds: float, *lines: str) -> Health:
    """The verdict so long after the kernel spoke."""
    past = History("n1")
    events = [replace(event, at=NOW - seconds) for line in lines for event in KernelLog().feed(line.encode() + b"\n")]
    assert len(events) == len(lines)
    past.add(Reading(source="kmsg", at=NOW - seconds, events=events))
    past.add(Reading(source="kmsg", at=NOW, signals=[Signal("node/n1", "kmsg_records_total", 1.0)]))
    past.inventory = Inventory(node="n1", subjects=frozenset({SWITCH, "node/n1/gpu/0"}))
    return check(past.window(NOW, check.span)).health


@pytest.mark.parametrize(
    ("check", "line", "seconds"),
    [
        (nvswitch_sxid, SXID % "20034, Fatal", 86_400),
        (host_oom, "Out of memory: Killed process 7 (python)", 3600),
        (host_lockup, "Oops: 0000 [#1] SMP NOPTI", 3600),
        (host_cpu_heat, "mce: CPU1: Core temperature above threshold, cpu clock throttled", 3600),
        (host_memory_errors, "EDAC MC0: 1 UE memory read error on DIMM_A1 (x)", 86_400),
        (host_disk_errors, "nvme nvme0: I/O 12 QID 4 timeout, aborting", 86_400),
        (host_storage_events, "nfs: server a not responding, timed out", 21_600),
        (fabric_driver, "mlx5_core 0000:5c:00.0: device's health compromised - reached miss count", 86_400),
    ],
)
def test_how_long_a_word_of_the_kernel_counts(check: object, line: str, seconds: float) -> None:
    assert after(check.CHECK, seconds, line) in (Health.FAIL, Health.DEGRADED)  # type: ignore[attr-defined]
    assert after(check.CHECK, seconds + 1, line) not in (Health.FAIL, Health.DEGRADED)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("count", "health"), [(100, Health.PASS), (101, Health.DEGRADED)])
def test_a_hundred_corrected_errors_are_borne(count: int, health: Health) -> None:
    verdict = judged(host_memory_errors.CHECK, f"EDAC MC0: {count} CE memory read error on DIMM_A1 (x)")
    assert verdict.health is health


@pytest.mark.parametrize(
    ("counts", "apart", "health"),
    [
        ([4, 3, 3], 30, Health.DEGRADED),
        ([4, 3, 2], 30, Health.PASS),
        ([4, 3, 3], 31, Health.PASS),
        ([5, 5], 1, Health.PASS),
    ],
)
def test_many_corrected_errors_within_a_minute_are_a_burst(counts: list[int], apart: int, health: Health) -> None:
    past = History("n1")
    past.inventory = Inventory(node="n1")
    events = [
        Event(kind="edac", at=NOW - 100 + apart * number, text=f"page {number}", severity="correctable", count=count)
        for number, count in enumerate(counts)
    ]
    past.add(Reading(source="kmsg", at=NOW, signals=[Signal("node/n1", "kmsg_records_total", 1.0)], events=events))
    assert host_memory_errors.CHECK(past.window(NOW, host_memory_errors.CHECK.span)).health is health


def test_an_uncorrected_error_is_reported_before_many_corrected_ones() -> None:
    lines = ["EDAC MC0: 500 CE memory read error on DIMM_A1 (x)", "EDAC MC0: 1 UE memory read error on DIMM_A1 (x)"]
    verdict = judged(host_memory_errors.CHECK, *lines)
    assert (verdict.health, verdict.rows[0].value) == (Health.FAIL, 1)


@pytest.mark.parametrize(("count", "health"), [(10, Health.PASS), (11, Health.DEGRADED)])
def test_ten_nonfatal_errors_of_a_switch_are_borne(count: int, health: Health) -> None:
    row = judged(nvswitch_sxid.CHECK, *[SXID % "12028, Non-fatal"] * count).rows[0]
    assert (row.health, row.value, row.limit) == (health, count, 10)


def test_a_fatal_error_of_a_switch_is_reported_whatever_else_it_reported() -> None:
    row = judged(nvswitch_sxid.CHECK, SXID % "20034, Fatal", *[SXID % "12028, Non-fatal"] * 11).rows[0]
    assert (row.health, row.value, row.limit) == (Health.FAIL, 1, 0)
    assert row.reason.startswith("fatal SXid 20034 (")


def test_the_gravest_word_of_a_lockup_is_reported() -> None:
    soft = "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [x:1]"
    hung = "INFO: task python:7 blocked for more than 120 seconds."
    assert "inside the kernel itself" in judged(host_lockup.CHECK, "Oops: 0000 [#1] SMP NOPTI", soft).summary()
    assert "1 processor lock-up in the kernel" in judged(host_lockup.CHECK, hung, soft, hung).summary()
    assert "2 reports of tasks that hang" in judged(host_lockup.CHECK, hung, hung.replace("7", "8")).summary()


def test_each_processor_that_slowed_down_is_counted_once() -> None:
    heat = "mce: CPU%d: Core temperature above threshold, cpu clock throttled"
    message = judged(host_cpu_heat.CHECK, heat % 1, heat % 2, heat % 1).summary()
    assert "of heat that slowed 2 processors" in message


def test_those_who_were_killed_are_named_once() -> None:
    killed = "Out of memory: Killed process %d (%s)"
    message = judged(host_oom.CHECK, killed % (7, "python"), killed % (8, "python"), killed % (9, "java")).summary()
    assert "killed 3 processes (python, java)" in message


def test_a_disk_that_is_nameless_is_called_a_disk() -> None:
    fatal = judged(host_disk_errors.CHECK, "EXT4-fs (sda1): Remounting filesystem read-only").summary()
    assert "sda1: " in fatal
    some = judged(host_disk_errors.CHECK, "nvme nvme0: I/O 12 QID 4 timeout, aborting").summary()
    assert "nvme0: 1 error or timeout [" in some


def test_how_long_a_file_server_has_not_answered_is_reported_of_the_silent_ones() -> None:
    silent = "nfs: server %s not responding, timed out"
    verdict = judged(host_storage_events.CHECK, silent % "a", silent % "b", "nfs: server b OK")
    assert "file servers do not answer: a for 30 s" in verdict.summary()
    assert "b for" not in verdict.summary()


def test_a_module_that_was_plugged_in_again_is_forgiven_and_another_is_not() -> None:
    event = "mlx5_core 0000:5c:00.0: Port module event: module %d, Cable %s"
    assert judged(fabric_driver.CHECK, event % (0, "unplugged"), event % (1, "plugged")).health is Health.DEGRADED
    assert judged(fabric_driver.CHECK, event % (0, "unplugged"), event % (0, "plugged")).health is Health.PASS
    error = "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, Bus stuck"
    assert judged(fabric_driver.CHECK, error, event % (0, "plugged")).health is Health.DEGRADED


def test_an_adapter_is_known_by_the_address_its_port_reports() -> None:
    past = History("n1")
    past.inventory = Inventory(
        node="n1", subjects=frozenset({PORT, "node/n1/gpu/0"}), by_device={"0000:99:00.0": "node/n1/gpu/0"}
    )
    (event,) = KernelLog().feed(b"mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged\n")
    for address, health in (("0000:5c:00.0", Health.DEGRADED), ("0000:9c:00.0", Health.PASS)):
        signals = [Signal("node/n1", "kmsg_records_total", 1.0), Signal(PORT, "port_pci_address", address)]
        past.add(Reading(source="kmsg", at=NOW, signals=signals, events=[replace(event, at=NOW)]))
        assert fabric_driver.CHECK(past.window(NOW, 60.0)).health is health
    other = replace(event, device="0000:99:00.0", at=NOW)
    assert after(fabric_driver.CHECK, 5.0, event.text) is Health.PASS
    past.add(Reading(source="kmsg", at=NOW, events=[other]))
    assert fabric_driver.CHECK(past.window(NOW, 60.0)).health is Health.PASS


def test_an_adapter_in_trouble_that_is_no_cables_counts_though_no_one_uses_its_port() -> None:
    line = "mlx5_core 0000:5c:00.1: High temperature on sensors with bit set 0x1 0x0"
    assert judged(fabric_driver.CHECK, line).health is Health.DEGRADED


def test_the_last_fatal_error_of_a_switch_is_the_one_that_is_reported() -> None:
    row = judged(nvswitch_sxid.CHECK, SXID % "20034, Fatal", SXID % "20009, Fatal").rows[0]
    assert row.reason.startswith("fatal SXid 20009 (")
    assert ", 2 in all [" in row.reason


def test_a_failing_adapter_of_another_make_fails_as_well() -> None:
    from holdfast.node.checks.fabric.driver import CHECK

    (event,) = KernelLog().feed(b"bnxt_en 0000:5c:00.0 ens5np0: Detected firmware fatal condition, resetting\n")
    assert (event.kind, event.code, event.device, event.severity) == ("nic", "firmware_fatal", "0000:5c:00.0", "fatal")
    assert "nic" in CHECK.event_kinds


def test_after_an_oops_a_node_is_rebooted_and_a_hang_is_looked_into_first() -> None:
    oops, hang = "Oops: 0000 [#1] SMP NOPTI", "INFO: task python:41001 blocked for more than 120 seconds."
    assert judged(host_lockup.CHECK, oops).remedy.startswith("drain the node and reboot")
    assert judged(host_lockup.CHECK, hang, oops).remedy.startswith("drain the node and reboot")
    assert judged(host_lockup.CHECK, hang).remedy.startswith("the stack in the kernel log")
