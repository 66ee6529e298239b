"""The downtime ledger: true lengths, across restarts, torn files, full disks and odd clocks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.node.sources.fabric.port_ledger import PortLedger
from holdfast.node.sources.fabric.port_track import DAY, HOUR, TEN_MINUTES, Track
from holdfast.node.sources.ledger_file import LedgerFile

PORT = "mlx5_0/1"
START = 1_000_000.0


def watch(ledger: PortLedger, *looks: tuple[float, bool | None]) -> Track:
    """Let the ledger look at (seconds after START, up)."""
    for at, up in looks:
        ledger.observe(PORT, up, ledger.begin(START + at))
    return ledger.track(PORT)


def every_second(first: int, last: int, up: bool) -> list[tuple[float, bool | None]]:
    return [(float(at), up) for at in range(first, last)]


def test_an_outage_has_its_start_and_its_length_to_the_second() -> None:
    track = watch(PortLedger(), *every_second(0, 10, True), *every_second(10, 22, False), (22, True))
    assert [(outage.start - START, outage.seconds, outage.at_most) for outage in track.outages] == [(10, 12, None)]
    assert track.outage_seconds(START + 22) == 0


def test_windows_slide_and_count_only_what_lies_inside() -> None:
    looks = [*every_second(0, 2, True), *every_second(2, 102, False), (102, True)]
    track = watch(PortLedger(), *looks)
    assert track.down_seconds(START + 102, TEN_MINUTES) == 100
    assert track.down_seconds(START + 652, TEN_MINUTES) == 50
    assert track.down_seconds(START + 800, TEN_MINUTES) == 0
    assert track.down_seconds(START + 800, HOUR) == 100


def test_an_ongoing_outage_counts_already() -> None:
    track = watch(PortLedger(), (0, True), *every_second(1, 6, False))
    assert track.outage_seconds(START + 6) == 5
    assert track.down_seconds(START + 6, TEN_MINUTES) == 5


def test_an_outage_open_at_stop_and_still_open_at_restart_keeps_its_start(tmp_path: Path) -> None:
    path = str(tmp_path / "ports.jsonl")
    watch(PortLedger(path), (0, True), *every_second(1, 5, False))
    track = watch(PortLedger(path), (300, False))
    assert track.outage_seconds(START + 300) == 299


def test_an_outage_that_ended_while_no_one_looked_is_reported_as_at_most(tmp_path: Path) -> None:
    path = str(tmp_path / "ports.jsonl")
    watch(PortLedger(path), (0, True), *every_second(1, 25, False))
    track = watch(PortLedger(path), (1000, True))
    (outage,) = track.outages
    assert outage.at_most == 999
    assert 10 <= outage.seconds <= 24, "what was seen and written of it"
    assert track.down_seconds(START + 1000, HOUR) == outage.seconds, "what no one saw is not charged"


def test_closed_outages_and_having_been_up_survive_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "ports.jsonl")
    watch(PortLedger(path), (0, True), *every_second(1, 5, False), (5, True))
    track = watch(PortLedger(path), (60, True))
    assert track.ever_up
    assert track.down_seconds(START + 60, HOUR) == 4


def test_a_kill_in_the_middle_of_a_line_loses_that_line_only(tmp_path: Path) -> None:
    path = tmp_path / "ports.jsonl"
    watch(PortLedger(str(path)), (0, True), *every_second(1, 5, False), (5, True), (9, False))
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    again = PortLedger(str(path))
    track = watch(again, (60, True))
    assert again.corrupt_lines == 1
    assert [outage.seconds for outage in track.outages] == [4]
    watch(again, (70, False))
    watch(third := PortLedger(str(path)), (75, False))
    assert third.track(PORT).outage_seconds(START + 75) == 5


def test_lines_that_make_no_sense_are_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "ports.jsonl"
    lines = [
        b"\xff\x00garbage",
        b"[1,2]",
        b'{"port": 5, "is": "up", "at": 1}',
        b'{"port": "mlx5_0/1", "is": "down", "start": NaN, "seen": 1}',
        b'{"port": "mlx5_0/1", "is": "down", "start": 9e99, "seen": 9e99}',
        b'{"port": "mlx5_0/1", "is": "outage", "start": 999990}',
        json.dumps({"port": PORT, "is": "outage", "start": START - 50, "seconds": 3}).encode(),
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    ledger = PortLedger(str(path))
    track = watch(ledger, (0, True))
    assert ledger.corrupt_lines == 6
    assert [outage.seconds for outage in track.outages] == [3]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_is_reported_and_not_raised() -> None:
    file = LedgerFile("/dev/full")
    file.append({"port": PORT})
    assert "no space left" in file.trouble


def test_a_ledger_that_cannot_be_written_goes_on_in_memory_and_on_disk_once_it_can(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    ledger = PortLedger(str(tmp_path / "state" / "ports.jsonl"))
    track = watch(ledger, (0, True), *every_second(1, 8, False), (8, True))
    assert "cannot" in ledger.trouble
    assert [outage.seconds for outage in track.outages] == [7]
    (tmp_path / "state").unlink()
    watch(ledger, (70, True))
    assert ledger.trouble == ""
    assert watch(PortLedger(str(tmp_path / "state" / "ports.jsonl")), (80, True)).outages[0].seconds == 7


def test_an_unreadable_ledger_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "ports.jsonl").mkdir()
    ledger = PortLedger(str(tmp_path / "ports.jsonl"))
    watch(ledger, (0, True), (1, False))
    assert "cannot" in ledger.trouble
    assert (tmp_path / "ports.jsonl").is_dir()


def test_the_file_and_the_memory_forget_what_is_older_than_a_day(tmp_path: Path) -> None:
    path = tmp_path / "ports.jsonl"
    ledger = PortLedger(str(path))
    watch(ledger, (0, True), *every_second(1, 5, False), (5, True))
    watch(ledger, (DAY + HOUR, True))
    track = watch(ledger, (DAY + 2 * HOUR + 1, True))
    assert track.outages == [] and track.ever_up
    assert len(path.read_text().splitlines()) == 1


def test_a_port_that_flaps_all_day_stays_bounded_and_loses_no_downtime(tmp_path: Path) -> None:
    ledger = PortLedger(str(tmp_path / "ports.jsonl"))
    watch(ledger, *[(float(at), at % 3 != 0) for at in range(9000)])
    track = watch(ledger, (9000, True))
    assert len(track.outages) <= 2000
    assert track.down_seconds(START + 9000, DAY) == 3000
    assert track.flaps_within(START + 9000, DAY) == 3000
    watch(ledger, (9000 + HOUR, True))
    assert len((tmp_path / "ports.jsonl").read_text().splitlines()) <= 2001


def test_link_downed_growing_while_the_port_looks_up_is_a_flap_too_short_to_see() -> None:
    ledger = PortLedger()
    for at, downed in ((0, 3), (1, 4), (2, 4), (3, 4)):
        ledger.observe(PORT, True, ledger.begin(START + at), downed)
    track = ledger.track(PORT)
    assert track.flaps_within(START + 3, DAY) == 1
    assert track.down_seconds(START + 3, DAY) == 0


def test_link_downed_running_ahead_of_the_state_is_no_second_flap() -> None:
    ledger = PortLedger()
    for at, up, downed in ((0, True, 3), (1, True, 4), (2, False, 4), (3, True, 4), (4, True, 4)):
        ledger.observe(PORT, up, ledger.begin(START + at), downed)
    assert ledger.track(PORT).flaps_within(START + 4, DAY) == 1


def test_outages_that_were_seen_are_taken_off_what_link_downed_grew_by() -> None:
    ledger = PortLedger()
    looks = [(0, True, 3), (5, False, None), (6, True, None), (12, False, None), (13, True, None), (30, True, 6)]
    for at, up, downed in [*looks, (31, True, None)]:
        ledger.observe(PORT, up, ledger.begin(START + at), downed)
    track = ledger.track(PORT)
    assert (len(track.outages), len(track.flaps)) == (2, 1)


def test_link_downed_read_in_an_outage_before_it_grew_makes_no_flap_of_that_outage() -> None:
    ledger = PortLedger()
    looks = [(0, True, 3), (30, False, 3), (31, False, None), (32, True, None), (60, True, 4), (61, True, None)]
    for at, up, downed in looks:
        ledger.observe(PORT, up, ledger.begin(START + at), downed)
    assert not ledger.track(PORT).flaps


def test_a_link_downed_that_leaps_stays_bounded() -> None:
    ledger = PortLedger()
    for at, downed in ((0, 0), (30, 2**32), (31, None)):
        ledger.observe(PORT, True, ledger.begin(START + at), downed)
    assert len(ledger.track(PORT).flaps) <= 2000


def test_the_longest_outage_is_known_until_its_window_is_over_or_the_port_is_repaired() -> None:
    ledger = PortLedger()
    track = watch(ledger, (0, True), *every_second(1, 41, False), *every_second(41, 60, True), (60, False), (61, True))
    longest = track.longest_outage(START + 61, TEN_MINUTES)
    assert longest is not None and (longest.seconds, longest.end - START) == (40, 41)
    later = track.longest_outage(START + 650, TEN_MINUTES)
    assert later is not None and later.seconds == 1
    track.repaired_at = START + 70
    assert track.longest_outage(START + 71, TEN_MINUTES) is None


@pytest.mark.parametrize("back", [30.0, HOUR, 20 * 365 * DAY])
def test_a_clock_set_back_across_a_restart_loses_no_outage(tmp_path: Path, back: float) -> None:
    path = str(tmp_path / "ports.jsonl")
    at = 1_700_000_000.0 - START
    before = [(at - 2000, False), (at - 1995, False), (at - 1990, True)]
    watch(PortLedger(path), (at - 2001, True), *before, (at, True), (at + 1, False), (at + 4, False), (at + 5, True))
    again = PortLedger(path)
    track = watch(again, (at + 10 - back, True))
    now = START + at + 10 - back
    assert again.corrupt_lines == 0
    assert track.ever_up
    assert [track.down_seconds(now, window) for window in (TEN_MINUTES, HOUR)] == [4, 14]
    third = watch(PortLedger(path), (at + 20 - back, True))
    assert third.down_seconds(now + 10, HOUR) == 14, "and the file was put right"


def test_an_outage_that_lasts_over_a_clock_set_back_keeps_its_length(tmp_path: Path) -> None:
    path = str(tmp_path / "ports.jsonl")
    watch(PortLedger(path), (HOUR, True), *every_second(3601, 3633, False))
    track = watch(PortLedger(path), (0, False))
    assert 20 <= track.outage_seconds(START) <= 32


def test_a_saturated_link_downed_hides_no_outage() -> None:
    ledger = PortLedger()
    for at, up in ((0, True), (1, False), (2, False), (3, True)):
        ledger.observe(PORT, up, ledger.begin(START + at), 255)
    assert ledger.track(PORT).down_seconds(START + 3, DAY) == 2


def test_time_that_runs_backwards_makes_no_outage_and_stretches_none() -> None:
    track = watch(PortLedger(), (0, True), (10, False), (9.5, False), (12, False), (11, True))
    assert [outage.seconds for outage in track.outages] == [2]


def test_a_port_that_cannot_be_read_is_neither_up_nor_down() -> None:
    track = watch(PortLedger(), (0, True), (1, None), (60, None), (61, True))
    assert track.quiet()


KILLED = """
import sys
from holdfast.node.sources.fabric.port_ledger import PortLedger
ledger = PortLedger(sys.argv[1])
for at in range(10**9):
    ledger.observe("mlx5_0/1", at % 4 != 0, ledger.begin(1_000_000.0 + at))
    if at % 400 == 399:
        print(at, flush=True)
