"""The kernel message source on a file that grows, and on the real /dev/kmsg where it can be read."""

import io
import os
import tty
from pathlib import Path
from typing import IO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.model.signal import Event, Reading
from holdfast.node.sources.host.kmsg import KmsgSource
from tests.counts import draws

NOW = 1_700_000_000.0
UPTIME = 5000.0


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "kmsg"
    path.touch()
    return path


def source(log: Path) -> KmsgSource:
    return KmsgSource("n1", str(log), monotonic=lambda: UPTIME)


def say(log: Path, *texts: str, first: int = 0, seconds: float = 4000.0) -> None:
    with log.open("a") as file:
        file.writelines(f"3,{first + i},{int(seconds * 1e6)},-;{text}\n" for i, text in enumerate(texts))


def values(reading: Reading) -> dict[str, float]:
    return {signal.name: float(signal.value) for signal in reading.signals}


def codes(events: list[Event] | tuple[Event, ...]) -> list[object]:
    return [event.code for event in events]


XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=p, gone"
FAULT = "NVRM: Xid (PCI:0000:9b:00): 119, pid=1, name=p, Timeout after 6s"
RECOVERED = "NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"


def test_what_was_logged_before_the_first_read_is_seen_with_its_wall_time(log: Path) -> None:
    say(log, "Linux version 6.1", XID)
    reading = source(log).read(NOW)
    assert [(event.code, event.at) for event in reading.events] == [(79, NOW - UPTIME + 4000.0)]
    assert values(reading) == {"kmsg_records_total": 2, "kmsg_gaps_total": 0, "kmsg_storm_folded_total": 0}
    assert reading.blind == ""


