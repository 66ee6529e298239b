"""The spool: nothing acknowledged is kept, nothing else is lost without a word."""

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.signal import Event
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange
from holdfast.node.agent.reporting import spool as module
from holdfast.node.agent.reporting.spool import Spool, session_of

NOW = 1_800_000_000.0


def beat(seq: int, at: float = NOW) -> Report:
    return Report(node="n1", session="s1", seq=seq, at=at, heartbeat=True)


def news(seq: int, at: float = NOW, reason: str = "Xid 79") -> Report:
    change = VerdictChange(at=at, check="gpu.xid", before="pass", after="fail", reason=reason)
    return Report(node="n1", session="s1", seq=seq, at=at, changes=(change,))


def seqs(spool: Spool) -> list[int]:
    return [entry.seq for entry, _ in spool.batch(10_000, 1 << 30)]


def test_what_was_not_acknowledged_is_there_after_a_restart_in_order(tmp_path: Path) -> None:
    first = Spool(tmp_path / "spool", NOW)
    for seq in range(1, 6):
        first.add(news(seq), NOW)
    first.acknowledge(entry for entry, _ in first.batch(2, 1 << 20))
    assert seqs(first) == [3, 4, 5]
    again = Spool(tmp_path / "spool", NOW)
    assert seqs(again)[-3:] == [3, 4, 5]  # those already acknowledged may come once more: at least once
    again.acknowledge(entry for entry, _ in again.batch(100, 1 << 20))
    assert seqs(Spool(tmp_path / "spool", NOW)) == []


