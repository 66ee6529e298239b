"""Errors reported by the firmware (APEI): PCIe errors are PCIe errors, memory errors are memory errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.kernel.firmware_error import FirmwareErrors
from holdfast.formats.kernel.folding import EventFolder
from holdfast.formats.kernel.line import KernelLine
from holdfast.formats.kernel.log import KernelLog
from holdfast.model.signal import Event


def record(number: int, severity: str, section: str, *more: str) -> list[str]:
    lines = [
        "Hardware error from APEI Generic Hardware Error Source: 5",
        f"event severity: {severity}",
        f" Error 0, type: {severity}",
        f"  section_type: {section}",
        *more,
    ]
    return [f"[   98.7] {{{number}}}[Hardware Error]: {line}" for line in lines]


def pcie(number: int, severity: str, device: str = "0000:1b:00.0", *more: str) -> list[str]:
    return record(
        number, severity, "PCIe error", "  port_type: 0, PCIe end point", f"  device_id: {device}",
        "  vendor_id: 0x10de, device_id: 0x2330", *more,
    )  # fmt: skip


def registers(status: str, fatal: str = "", device: str = "0000:1b:00.0", prefix: str = "") -> list[str]:
    lines = [f"aer_status: 0x{status}, aer_mask: 0x00000000", "aer_layer=Transaction Layer, aer_agent=Receiver ID"]
    lines += [f"aer_uncor_severity: 0x{fatal}"] if fatal else []
    return [f"[   98.8] nvidia {device}: {prefix}{line}" for line in lines]


def read(lines: list[str]) -> list[Event]:
    log, folder = KernelLog(), EventFolder()
    folder.extend(log.feed("\n".join(lines).encode()))
    folder.extend(log.finish())
    return folder.take()


def reported(lines: list[str]) -> list[tuple[str, object, str, str, int]]:
    return [(event.kind, event.code, event.device, event.severity, event.count) for event in read(lines)]


@pytest.mark.parametrize("prefix", ["", "AER: "])
@pytest.mark.parametrize(
    ("word", "status", "code", "severity"),
    [
        ("recoverable", "00040000", "MalfTLP", "nonfatal"),
        ("fatal", "00040000", "MalfTLP", "fatal"),
        ("corrected", "00000041", "RxErr,BadTLP", "correctable"),
    ],
)
def test_a_pcie_error_is_one_of_its_device_and_never_one_of_memory(
    word: str, status: str, code: str, severity: str, prefix: str
) -> None:
    assert reported(pcie(1, word) + registers(status, "00062030", prefix=prefix)) == [
        ("aer", code, "0000:1b:00.0", severity, 1)
    ]


def test_without_the_lines_of_the_aer_driver_it_is_still_reported() -> None:
    assert reported(pcie(1, "recoverable")) == [("aer", None, "0000:1b:00.0", "nonfatal", 1)]


def test_a_fatal_record_carries_its_registers_itself() -> None:
    more = "  aer_uncor_status: 0x00004000, aer_uncor_mask: 0x00000000"
    assert reported(pcie(1, "fatal", "0000:1b:00.0", more)) == [("aer", "CmpltTO", "0000:1b:00.0", "fatal", 1)]


def test_records_before_their_registers_find_them_and_equal_ones_are_one_event() -> None:
    lines = pcie(1, "recoverable") + pcie(2, "recoverable", "0000:2b:00.0") + pcie(3, "recoverable")
    lines += registers("00040000") + registers("00004000", device="0000:2b:00.0") + registers("00040000")
    assert sorted(reported(lines)) == [
        ("aer", "CmpltTO", "0000:2b:00.0", "nonfatal", 1),
        ("aer", "MalfTLP", "0000:1b:00.0", "nonfatal", 2),
    ]


def test_an_error_of_memory_is_distinguished_from_its_neighbours() -> None:
    lines = record(1, "recoverable", "memory error") + pcie(2, "corrected") + record(3, "corrected", "memory error")
    assert sorted(reported(lines)) == [
        ("aer", None, "0000:1b:00.0", "correctable", 1),
        ("mce", "firmware", "", "correctable", 1),
        ("mce", "firmware", "", "fatal", 1),
    ]


def test_a_record_that_breaks_off_is_not_lost() -> None:
    assert reported(record(1, "recoverable", "memory error")[:2]) == [("mce", "firmware", "", "fatal", 1)]


@pytest.mark.parametrize(
    ("status", "fatal", "code", "severity"),
    [
        ("00040000", "00062030", "MalfTLP", "fatal"),
        ("00100000", "00062030", "UnsupReq", "nonfatal"),
        ("00000041", "", "RxErr,BadTLP", "correctable"),
        ("00100000", "", "UnsupReq", "nonfatal"),
    ],
)
def test_registers_without_a_record_are_an_event(status: str, fatal: str, code: str, severity: str) -> None:
    assert reported(registers(status, fatal)) == [("aer", code, "0000:1b:00.0", severity, 1)]


def test_a_stream_waits_until_the_record_has_reported_what_it_is_about() -> None:
    log = KernelLog()
    lines = [f"{line}\n".encode() for line in pcie(1, "recoverable")]
    found = [event for line in lines[:5] for event in log.feed(line) + log.settle()]
    assert found == []
    found = [event for line in lines[5:] for event in log.feed(line) + log.settle()]
    assert [(event.kind, event.device) for event in found] == [("aer", "0000:1b:00.0")]


WORDS = [
    "[Hardware Error]: ", "event severity: ", "recoverable", "corrected", " Error 0, type: fatal", "section_type: ",
    "PCIe error", "device_id: 0000:1b:00.0", "0000:1b:00.0: ", "aer_status: 0x", "ffffffff", "aer_uncor_severity: 0x",
    "aer_cor_status: 0x1", "severity: 9, x",
]  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map("".join), max_size=12))
def test_no_broken_record_makes_it_fail(lines: list[str]) -> None:
    errors = FirmwareErrors()
    for line in lines:
        errors.feed(KernelLine(line))
        errors.settle()
    errors.finish()
