# ruff: noqa: E501  kernel messages stand on one line, as the kernel prints them
"""Kernel messages -> events: every shape the field prints, storms folded, nothing that crashes or grows."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.formats.kernel.folding import MAX_DISTINCT, EventFolder
from holdfast.formats.kernel.log import KernelLog
from holdfast.model.signal import Event
from tests.counts import draws


def events(*lines: str, chunk: int = 1 << 18) -> list[Event]:
    log, folder = KernelLog(shipped=True), EventFolder()
    data = "\n".join(lines).encode()
    for start in range(0, len(data), chunk):
        folder.extend(log.feed(data[start : start + chunk]))
    folder.extend(log.finish())
    return folder.take()


def only(*lines: str) -> Event:
    found = events(*lines)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("line", "code", "device", "severity", "action"),
    [
        ("NVRM: Xid (PCI:0000:3B:00): 79, pid='<unknown>', name=<unknown>, gone", 79, "0000:3b:00", "fatal", "restart_node"),
        ("NVRM: Xid PCI:0000:3b:00: 43, pid=17, name=a_b, Ch 00000010", 43, "0000:3b:00", "info", "ignore"),
        ("NVRM: Xid (0000:3b:00): 31, Ch 00000010, engmask 00000101", 31, "0000:3b:00", "warning", "restart_app"),
        ("NVRM: Xid (PCI:00000000:3b:00): 13, x", 13, "0000:3b:00", "warning", "restart_app"),
        ("NVRM: Xid (PCI:000d:00:00.0): 48, pid=3, x", 48, "000d:00:00.0", "fatal", "reset_gpu"),
        ("NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 94, pid=7, Contained: CE. RST: No, D-RST: No", 94, "0000:3b:00", "warning", "restart_app"),
        ("NVRM: Xid (PCI:0000:3b:00): 94, pid=7, Contained: CE. RST: Yes, D-RST: No", 94, "0000:3b:00", "fatal", "reset_gpu"),
        ("NVRM: Xid (PCI:0000:3b:00): 94, pid=7, Contained: CE. RST: No, D-RST: Yes", 94, "0000:3b:00", "fatal", "drain_and_reset"),
        ("NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: reset gpu to activate", 63, "0000:3b:00", "warning", "reset_gpu_when_idle"),
        ("NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: x", 63, "0000:3b:00", "info", "ignore"),
        ("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", 154, "0000:3b:00", "fatal", "restart_node"),
        ("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", 154, "0000:3b:00", "info", "ignore"),
        ("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from None to Drain P2P", 154, "0000:3b:00", "warning", "drain_p2p"),
        ("NVRM: Xid (PCI:0000:3b:00): 54321, brand new", 54321, "0000:3b:00", "fatal", "contact_support"),
        ("NVRM: Xid (PCI:0000:3b:00): 45, pid=1, name=p, Ch 00000001", 45, "0000:3b:00", "warning", "restart_app"),
        ("NVRM: Xid (PCI:0000:3b:00): 45, pid=1, name=p, Ch 00000001 caused by previous Xid 149", 45, "0000:3b:00", "warning", "ignore"),
    ],
)  # fmt: skip
def test_xid_lines(line: str, code: int, device: str, severity: str, action: str) -> None:
    event = only(line)
    if "caused by" in line:
        severity = event.severity
    assert (event.kind, event.code, event.device) == ("xid", code, device)
    assert (event.severity, event.action) == (severity, action)


@pytest.mark.parametrize("inside", ["GPU-I:05 GPU-CI:01", "GPU-I:05 NEW: thing", "whatever comes: 12 next"])
def test_what_else_stands_between_the_parentheses_does_not_hide_an_xid(inside: str) -> None:
    event = only(
        f"NVRM: Xid (PCI:0000:1b:00 {inside}): 95, pid=7, name=p, Uncontained: LTC (0x2, 0x1). RST: Yes, D-RST: No"
    )
    assert (event.code, event.device, event.action, event.detail["pid"]) == (95, "0000:1b:00", "reset_gpu", "7")
    if "GPU-CI" in inside:
        assert (event.detail["mig"], event.detail["mig_compute"]) == ("05", "01")


@pytest.mark.parametrize(
    ("line", "code", "device"),
    [
        ("NVRM: Xid (0x6300): 13, Graphics exception (0x1): 7", 13, ""),
        ("NVRM: Xid garbage 79", 79, ""),
        ("NVRM: Xid 31, MMU Fault", 31, ""),
        ("NVRM: Xid (PCI:zz): nothing to count on", None, ""),
        ("NVRM: GPU0 Xid at 0000:1B:00.0", None, "0000:1b:00.0"),
    ],
)
def test_an_xid_of_unknown_shape_is_never_dropped(line: str, code: int | None, device: str) -> None:
    log = KernelLog(shipped=True)
    (event,) = log.feed(f"[   98.7] {line}\n".encode())
    assert (event.kind, event.code, event.device, event.action, event.text) == (
        "xid",
        code,
        device,
        "contact_support",
        line,
    )


@pytest.mark.parametrize(
    ("rest", "severity", "action"),
    [
        ("150, MSE Degraded Nonfatal XC0 i0 Link 00 (0x00000000 0xFFFFFFFF 0x0)", "nonfatal", "reset_gpu"),
        ("150, MSE_DEGRADED Nonfatal XC0 i0 Link 00 (0x00000000 0x00000000 0x0)", "nonfatal", "reset_gpu"),
        ("150, MSE_WATCHDOG Nonfatal XC0 i0 (0x00000000 0x00000001 0x0)", "nonfatal", "reset_gpu"),
        ("149, NETIR_BER_EVENT Nonfatal XC0 i0 (0x00082226 0X00000001 0x0)", "nonfatal", "ignore"),
        ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x0)", "fatal", "reset_gpu"),
        ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000 0x0)", "fatal", "reset_gpu"),
        ("149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 01 (0x00082226 0x00000001 0x0)", "nonfatal", "ignore"),
        ("145, pid=9, name=x, RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x040868e2 0x00000008 0x0)", "nonfatal", "follow_xid_154"),
        ("147, MYSTERY Nonfatal XC1 i0 Link 03 (0x0 0x0)", "nonfatal", "monitor"),
        ("147, MYSTERY Fatal XC1 i0 Link 03 (0x0 0x0)", "fatal", "reset_gpu"),
        ("147, no sub-code at all", "fatal", "contact_support"),
    ],
)  # fmt: skip
def test_nvlink5_lines_where_the_severity_word_wins(rest: str, severity: str, action: str) -> None:
    event = only(f"NVRM: Xid (PCI:0008:01:00): {rest}")
    assert (event.severity, event.action) == (severity, action)


def test_a_45_soon_after_another_xid_of_the_same_gpu_is_ignored_and_names_its_cause() -> None:
    found = events(
        "[  100.0] NVRM: Xid (PCI:0000:3b:00): 95, Uncontained: x. RST: Yes, D-RST: No",
        "[  100.5] NVRM: Xid (PCI:0000:3b:00): 45, pid=1, name=p, Ch 00000001",
        "[  100.5] NVRM: Xid (PCI:0000:5d:00): 45, pid=2, name=p, Ch 00000001",
        "[  900.0] NVRM: Xid (PCI:0000:3b:00): 45, pid=3, name=p, Ch 00000001",
    )
    by_time = [(e.device, e.action, e.detail.get("caused_by")) for e in found[1:]]
    assert by_time == [
        ("0000:3b:00", "ignore", "95"),
        ("0000:5d:00", "restart_app", None),
        ("0000:3b:00", "restart_app", None),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus."],
        ["NVRM: GPU at 0000:9b:00.0 has fallen off the bus."],
        ["NVRM: The NVIDIA GPU 0000:9b:00.0 (PCI ID: 10de:2330) installed in this system has fallen off the bus and is not responding to commands."],
        ["NVRM: The NVIDIA GPU 0000:9b:00.0", "NVRM: (PCI ID: 10de:2330) installed in this system has", "NVRM: fallen off the bus and is not responding to commands."],
        [r"3,9,1000,-;NVRM: The NVIDIA GPU 0000:9b:00.0\x0aNVRM: (PCI ID: 10de:2330) installed in this system has\x0aNVRM: fallen off the bus and is not responding to commands."],
        ["NVRM: The NVIDIA GPU 0000:9b:00.0", "       installed in this system has fallen off the bus and is not responding to commands."],
        ["Unable to determine the device handle for GPU 0000:9B:00.0: GPU is lost.  Reboot the system to recover this GPU"],
        ["NVRM: Unable to determine the device handle for GPU 0000:9B:00.0: GPU is lost.  Reboot the system"],
    ],
)  # fmt: skip
def test_a_gpu_lost_without_an_xid(lines: list[str]) -> None:
    event = only(*lines)
    assert (event.kind, event.code, event.device, event.action) == ("gpu_lost", 79, "0000:9b:00.0", "restart_node")


def test_the_rest_of_a_message_over_several_lines_has_the_time_of_its_first() -> None:
    event = only(
        "[  500.25] NVRM: The NVIDIA GPU 0000:9b:00.0",
        "           NVRM: (PCI ID: 10de:2330) installed in this system has",
        "           NVRM: fallen off the bus and is not responding to commands.",
    )
    assert (event.line, event.detail["since_boot_seconds"]) == (1, 500.25)


def test_a_gpu_that_cannot_be_initialised_and_the_echoes_of_a_lost_one() -> None:
    failed = only("NVRM: GPU 0000:9b:00.0: RmInitAdapter failed! (0x22:0xffff:2477)")
    assert (failed.kind, failed.code, failed.detail["status"]) == ("gpu_lost", "init_failed", "(0x22:0xffff:2477)")
    echo = "NVRM: nvCheckOkFailedNoLog: Check failed: GPU lost from the bus [NV_ERR_GPU_IS_LOST] (0x0000000F) from f%d"
    assert only("NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.", *(echo % i for i in range(30))).count == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("RmInitAdapter failed! (0x62:0x40:2168)", "firmware_failed"),
        ("RmInitAdapter failed! (0x60:0x56:1)", "firmware_failed"),
        ("RmInitAdapter failed! (0x62:0xf:2168)", "init_failed"),  # the GPU is lost, whatever was tried
        ("RmInitAdapter failed! (0x24:0x72:1568)", "start_failed"),
        ("RmInitAdapter failed! (0x23:0x5:1568)", "init_failed"),
        ("RmInitAdapter failed! (0x22:0x56:894)", "init_failed"),
        ("RmInitAdapter failed!", "init_failed"),
        ("RmInitAdapter: Cannot initialize GSP firmware RM", "firmware_failed"),
        ("_kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP", "firmware_failed"),
    ],
)
def test_how_far_a_gpu_came_when_it_did_not_start(words: str, code: str) -> None:
    event = only(f"NVRM: GPU 0000:9b:00.0: {words}")
    assert (event.kind, event.code, event.device) == ("gpu_lost", code, "0000:9b:00.0")


def test_sxid_with_continuation_lines_before_and_after_is_one_event() -> None:
    event = only(
        "[1.1] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Data {0x0000002b, 0x0000002b}",
        "[1.2] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link DLREQ interrupt",
        "[1.3] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44 Sub-engine instance 00",
    )
    assert (event.code, event.severity, event.device, event.detail["link"]) == (22013, "nonfatal", "0000:04:00.0", "44")


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "fatal"),
        ("nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Non-fatal, Link 30 LTSSM Fault Up", "nonfatal"),
        ("nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Link 30 LTSSM Fault Up", "fatal"),
        ("nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 12028, Link 30 egress", "nonfatal"),
        ("[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:A9:00.0 physical id 3 port 33", "fatal"),
    ],
)  # fmt: skip
def test_sxid_severity(line: str, severity: str) -> None:
    event = only(line)
    assert (event.kind, event.device, event.severity) == ("sxid", "0000:a9:00.0", severity)


def test_aer_lines_of_one_incident_are_one_event_in_old_and_new_words() -> None:
    old = only(
        "[3.1] pcieport 0000:00:1d.0: AER: Multiple Corrected error received: id=00e8",
        "[3.2] pcieport 0000:00:1d.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, id=00e8(Receiver ID)",
        "[3.3] pcieport 0000:00:1d.0:   device [8086:a29a] error status/mask=00000041/00002000",
        "[3.4] pcieport 0000:00:1d.0:    [ 0] Receiver Error        ",
    )
    assert (old.severity, old.device, old.code) == ("correctable", "0000:00:1d.0", "RxErr,BadTLP")
    new = only(
        "[3.1] pcieport 0000:80:1b.4: AER: Uncorrectable (Fatal) error message received from 0000:9b:00.0",
        "[3.2] nvidia 0000:9b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Requester ID)",
        "[3.3] nvidia 0000:9b:00.0:   device [10de:2330] error status/mask=00004000/00000000",
        "[3.4] nvidia 0000:9b:00.0:    [14] CmpltTO                (First)",
    )
    assert (new.severity, new.device, new.code, new.action) == ("fatal", "0000:9b:00.0", "CmpltTO", "check_hardware")


def test_status_lines_of_the_aer_driver_may_name_it() -> None:
    event = only(
        "mlx5_core 0000:18:00.0: AER: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)",
        "mlx5_core 0000:18:00.0: AER:   device [15b3:1021] error status/mask=00100000/00000000",
    )
    assert (event.code, event.severity) == ("UnsupReq", "nonfatal")


def test_an_announced_error_outlives_the_error_of_another_device() -> None:
    announced = "pcieport 0000:16:01.0: AER: Uncorrectable (Fatal) error message received from 0000:1a:00.0"
    found = events(
        announced,
        "pcieport 0000:16:01.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcieport 0000:20:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        "pcieport 0000:20:01.0:   device [8086:352a] error status/mask=00000001/00002000",
    )
    assert {(event.device, event.code, event.severity) for event in found} == {
        ("0000:16:01.0", "contained", "fatal"),
        ("0000:1a:00.0", None, "fatal"),
        ("0000:20:01.0", "RxErr", "correctable"),
    }
    bus_error = "pcieport %s: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)"
    assert [event.device for event in events(announced, bus_error % "0000:1a:00.0")] == ["0000:1a:00.0"]
    assert [event.device for event in events(announced, bus_error % "0000:16:01.0")] == ["0000:16:01.0"]


def test_a_requester_id_is_in_the_domain_of_its_port() -> None:
    assert only("pcieport 0001:00:1d.0: AER: Corrected error received: id=1b00").device == "0001:1b:00.0"


def test_a_lustre_target_is_named_alike_when_it_is_lost_and_when_it_is_back() -> None:
    client = "scratch-OST0001-osc-ffff8880a1b2c3d4"
    found = events(
        f"Lustre: {client}: Connection to scratch-OST0001 (at 10.0.0.1@o2ib) was lost; in progress operations will wait",
        f"LustreError: 167-0: {client}: This client was evicted by scratch-OST0001; in progress operations will fail.",
        f"Lustre: {client}: Connection restored to 10.0.0.1@o2ib (at 10.0.0.1@o2ib)",
        "LustreError: 166-1: MGC10.0.0.9@o2ib: Connection to MGS (at 10.0.0.9@o2ib) was lost; in progress",
        "Lustre: MGC10.0.0.9@o2ib: Connection restored to 10.0.0.9@o2ib",
    )
    assert [(event.code, event.device) for event in found] == [
        ("not_responding", "scratch-OST0001"),
        ("evicted", "scratch-OST0001"),
        ("ok", "scratch-OST0001"),
        ("not_responding", "MGC10.0.0.9@o2ib"),
        ("ok", "MGC10.0.0.9@o2ib"),
    ]


def test_unified_memory_that_needs_a_restart_of_the_node() -> None:
    text = "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover."
    event = only(f"[   98.7] {text}")
    assert (event.kind, event.code, event.severity, event.action) == (
        "uvm",
        "global_fatal_error",
        "fatal",
        "restart_node",
    )
    assert event.detail["status"] == "0x60"


MESSAGES = [
    "NVRM: Xid (PCI:0000:3b:00): 79, gone",
    "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
    "NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.",
    "nfs: server filer-1 not responding, still trying",
    "pcieport 0000:00:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:5d:00.0",
]


@pytest.mark.parametrize("message", MESSAGES)
def test_one_fault_reported_by_several_loggers_is_one_event(message: str) -> None:
    docker = {"log": f"[   98.7] {message}\n", "stream": "stderr", "time": "2025-03-09T11:22:33.123456789Z"}
    event = only(f"collector-7 | {message}", f"pod/x-{'y' * 9}: {message}", json.dumps(docker), message)
    assert (event.count, event.text) == (4, message)


def test_what_a_log_says_cannot_steer_a_terminal_or_fill_a_page() -> None:
    event = only("NVRM: Xid (PCI:0000:3b:00): 31, pid=3, name=\x1b[31mred\x07\u202e, a\tb " + "y" * 3000)
    assert len(event.text) == 300
    assert event.text.isprintable()
    assert "name=\ufffd[31mred\ufffd\ufffd, a b yyy" in event.text
    assert event.detail["process"] == "\ufffd[31mred\ufffd\ufffd"


def test_half_a_character_in_json_is_survived() -> None:
    event = only(r'{"MESSAGE":"NVRM: Xid (PCI:0000:9b:00): 79, \ud800 gone"}')
    assert event.text.encode()


def test_aer_announcements_without_details_still_count() -> None:
    line = "pcieport 0000:00:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:5d:00.0"
    event = only(line, line, line)
    assert (event.device, event.severity, event.count) == ("0000:5d:00.0", "nonfatal", 3)


@pytest.mark.parametrize(
    ("line", "kind", "code", "device", "severity"),
    [
        ("mlx5_core 0000:5c:00.0: mlx5_pcie_event:299:(pid 268): Detected insufficient power on the PCIe slot (27W).", "mlx5", "insufficient_power", "0000:5c:00.0", "warning"),
        ("mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High Temperature", "mlx5", "module_high_temperature", "0000:5c:00.0", "fatal"),
        ("mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged", "mlx5", "module_unplugged", "0000:5c:00.0", "warning"),
        ("mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged", "mlx5", "module_plugged", "0000:5c:00.0", "info"),
        ("mlx5_core 0000:5c:00.0: poll_health:800:(pid 0): device's health compromised - reached miss count", "mlx5", "health_compromised", "0000:5c:00.0", "fatal"),
        ("mlx5_core 0000:5c:00.0: wait_func:1155:(pid 1): ACCESS_REG(0x805) timeout. Will cause a leak of a command resource", "mlx5", "command_timeout", "0000:5c:00.0", "fatal"),
        ("mlx5_core 0000:5c:00.0: mlx5_cmd_out_err:839:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation(0x2)", "mlx5", "access_register_failed", "0000:5c:00.0", "warning"),
        ("NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 3 timed out", "mlx5", "transmit_timeout", "eth2", "warning"),
        ("mlx5_core 0000:5c:00.0 eth2: TX timeout detected", "mlx5", "transmit_timeout", "0000:5c:00.0", "warning"),
        ("mlx5_core: probe of 0000:5c:00.0 failed with error -22", "mlx5", "probe_failed", "0000:5c:00.0", "fatal"),
        ("mlx5_core 0000:5c:00.0: probe with driver mlx5_core failed with error -22", "mlx5", "probe_failed", "0000:5c:00.0", "fatal"),
        ("mlx5_core 0000:5c:00.0: mlx5_load_one failed with error code -22", "mlx5", "probe_failed", "0000:5c:00.0", "fatal"),
        ("bnxt_en: probe of 0000:5c:00.0 failed with error -12", "nic", "probe_failed", "0000:5c:00.0", "fatal"),
        ("ice 0000:5c:00.0: probe with driver ice failed with error -5", "nic", "probe_failed", "0000:5c:00.0", "fatal"),
        ("cxgb4 0000:5c:00.4: could not connect to FW, error -6", "nic", "firmware_fatal", "0000:5c:00.4", "fatal"),
        ("i40e 0000:5c:00.0: Rebuild main VSI failed", "nic", "firmware_fatal", "0000:5c:00.0", "fatal"),
        ("bnx2x: [bnx2x_attn_int_deasserted3:4323(eth4)]MC assert!", "nic", "firmware_fatal", "", "fatal"),
        ("amdgpu 0000:5c:00.0: [drm:amdgpu_ib_ring_tests [amdgpu]] *ERROR* IB test failed on vpe (-110).", "amdgpu", "init_failed", "0000:5c:00.0", "fatal"),
        ("ata6.00: failed command: READ FPDMA QUEUED", "disk", "command_failed", "ata6.00", "warning"),
        ("ata6: SError: { RecovComm PHYRdyChg 10B8B Dispar }", "disk", "link_error", "ata6", "warning"),
        ("nvidia: probe of 0000:5c:00.0 failed with error -1", "gpu_lost", "init_failed", "0000:5c:00.0", "fatal"),
        ("nvidia 0000:5c:00.0: probe with driver nvidia failed with error -1", "gpu_lost", "init_failed", "0000:5c:00.0", "fatal"),
        ("NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 3 heartbeat 0", "uvm", "gsp_heartbeat", "", "fatal"),
        ("amdgpu 0000:0b:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24)", "amdgpu", "page_fault", "0000:0b:00.0", "warning"),
        ("amdgpu 0000:0b:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block", "amdgpu", "uncorrectable", "0000:0b:00.0", "fatal"),
        ("amdgpu 0000:0b:00.0: amdgpu: GPU reset begin!", "amdgpu", "reset", "0000:0b:00.0", "fatal"),
        ("amdgpu 0000:0b:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=9, emitted seq=11", "amdgpu", "ring_timeout", "0000:0b:00.0", "warning"),
        ("mlx5_core 0000:5c:00.0 eth2: Link down", "link", "down", "eth2", "warning"),
        ("Aug 17 00:00:24 n1 systemd-networkd[900]: ib3: Lost carrier", "link", "down", "ib3", "warning"),
        ("Aug 17 00:00:24 n1 systemd-networkd[900]: ib3: Gained carrier", "link", "up", "ib3", "info"),
        ("mlx5_core 0000:9c:00.0: 252.056 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8 link at 0000:97:01.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)", "pcie_link", "narrow", "0000:9c:00.0", "warning"),
        ("pci 0000:9b:00.0: 126.0 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x16 link at 0000:97:01.0 (capable of 504.1 Gb/s with 32.0 GT/s PCIe x16 link)", "pcie_link", "slow", "0000:9b:00.0", "warning"),
        ("pci 0000:02:00.0: 4.000 Gb/s available PCIe bandwidth, limited by 5.0 GT/s PCIe x1 link at 0000:00:0c.0 (capable of 8.000 Gb/s with 5.0 GT/s PCIe x2 link)", "pcie_link", "narrow", "0000:02:00.0", "info"),
        ("nvidia-peermem nv_get_p2p_free_callback:142 ERROR detected invalid context, skipping further processing", "peermem", "invalid_context", "", "warning"),
        ("Out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:1kB", "oom", "host", "", "warning"),
        ("Memory cgroup out of memory: Killed process 4711 (python3) total-vm:1kB", "oom", "cgroup", "", "warning"),
        ("Out of memory: Kill process 4711 (python3) score 9 or sacrifice child", "oom", "host", "", "warning"),
        ("pcieport 0000:80:01.0: DPC: containment event, status:0x1f01 source:0x0000", "aer", "contained", "0000:80:01.0", "fatal"),
        ("pcieport 0000:80:01.0: pciehp: Slot(5): Link Down", "pcie_link", "down", "0000:80:01.0", "fatal"),
        ("Aborting journal on device nvme0n1p2-8.", "disk", "filesystem_error", "nvme0n1p2-8", "fatal"),
        ("INFO: task VM Thread:4711 blocked for more than 120 seconds.", "hung_task", "hung", "", "warning"),
        ("nfs: server filer-1 not responding, still trying", "storage", "not_responding", "filer-1", "warning"),
        ("nfs: server filer-1 OK", "storage", "ok", "filer-1", "info"),
        ("Lustre: scratch-OST0001-osc-ffff: Connection to scratch-OST0001 (at 10.0.0.1@o2ib) was lost; in progress operations will wait", "storage", "not_responding", "scratch-OST0001", "warning"),
        ("Lustre: scratch-OST0001-osc-ffff: Connection restored to scratch-OST0001 (at 10.0.0.1@o2ib)", "storage", "ok", "scratch-OST0001", "info"),
        ("watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python3:4711]", "soft_lockup", "soft", "", "fatal"),
        ("INFO: task kworker/3:1:4711 blocked for more than 120 seconds.", "hung_task", "hung", "", "warning"),
        ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 3", "hard_lockup", "hard", "", "fatal"),
        ("nvidia 0000:3b:00.0: AER: can't recover (no error_detected callback)", "aer", "recovery_failed", "0000:3b:00.0", "fatal"),
        ("pcieport 0000:3a:00.0: AER: device recovery failed", "aer", "recovery_failed", "0000:3a:00.0", "fatal"),
        ("mce: CPU7: Package temperature above threshold, cpu clock throttled (total events = 3)", "cpu_thermal", "throttled", "", "warning"),
        ("thermal thermal_zone0: acpitz: critical temperature reached, shutting down", "cpu_thermal", "shutdown", "", "fatal"),
        ("Oops: Oops: 0000 [#1] PREEMPT SMP NOPTI", "panic", "oops", "", "fatal"),
        ("general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#2] SMP", "panic", "oops", "", "fatal"),
        ("Internal error: Oops: 0000000096000004 [#1] SMP", "panic", "oops", "", "fatal"),
        ("mce: [Hardware Error]: Machine check events logged", "mce", "logged", "", "correctable"),
        ("mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 4: be00000000800400", "mce", "machine_check_exception", "", "fatal"),
        ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)", "edac", "UE", "MC0", "fatal"),
        ("nvme nvme0: I/O 12 QID 4 timeout, aborting", "disk", "timeout", "nvme0", "warning"),
        ("nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", "disk", "controller_down", "nvme0", "fatal"),
        ("blk_update_request: I/O error, dev sda, sector 1234", "disk", "io_error", "sda", "warning"),
        ("blk_update_request: critical medium error, dev sdb, sector 1234", "disk", "medium_error", "sdb", "fatal"),
        ("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm x: reading directory", "disk", "filesystem_error", "sda1", "fatal"),
        ("EXT4-fs (sda1): Remounting filesystem read-only", "disk", "read_only", "sda1", "fatal"),
        ("XFS (nvme0n1): Corruption of in-memory data detected.  Shutting down filesystem", "disk", "filesystem_error", "nvme0n1", "fatal"),
        *((f"XFS (sda1): {text}", "disk", "filesystem_error", "sda1", "fatal") for text in (
            "Metadata corruption detected at xfs_dir3_block_read_verify+0xbd", "Metadata CRC error detected at xfs_agf_read_verify+0x9f",
            'metadata I/O error in "xfs_trans_read_buf_map" at daddr 0x7d0 len 8 error 5', "log I/O error -5", "I/O Error Detected. Shutting down filesystem",
            "Metadata I/O Error (0x1) detected at xfs_buf_ioend+0x1. Shutting down filesystem.", "Log I/O Error (0x2) detected at xlog_ioend_work+0x1",
            "xfs_do_force_shutdown(0x2) called from line 1234 of file fs/xfs/xfs_log.c", "Corruption of on-disk metadata (0x10) detected at xfs_x+0x1",
            "Corruption detected. Unmount and run xfs_repair", "User initiated shutdown received. Shutting down filesystem",
            "Filesystem has been shut down due to log error (0x2).", "Internal error XFS_WANT_CORRUPTED_GOTO at line 3305 of file fs/xfs/x.c",
        )),
        ("blk_update_request: I/O error, dev fd0, sector 0", "disk", "removable", "fd0", "info"),
        ("python3[4711]: segfault at 7f79 ip 00007f7c sp 00007f7c error 4 in libnccl.so.2.19.3[7f7c+d3d3000]", "segfault", "libnccl", "", "warning"),
    ],
)  # fmt: skip
def test_host_and_adapter_messages(line: str, kind: str, code: str, device: str, severity: str) -> None:
    event = only(line)
    assert (event.kind, event.code, event.device, event.severity) == (kind, code, device, severity)
    assert event.action


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03",
        "NVRM: GPU at PCI:0000:9b:00: GPU-00000000-0000-0000-0000-000000000000",
        "nvme nvme0: 64/0/0 default/read/poll queues",
        "XFS (nvme0n1): Mounting V5 Filesystem",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode",
        "mlx5_core 0000:5c:00.0: firmware version: 28.41.1000",
        "EDAC MC0: Giving out device to module i10nm_edac",
        "python3[1]: segfault at 0 ip 0 sp 0 error 4 in libc.so.6[7f7c+d3d3000]",
        "docker0: port 1(veth12) entered disabled state",
        "code,mnemonic,NVRM Xid of a table, 79",
    ],
)
def test_ordinary_messages_are_no_events(line: str) -> None:
    assert events(line) == []


def test_edac_counts_what_the_line_counts() -> None:
    line = "EDAC MC1: 12 CE memory scrubbing error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0)"
    assert only(line, line).count == 24


def test_a_storm_is_one_event_with_a_count_and_its_first_line() -> None:
    lines = [
        f"[{i}.0] NVRM: Xid (PCI:0000:9b:00): 95, pid={1000 + i}, name=p{i}, Uncontained: LTC. RST: Yes"
        for i in range(5000)
    ]
    event = only("noise", *lines)
    assert (event.count, event.line) == (5000, 2)
    assert event.detail["pids"].count(",") == 15  # type: ignore[union-attr]


def test_what_differs_in_device_link_or_unit_stays_apart() -> None:
    text = "NVRM: Xid (PCI:0000:%s:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link %s (0x040988e2 0x00000008 0x0)"
    assert len(events(text % ("01", "12"), text % ("01", "03"), text % ("02", "12"), text % ("01", "12"))) == 3


def test_down_up_down_stays_three_events_in_order() -> None:
    down, up = "mlx5_core 0000:5c:00.0 eth2: Link down", "mlx5_core 0000:5c:00.0 eth2: Link up"
    assert [(e.code, e.count) for e in events(down, down, up, down)] == [("down", 2), ("up", 1), ("down", 1)]


def test_memory_is_bounded_when_every_line_differs() -> None:
    folder, log = EventFolder(), KernelLog()
    for i in range(MAX_DISTINCT * 2):
        word = "".join(chr(ord("g") + int(digit)) for digit in str(i))
        folder.extend(log.feed(f"NVRM: Xid (PCI:0000:9b:00): 31, fault {word}\n".encode()))
    found = folder.take()
    assert len(found) <= MAX_DISTINCT + 1
    assert sum(event.count for event in found) == MAX_DISTINCT * 2


def test_a_megabyte_line_is_survived_and_counted_as_one_line() -> None:
    log = KernelLog()
    data = b"x" * (1 << 20) + b"\nNVRM: Xid (PCI:0000:9b:00): 79, gone\n"
    found = [event for start in range(0, len(data), 50_000) for event in log.feed(data[start : start + 50_000])]
    assert [(event.code, event.line) for event in found] == [(79, 2)]
    assert log.lines == 2


def test_journal_lines_with_byte_messages_are_understood() -> None:
    message = list(b"NVRM: Xid (PCI:0000:9b:00): 79, gone")
    assert only(json.dumps({"MESSAGE": message}, separators=(",", ":"))).code == 79


@given(st.integers(1, 200))
@settings(max_examples=draws(5, 20))
def test_where_chunks_are_cut_changes_nothing(size: int) -> None:
    lines = [
        "[1.0] noise",
        "[1.1] NVRM: Xid (PCI:0000:9b:00): 79, gone",
        "",
        "[1.2] nfs: server a OK",
        "mce: [Hardware Error]: x",
    ]
    assert events(*lines, chunk=size) == events(*lines)


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_no_bytes_make_it_fail(chunks: list[bytes]) -> None:
    log = KernelLog()
    for chunk in chunks:
        log.feed(chunk)
    log.finish()


WORDS = [
    "NVRM: ", "Xid ", "(PCI:0000:9b:00)", ": ", "79", ", ", "SXid ", "Data {", "AER: ", "PCIe Bus Error: severity=", "Corrected", "(Fatal)",
    "error status/mask=zzzz", "mlx5_core ", "0000:9b:00.0", "\n", "\t\tLnkSta:", "\t\tLnkCap:\tSpeed 5GT/s, Width x99999999999", "\tControl: I/O",
    "17:00.0 PCI bridge", "EDAC MC", "999999999999", " CE ", " on ", '{"MESSAGE":[', "1,2]}", "Link -1 (0x", "ffffffffff", "154", "changed", " to 0x",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_no_broken_message_makes_it_fail(words: list[str]) -> None:
    for event in events("".join(words)):
        assert event.kind
        assert event.count >= 1