def test_the_boot_time_of_another_proc_is_used_when_given(log: Path, tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu 1 2 3\nbtime 1699990000\nprocesses 7\n")
    say(log, XID)
    (event,) = KmsgSource("n1", str(log), proc=str(tmp_path)).read(NOW).events
    assert event.at == 1699990000 + 4000.0


def test_a_clock_that_is_set_does_not_move_what_a_file_says(log: Path, tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("btime 1699990000\n")
    kmsg = KmsgSource("n1", str(log), proc=str(tmp_path))
    kmsg.read(NOW)
    (tmp_path / "stat").write_text(f"btime {1699990000 - 2 * 86400}\n")  # the wall clock went back by two days
    say(log, XID, seconds=9900.0)
    assert [event.at for event in kmsg.read(NOW + 1).events] == [1699990000 + 9900.0]


def test_messages_of_the_ring_buffer_are_dated_by_their_age_whatever_the_wall_clock_says(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("btime 1699000000\n")
    master, slave = os.openpty()  # a character device that we can write to
    tty.setraw(slave)
    os.write(master, f"3,0,4000000000,-;{XID}\n".encode())
    kmsg = KmsgSource("n1", os.ttyname(slave), proc=str(tmp_path), monotonic=lambda: UPTIME)
    assert [event.at for event in kmsg.read(NOW).events] == [NOW - UPTIME + 4000.0]
    kmsg.close()
    os.close(slave)
    os.close(master)


def test_without_a_proc_no_stat_of_the_working_directory_is_opened(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def watched(path: str, mode: str) -> IO[bytes]:
        opened.append(path)
        return io.open(path, mode)  # noqa: UP020

    monkeypatch.setattr("builtins.open", watched)
    monkeypatch.chdir(log.parent)
    kmsg = source(log)
    log.write_text(f"3,0,4000000000,-;{XID}\n")
    assert kmsg.read(NOW).events[0].at == NOW - UPTIME + 4000.0
    assert opened == []


def test_each_message_is_reported_once(log: Path) -> None:
    kmsg = source(log)
    say(log, XID)
    assert codes(kmsg.read(NOW).events) == [79]
    assert kmsg.read(NOW + 1).events == []
    say(log, XID.replace("79", "119"), first=1)
    assert codes(kmsg.read(NOW + 2).events) == [119]


def test_a_line_is_read_when_it_is_finished(log: Path) -> None:
    kmsg = source(log)
    with log.open("a") as file:
        file.write("3,0,1,-;NVRM: Xid (PCI:0000:9b")
        file.flush()
        assert kmsg.read(NOW).events == []
        file.write(":00): 79, gone\n")
    assert codes(kmsg.read(NOW).events) == [79]


def test_wait_wakes_when_the_file_grows_and_when_it_does_not_says_so(log: Path) -> None:
    kmsg = source(log)
    kmsg.read(NOW)
    assert kmsg.wait(0.0) is False
    say(log, XID)
    assert kmsg.wait(60.0) is True
    kmsg.close()


def test_gaps_in_the_sequence_are_counted_and_reported(log: Path) -> None:
    kmsg = source(log)
    say(log, "a", "b")
    kmsg.read(NOW)
    say(log, "c", first=12)
    reading = kmsg.read(NOW + 1)
    assert [(event.kind, event.count) for event in reading.events] == [("kmsg_gap", 10)]
    assert values(reading)["kmsg_gaps_total"] == 10


def test_a_storm_over_many_reads_is_reported_at_once_and_then_by_its_count(log: Path) -> None:
    kmsg = source(log)
    reported: list[Event] = []
    for tenth in range(10):
        say(log, *[XID] * 100, first=tenth * 100)
        reported += kmsg.read(NOW + tenth / 10).events
    assert [event.count for event in reported] == [100]
    assert kmsg.wait(60.0) is True, "what is held is not held longer because the log falls silent"
    rest = kmsg.read(NOW + 1)
    assert [event.count for event in rest.events] == [900]
    assert values(rest)["kmsg_storm_folded_total"] == 999
    assert kmsg.wait(0.0) is False


def test_a_fault_that_returns_some_seconds_later_is_reported_at_once(log: Path) -> None:
    kmsg = source(log)
    say(log, XID)
    kmsg.read(NOW)
    say(log, XID, first=1, seconds=UPTIME + 5)
    assert [(event.code, event.at) for event in kmsg.read(NOW + 5).events] == [(79, NOW + 5)]


def test_the_first_line_after_the_end_of_a_fault_is_reported_at_once(log: Path) -> None:
    kmsg = source(log)
    say(log, FAULT)
    assert codes(kmsg.read(NOW).events) == [119]
    say(log, RECOVERED, first=1)
    assert codes(kmsg.read(NOW + 0.2).events) == [154]
    say(log, FAULT, first=2)
    assert codes(kmsg.read(NOW + 0.4).events) == [119]


def test_one_read_reports_a_fault_its_end_and_its_return_with_their_times(log: Path) -> None:
    for sequence, (text, seconds) in enumerate([(FAULT, 4000), (FAULT, 4001), (RECOVERED, 4010), (FAULT, 4020)]):
        say(log, text, first=sequence, seconds=seconds)
    reported = [(event.code, event.count, event.at - NOW + UPTIME) for event in source(log).read(NOW).events]
    assert reported == [(119, 2, 4001.0), (154, 1, 4010.0), (119, 1, 4020.0)]


def test_repeats_are_dated_by_their_last_and_days_apart_stay_apart(log: Path) -> None:
    day = 86400.0
    for sequence, seconds in enumerate([0.0, 10.0, day, 2 * day, 2 * day + 5, 2 * day + 9]):
        say(log, XID, first=sequence, seconds=seconds)
    kmsg = KmsgSource("n1", str(log), monotonic=lambda: 3 * day)
    reported = [(event.count, event.at - NOW + 3 * day) for event in kmsg.read(NOW).events]
    assert sum(count for count, _ in reported) == 6
    assert reported[-1] == (3, 2 * day + 9)
    assert (1, day) in reported


def test_a_server_that_goes_comes_and_goes_again_is_reported_in_order(log: Path) -> None:
    kmsg = source(log)
    gone, back = "nfs: server a not responding, still trying", "nfs: server a OK"
    say(log, gone, gone, back, gone)
    assert codes(kmsg.read(NOW).events) == ["not_responding", "ok", "not_responding"]
    say(log, gone, first=4)
    assert kmsg.read(NOW + 0.5).events == []
    say(log, back, gone, first=5)
    assert codes(kmsg.read(NOW + 0.6).events) == ["ok", "not_responding"]


def test_a_truncated_file_is_read_from_its_start(log: Path) -> None:
    kmsg = source(log)
    say(log, "a" * 500)
    kmsg.read(NOW)
    log.write_text(f"3,0,1,-;{XID}\n")
    assert codes(kmsg.read(NOW + 1).events) == [79]


def test_a_rotated_file_is_followed_and_wakes_the_reader(log: Path) -> None:
    kmsg = source(log)
    say(log, "a")
    kmsg.read(NOW)
    log.rename(log.with_suffix(".1"))
    say(log, XID)
    assert kmsg.wait(60.0) is True
    assert codes(kmsg.read(NOW + 1).events) == [79]


def test_lines_without_a_time_happened_when_they_were_read(log: Path) -> None:
    log.write_text(XID + "\n")
    assert source(log).read(NOW).events[0].at == NOW


def test_no_message_is_from_the_future(log: Path) -> None:
    say(log, XID, seconds=UPTIME + 100)
    assert source(log).read(NOW).events[0].at == NOW


def test_no_file_is_blindness_in_one_sentence_and_its_coming_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "absent"
    kmsg = source(path)
    assert "there is no" in kmsg.read(NOW).blind
    say(path, XID)
    assert codes(kmsg.read(NOW + 1).events) == [79]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_is_blindness(log: Path) -> None:
    log.chmod(0)
    assert "permission" in source(log).read(NOW).blind


def test_a_directory_in_its_place_is_blindness(tmp_path: Path) -> None:
    assert source(tmp_path).read(NOW).blind


def test_garbage_nuls_and_a_megabyte_line_do_not_hide_what_follows(log: Path) -> None:
    log.write_bytes(bytes(range(256)) + b"\n\0\0\n" + b"y" * (5 << 20) + b"\n3,9,1,-;" + XID.encode() + b"\n")
    kmsg = source(log)
    found = [event for i in range(14) for event in kmsg.read(NOW + i).events]
    assert codes(found) == [79]


@given(st.binary(max_size=500))
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], max_examples=draws(10, 50))
def test_no_bytes_make_it_fail(log: Path, data: bytes) -> None:
    log.write_bytes(data)
    kmsg = source(log)
    assert kmsg.read(NOW).blind == ""
    kmsg.close()


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="this machine does not let us read /dev/kmsg")
def test_the_real_ring_buffer_is_drained_without_blocking() -> None:
    kmsg = KmsgSource("n1")
    reading = kmsg.read(NOW)
    if reading.blind:
        pytest.skip(f"this machine does not let us read /dev/kmsg: {reading.blind}")
    assert values(reading)["kmsg_records_total"] >= 0  # zero where somebody has just cleared it with dmesg -C
    assert kmsg.read(NOW).blind == ""
    kmsg.close()


def test_an_address_that_is_not_on_this_node_is_ignored(log: Path, tmp_path: Path) -> None:
    sys = tmp_path / "sys"
    (sys / "bus/pci/devices/0000:9b:00.0").mkdir(parents=True)
    (sys / "class/pci_bus/0000:3b").mkdir(parents=True)  # its device was unplugged, the bus stays
    say(log, XID, XID.replace("9b", "3b"), XID.replace("9b", "77"))
    here = KmsgSource("n1", str(log), monotonic=lambda: UPTIME, sys=str(sys))
    assert [event.device for event in here.read(NOW).events] == ["0000:9b:00", "0000:3b:00"]
    (sys / "bus/pci/devices/0000:9b:00.0").rmdir()
    say(log, FAULT, first=3)
    assert codes(here.read(NOW + 2).events) == [119], "a device that was here may speak of its own loss"


def test_what_a_user_writes_to_the_kernel_log_is_no_event(log: Path) -> None:
    with log.open("a") as file:
        file.write(f"11,0,4000000000,-;{XID}\n")
        file.write(f"6,1,4000000000,-;python3[7]: segfault at 0 ip 5 sp 7 error 4 in {XID}[5+1]\n")
    assert source(log).read(NOW).events == []


@pytest.mark.parametrize(
    ("below", "counts"),
    [
        (["loop3"], False),
        (["rbd0"], False),
        (["nbd1", "drbd2"], False),
        (["zd16"], False),
        (["sda1"], True),
        (["loop3", "sda1"], True),
        (["rbd0", "nvme0n1p2"], True),
        ([], True),
    ],
)
def test_a_volume_on_a_users_image_is_no_disk(log: Path, tmp_path: Path, below: list[str], counts: bool) -> None:
    for name in ("", *below):
        (tmp_path / "sys/block/dm-3/slaves" / name).mkdir(parents=True)
    say(log, "EXT4-fs error (device dm-3): ext4_lookup:1234: inode #2: comm bash: deleted inode referenced: 12")
    here = KmsgSource("n1", str(log), monotonic=lambda: UPTIME, sys=str(tmp_path / "sys"))
    assert bool(here.read(NOW).events) is counts


def test_a_volume_that_is_gone_is_no_disk(log: Path, tmp_path: Path) -> None:
    (tmp_path / "sys/block").mkdir(parents=True)
    say(log, "EXT4-fs error (device dm-3): ext4_lookup:1234: inode #2: comm bash: deleted inode referenced: 12")
    assert KmsgSource("n1", str(log), monotonic=lambda: UPTIME, sys=str(tmp_path / "sys")).read(NOW).events == []
