"""Folding: repeats are one event, unless something changed between them."""

import pytest

from holdfast.formats.kernel.folding import EventFolder
from holdfast.formats.kernel.log import KernelLog
from holdfast.model.signal import Event

FAULT = "NVRM: Xid (PCI:0000:3b:00): 119, pid=1, name=p, Timeout after 6s"
ASKS = "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
RECOVERED = "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
TORN_DOWN = "NVRM: Xid (PCI:0000:3b:00): 45, pid=7, name=p, Ch 00000001"
DOUBLE_BIT = "NVRM: Xid (PCI:0000:3b:00): 48, pid=7, name=p, DBE"


def fold(*lines: tuple[float, str], blocks: bool = False) -> list[Event]:
    """Events of (seconds, message), read as one block or line by line."""
    log, folder = KernelLog(), EventFolder()
    texts = [f"[{seconds:.1f}] {message}\n".encode() for seconds, message in lines]
    for chunk in texts if blocks else [b"".join(texts)]:
        folder.extend(log.feed(chunk))
    folder.extend(log.finish())
    return folder.take()


@pytest.mark.parametrize("blocks", [False, True])
def test_a_fault_that_returns_after_its_recovery_is_a_new_event(blocks: bool) -> None:
    found = fold((1, FAULT), (2, FAULT), (10, RECOVERED), (20, FAULT), (21, FAULT), blocks=blocks)
    assert [(event.code, event.count, event.line) for event in found] == [(119, 2, 1), (154, 1, 3), (119, 2, 4)]


def test_the_recovery_of_another_gpu_changes_nothing() -> None:
    other = RECOVERED.replace("3b", "5d")
    assert [(event.code, event.count) for event in fold((1, FAULT), (2, other), (3, FAULT))] == [(119, 2), (154, 1)]


@pytest.mark.parametrize("blocks", [False, True])
def test_what_the_driver_asks_for_is_reported_in_its_order(blocks: bool) -> None:
    found = fold((1, ASKS), (2, ASKS), (10, RECOVERED), (20, ASKS), blocks=blocks)
    assert [(event.action, event.count) for event in found] == [("reset_gpu", 2), ("ignore", 1), ("reset_gpu", 1)]


def test_power_smoothing_off_on_off_is_three_events() -> None:
    off, on = "NVRM: Xid (PCI:0000:3b:00): 163, x", "NVRM: Xid (PCI:0000:3b:00): 162, x"
    assert [event.code for event in fold((1, off), (2, on), (3, off))] == [163, 162, 163]


@pytest.mark.parametrize("blocks", [False, True])
def test_a_45_alone_and_the_same_45_after_another_xid_are_two_things(blocks: bool) -> None:
    found = fold((1, TORN_DOWN), (100, DOUBLE_BIT), (101, TORN_DOWN), blocks=blocks)
    assert [(event.code, event.action, event.count) for event in found] == [
        (45, "restart_app", 1),
        (48, "reset_gpu", 1),
        (45, "ignore", 1),
    ]


@pytest.mark.parametrize("blocks", [False, True])
def test_a_45_after_the_repeat_of_an_xid_follows_from_it(blocks: bool) -> None:
    found = fold((1, DOUBLE_BIT), (100, DOUBLE_BIT), (101, TORN_DOWN), blocks=blocks)
    assert [(event.code, event.action, event.count) for event in found] == [(48, "reset_gpu", 2), (45, "ignore", 1)]


def test_a_file_dates_an_event_by_its_first_line_and_a_stream_by_its_last() -> None:
    reported = [Event(kind="xid", at=at, text="x", code=79, device="d") for at in (5.0, 9.0, 7.0)]
    for folder, at in ((EventFolder(), 5.0), (EventFolder(3600.0), 9.0)):
        folder.extend(reported)
        assert [(event.at, event.count) for event in folder.take()] == [(at, 3)]