def test_the_text_is_what_goes_on_the_wire(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", NOW)
    outcome = OrderOutcome(order=3, verb="retest", ok=True, health="pass", began=NOW, suite="1")
    report = Report(node="n1", session="s1", seq=1, at=NOW, outcomes=(outcome,), digest=b"\x01\x02")
    spool.add(report, NOW)
    [(_, body)] = Spool(tmp_path / "spool", NOW).batch(10, 1 << 20)
    assert msgspec.json.decode(body, type=Report) == report


def test_a_torn_line_loses_itself_and_not_its_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    spool = Spool(path, NOW)
    spool.add(news(1), NOW)
    spool.add(news(2), NOW)
    os.truncate(path, path.stat().st_size - 7)  # killed in the middle of a write
    again = Spool(path, NOW)
    again.add(news(3), NOW)
    assert seqs(Spool(path, NOW)) == [1, 3]
    assert again.skipped_lines == 1


def test_a_full_spool_gives_up_heartbeats_before_news_and_counts_them(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", NOW, most_bytes=4_000)
    spool.add(news(1), NOW)
    for seq in range(2, 40):
        spool.add(beat(seq), NOW)
    kept = seqs(spool)
    assert 1 in kept and 39 in kept
    assert spool.losses.reports == 0
    assert spool.losses.heartbeats == 39 - len(kept)
    assert spool.losses.heartbeats > 0


def test_news_that_had_to_go_is_counted_and_the_count_survives_a_crash(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", NOW, most_bytes=4_000)
    for seq in range(1, 40):
        spool.add(news(seq, at=NOW + seq), NOW + seq)
    kept = seqs(spool)
    assert kept == list(range(40 - len(kept), 40)), "the oldest go"
    again = Spool(tmp_path / "spool", NOW, most_bytes=4_000)
    assert again.losses.reports == 39 - len(kept)
    assert (again.losses.first, again.losses.last) == (NOW + 1, NOW + kept[0] - 1)
    assert again.take_losses().reports and not again.take_losses().reports


def test_old_heartbeats_go_by_age_and_news_stays(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", NOW)
    spool.add(beat(1), NOW)
    spool.add(news(2), NOW)
    later = NOW + module.HEARTBEAT_SECONDS + 60
    spool.add(beat(3, later), later)
    assert seqs(spool) == [2, 3]
    assert spool.losses.heartbeats == 1


def test_a_disk_that_takes_nothing_is_reported_and_reports_wait_in_memory(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    spool = Spool(folder / "spool", NOW)
    folder.rmdir()
    spool.add(news(1), NOW)
    assert "spool" in spool.trouble
    assert seqs(spool) == [1]
    folder.mkdir()
    spool.add(news(2), NOW)
    assert spool.trouble == ""
    assert seqs(Spool(folder / "spool", NOW)) == [1, 2]


def test_memory_is_bounded_while_the_disk_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_UNWRITTEN", 10)
    spool = Spool(tmp_path / "gone" / "spool", NOW)
    for seq in range(1, 31):
        spool.add(news(seq), NOW)
    assert seqs(spool) == list(range(21, 31))
    assert spool.losses.reports == 20


def kernel_event(at: float, since_boot: float) -> Event:
    return Event(kind="xid", at=at, text="NVRM: Xid 79", detail={"since_boot_seconds": since_boot})


@pytest.mark.parametrize("jump", [-86_400.0, -1.0, 0.0, 1.0, 86_400.0])
@pytest.mark.parametrize("acknowledged", [False, True])
def test_a_clock_that_was_set_hides_no_kernel_event_of_a_restarted_agent(
    tmp_path: Path, jump: float, acknowledged: bool
) -> None:
    spool = Spool(tmp_path / "spool", NOW, boot="b1")
    report = Report(node="n1", session=session_of(NOW, "b1"), seq=1, at=NOW, events=(kernel_event(NOW, 500.0),))
    spool.add(report, NOW)
    if acknowledged:
        spool.acknowledge(entry for entry, _ in spool.batch(10, 1 << 20))
    taken = Spool(tmp_path / "spool", NOW + jump, boot="b1").had_taken()
    assert taken(kernel_event(NOW + jump, 500.0)), "it is read again, whatever the clock says now"
    assert not taken(kernel_event(NOW + jump + 0.1, 500.1)), "it came after that, whatever the clock says now"


def test_events_of_another_boot_are_no_old_ones(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", NOW, boot="b1")
    for number, since_boot in enumerate((500.0, 900.0), 1):
        events = (kernel_event(NOW, since_boot),)
        spool.add(Report(node="n1", session=session_of(NOW, "b1"), seq=number, at=NOW, events=events), NOW)
    spool.acknowledge(entry for entry, _ in spool.batch(1, 1 << 20))
    assert not Spool(tmp_path / "spool", NOW, boot="b2").had_taken()(kernel_event(NOW + 60, 20.0))
    assert Spool(tmp_path / "spool", NOW, boot="b1").had_taken()(kernel_event(NOW + 60, 900.0))
    spool.acknowledge(entry for entry, _ in spool.batch(10, 1 << 20))
    assert Spool(tmp_path / "spool", NOW, boot="b1").had_taken()(kernel_event(NOW + 60, 900.0))
    assert not Spool(tmp_path / "spool", NOW, boot="b2").had_taken()(kernel_event(NOW + 60, 900.0))


def test_a_restarted_agent_knows_up_to_when_events_were_reported(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", NOW)
    event = Event(kind="xid", at=NOW - 5, text="NVRM: Xid 79")
    spool.add(Report(node="n1", session="s1", seq=1, at=NOW, events=(event,)), NOW)
    assert Spool(tmp_path / "spool", NOW).events_until == NOW - 5
    spool.acknowledge(entry for entry, _ in spool.batch(10, 1 << 20))
    assert Spool(tmp_path / "spool", NOW).events_until == NOW - 5


@given(st.binary(max_size=400))
def test_any_bytes_in_the_file_are_survived(tmp_path_factory: pytest.TempPathFactory, garbage: bytes) -> None:
    path = tmp_path_factory.mktemp("spool") / "spool"
    path.write_bytes(garbage)
    spool = Spool(path, NOW)
    spool.add(news(7), NOW)
    assert 7 in seqs(spool)


STEPS = st.lists(st.sampled_from(("news", "beat", "send", "restart", "lose")), max_size=40)


@given(STEPS)
def test_whatever_happens_every_report_is_sent_or_counted(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """`send` is acknowledged, `lose` is a request whose answer never came; a restart forgets what is in memory."""
    path = tmp_path_factory.mktemp("spool") / "spool"
    spool, seq, arrived, made = Spool(path, NOW, most_bytes=900), 0, set(), set()
    for step in [*steps, "send"]:
        if step in ("news", "beat"):
            seq += 1
            made.add(seq)
            spool.add(news(seq, NOW + seq) if step == "news" else beat(seq, NOW + seq), NOW + seq)
        elif step == "restart":
            spool = Spool(path, NOW + seq, most_bytes=900)
        else:
            batch = spool.batch(1_000, 1 << 20)
            arrived |= {entry.seq for entry, _ in batch}
            if step == "send":
                spool.acknowledge(entry for entry, _ in batch)
    assert len(made - arrived) <= spool.losses.heartbeats + spool.losses.reports
