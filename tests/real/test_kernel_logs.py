"""Captures from real machines: every file gives the events its index says, and tables of codes give none."""

from pathlib import Path

import pytest

from holdfast.diagnosis.evidence.files import read
from holdfast.model.signal import Event

from . import captures

DATA = captures.DATA
pytestmark = captures.needs(DATA)

Row = tuple[int, str, int | str | None, str, str, str, int]  # line, kind, code, device, severity, action, count

EXPECTED: dict[str, list[Row]] = {
    "xid/catalog.csv": [],
    "xid/nvlink5_decode.csv": [],
    "sxid/catalog.csv": [],
    "infiniband_sysfs/azure_syslog_0flap.log": [],
    "nccl_logs/mlengineering_desync_rank1.log": [],
    "nccl_logs/mlengineering_ib_error12.log": [],
    "nccl_logs/gpud_libnccl_segfault.log": [(1, "segfault", "libnccl", "", "warning", "restart_app", 2)],
    "xid/dcgm_kmsg_xid43.log": [(1, "xid", 43, "0000:01:00", "info", "ignore", 1)],
    "xid/driver_format_xid94_95_mig.log": [
        (1, "xid", 94, "0000:01:00", "warning", "restart_app", 1),
        (2, "xid", 94, "0000:01:00", "warning", "restart_app", 1),
        (3, "xid", 95, "0000:01:00", "fatal", "reset_gpu", 1),
    ],
    "xid/gcm_syslog_two_lines.log": [
        (1, "xid", 31, "000d:00:00", "warning", "restart_app", 1),
        (2, "xid", 48, "000d:00:00", "fatal", "reset_gpu", 1),
    ],
    "xid/gpud_kmsg_peermem.log": [(1, "peermem", "invalid_context", "", "warning", "monitor", 7)],
    "xid/gpud_nvlink5_pci0008.log": [
        (1, "xid", 149, "0008:01:00", "nonfatal", "ignore", 1),
        (2, "xid", 145, "0008:01:00", "nonfatal", "follow_xid_154", 1),
        (3, "xid", 145, "0008:01:00", "nonfatal", "follow_xid_154", 1),
        (4, "xid", 145, "0008:01:00", "nonfatal", "follow_xid_154", 1),
        (5, "xid", 149, "0008:01:00", "fatal", "reset_gpu", 1),
        (6, "xid", 149, "0008:01:00", "fatal", "reset_gpu", 1),
    ],
    "xid/gpud_nvlink5_pci0019.log": [
        (1, "xid", 145, "0019:01:00", "nonfatal", "ignore", 1),
        (2, "xid", 145, "0019:01:00", "nonfatal", "follow_xid_154", 1),
        (3, "xid", 149, "0019:01:00", "fatal", "reset_gpu", 1),
    ],
    "xid/gpud_old_driver_no_pci_prefix.log": [(1, "xid", 14, "0000:03:00", "info", "ignore", 1)],
    "xid/gpud_xe9680_xid119_dmesg.log": [
        (3, "xid", 119, "0000:9b:00", "fatal", "reset_gpu", 1),
        (38, "xid", 119, "0000:9b:00", "fatal", "reset_gpu", 2),
        (42, "xid", 119, "0000:9b:00", "fatal", "reset_gpu", 2),
    ],
    "xid/gpud_xid79_single.log": [(1, "xid", 79, "0000:05:00", "fatal", "restart_node", 1)],
    "xid/mlengineering_xid63.log": [(1, "xid", 63, "0000:10:1c", "warning", "reset_gpu_when_idle", 1)],
    "sxid/gpud_fabricmanager.log": [(100, "sxid", 12028, "0000:86:00.0", "nonfatal", "monitor", 1)],
    "sxid/gpud_sxid_lines.log": [
        (1, "sxid", 20034, "0000:00:00.0", "fatal", "restart_node", 1),
        (3, "sxid", 12028, "0000:05:00.0", "nonfatal", "monitor", 1),
        (4, "sxid", 22013, "0000:0a:00.0", "nonfatal", "monitor", 1),
    ],
    "sxid/imbue_sxid12028.log": [(1, "sxid", 12028, "0000:85:00.0", "nonfatal", "monitor", 1)],
    "aer/imbue_pcie_width_limited.log": [
        (1, "pcie_link", "narrow", "0000:9c:00.0", "warning", "check_hardware", 1),
        (2, "pcie_link", "narrow", "0000:02:00.0", "info", "ignore", 2),
    ],
}


def read_events(file: Path) -> tuple[list[Event], str]:
    """The kernel's events of one file alone."""
    found, trouble = read(file)
    return [one.event for one in found if one.event.severity and one.event.action], trouble


@pytest.mark.parametrize("name", EXPECTED)
def test_a_capture_gives_what_its_index_says(name: str) -> None:
    events, trouble = read_events(captures.there(DATA / name))
    assert not trouble
    assert [(e.line, e.kind, e.code, e.device, e.severity, e.action, e.count) for e in events] == EXPECTED[name]


def test_lspci_names_exactly_the_devices_with_set_bits_or_a_downgraded_link() -> None:
    path = captures.there(DATA / "aer" / "gpud_lspci_vvv_part_a.txt")
    expected: set[tuple[str, str]] = set()
    device = ""
    for line in path.read_text().splitlines():
        if line[:1].strip():
            device = "0000:" + line.split(" ", 1)[0]
        elif line.lstrip().startswith(("CESta:", "UESta:")) and "+" in line:
            expected.add((device, "aer"))
        elif line.lstrip().startswith("LnkSta:") and "downgraded" in line:
            expected.add((device, "pcie_link"))
    events, _ = read_events(path)
    assert {(event.device, event.kind) for event in events} == expected
    assert len(expected) > 50


def test_zero_counters_in_sysfs_are_no_events() -> None:
    files = list(captures.there(DATA / "aer" / "sysfs").rglob("aer_dev_*"))
    assert files
    assert [event for file in files for event in read_events(file)[0]] == []