"""


def test_kill_9_at_any_moment_loses_no_outage_that_was_reported(tmp_path: Path) -> None:
    path = str(tmp_path / "ports.jsonl")
    with subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        reported = [int(child.stdout.readline()) for _ in range(3)][-1]
        child.kill()
    ledger = PortLedger(path)
    ledger.begin(START + reported + 50_000)
    assert ledger.corrupt_lines <= 1
    assert sum(outage.count for outage in ledger.track(PORT).outages) >= (reported + 1) // 4 - 1


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=80), st.integers(0, 79))
def test_downtime_is_the_same_with_and_without_a_restart(
    tmp_path_factory: pytest.TempPathFactory, ups: list[bool | None], restart: int
) -> None:
    path = str(tmp_path_factory.mktemp("ledger") / "ports.jsonl")
    steady, restarted = PortLedger(), PortLedger(path)
    for at, up in enumerate(ups):
        if at == restart:
            restarted = PortLedger(path)
        watch(steady, (float(at), up))
        watch(restarted, (float(at), up))
    now = START + len(ups)
    whole = steady.track(PORT).down_seconds(now, DAY)
    assert abs(restarted.track(PORT).down_seconds(now, DAY) - whole) <= 10.0
    assert 0 <= whole <= len(ups)


@given(st.binary(max_size=300))
def test_no_file_makes_it_raise(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ports.jsonl"
    path.write_bytes(raw)
    assert watch(PortLedger(str(path)), (0, True)).ever_up
