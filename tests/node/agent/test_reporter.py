"""The reporter against a controller that speaks the contract: at least once, in order of need, and never in the way."""

import socket
import stat
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from holdfast.model.signal import Event
from holdfast.model.wire.keeper import HeldStep, Holdings, KeeperReport
from holdfast.model.wire.report import OrderOutcome, Report
from holdfast.node.agent.node import CheckChange
from holdfast.node.agent.orders.handler import Order
from holdfast.node.agent.reporting.backoff import LONGEST_SECONDS
from holdfast.node.agent.reporting.connection import FAILED_SECONDS, ControllerLink, LinkDown
from holdfast.node.agent.reporting.enrolment import Enrolment
from holdfast.node.agent.reporting.reporter import HEARTBEAT_SECONDS, Reporter
from holdfast.node.agent.reporting.spool import Spool
from tests.node.agent.service import FakeController, service

NOW = 1_800_000_000.0
XID = Event(kind="xid", at=NOW, text="NVRM: Xid (PCI:0000:1b:00): 79", code=79)


def change(check: str = "gpu.xid") -> CheckChange:
    return CheckChange(NOW, check, "pass", "fail", "gpu 3: Xid 79", ("node/n1/gpu/3",))


class Bench:
    """A reporter driven turn by turn on a clock of our own."""

    def __init__(self, home: Path, url: str, session: str = "s1", token: str = "let-me-in") -> None:
        self.now = NOW
        (home / "token").write_text(token + "\n")
        self.enrolment = Enrolment(
            node="n1",
            pool="train",
            place={"rack": "r1"},
            twin=False,
            credential_file=home / "credential",
            join_token_file=str(home / "token") if token else "",
        )
        self.spool = Spool(home / "spool", self.now)
        self.unsaved: tuple[str, ...] = ()
        self.keepers: tuple[KeeperReport, ...] = ()
        link, digest = ControllerLink(url, timeout=60.0), b"\x01\x02"
        self.reporter = Reporter(
            "n1", session, self.spool, link, self.enrolment, lambda: self.now, lambda: digest,
            unsaved=lambda: self.unsaved, keepers=lambda: self.keepers,
        )  # fmt: skip

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.reporter.step(0.0)


@pytest.fixture
def at() -> Iterator[FakeController]:
    with service() as it:
        yield it


@pytest.fixture
def bench(tmp_path: Path, at: FakeController) -> Bench:
    return Bench(tmp_path, at.url)


def test_the_first_turn_enrols_keeps_the_credential_private_and_beats(
    bench: Bench, at: FakeController, tmp_path: Path
) -> None:
    bench.pass_time(0)
    assert at.enrolled == [
        {"node": "n1", "join_token": "let-me-in", "pool": "train", "place": {"rack": "r1"}, "twin": False}
    ]
    assert stat.S_IMODE((tmp_path / "credential").stat().st_mode) == 0o600
    assert [report["heartbeat"] for report in at.received] == [True]


def test_a_change_goes_at_once_and_a_heartbeat_every_thirty_seconds_with_a_digest_a_minute(
    bench: Bench, at: FakeController
) -> None:
    bench.pass_time(0)
    bench.reporter.add([change()], [XID])
    bench.pass_time(1)
    reported = at.received[-1]
    assert reported["changes"][0]["check"] == "gpu.xid"
    assert reported["events"][0]["code"] == 79
    before = len(at.received)
    for _ in range(119):
        bench.pass_time(1)
    beats = at.received[before:]
    assert all(report["heartbeat"] for report in beats)
    assert [report["at"] - NOW for report in beats] == [3, 6, 11, 31, 61, 91], "sooner after news: orders may follow"
    assert [bool(report["digest"]) for report in beats] == [False, False, False, False, True, False]
    assert [report["seq"] for report in at.received] == list(range(1, len(at.received) + 1))
    assert at.connections == 1, "the connection is kept open"


def test_hours_without_a_controller_lose_no_change_and_the_dropped_heartbeats_are_reported(tmp_path: Path) -> None:
    with service() as gone:
        url = gone.url
    bench = Bench(tmp_path, url)
    for hour in range(6):
        bench.reporter.add([change(f"check.{hour}")])
        for _ in range(120):
            bench.pass_time(30)
    port = int(url.rpartition(":")[2])
    with service(port) as back:
        bench.pass_time(LONGEST_SECONDS)
        assert [c["check"] for report in back.received for c in report["changes"]] == [f"check.{h}" for h in range(6)]
        [dropped] = [event for report in back.received for event in report["events"]]
        assert dropped["kind"] == "spool_dropped"
        assert dropped["count"] > 500
        assert "0 reports of changes" in dropped["text"]
        assert len(bench.spool) == 0


def test_an_answer_that_was_lost_makes_the_report_come_again_with_the_same_name(
    bench: Bench, at: FakeController
) -> None:
    bench.pass_time(0)
    at.refuse_with = 503
    bench.reporter.add([change()])
    bench.pass_time(1)
    assert len(bench.spool) == 1
    at.refuse_with = 0
    bench.pass_time(2)
    assert [report["seq"] for report in at.received] == [1, 2]


def test_what_a_killed_agent_left_is_sent_by_the_next_under_its_old_name(tmp_path: Path, at: FakeController) -> None:
    first = Bench(tmp_path, at.url)
    at.refuse_with = 500
    first.reporter.add([change()])
    first.pass_time(0)
    at.refuse_with = 0
    Bench(tmp_path, at.url, session="s2").pass_time(0)
    assert ("s1", 1) in at.names
    assert ("s2", 1) in at.names
    assert len(at.enrolled) == 1, "the credential on disk is used again"


def test_a_credential_that_expired_is_replaced_and_nothing_is_lost(bench: Bench, at: FakeController) -> None:
    bench.pass_time(0)
    at.credentials.clear()
    bench.reporter.add([change()])
    bench.pass_time(1)
    assert len(at.enrolled) == 2
    assert at.received[-1]["changes"]


def test_without_a_join_token_an_expired_credential_is_reported_once(
    tmp_path: Path, at: FakeController, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "credential").write_text("expired\n")
    bench = Bench(tmp_path, at.url, token="")
    for _ in range(5):
        bench.pass_time(LONGEST_SECONDS)
    answer = [record.message for record in caplog.records if "no join token is configured" in record.message]
    assert len(answer) == 1
    at.credentials.add("renewed")
    (tmp_path / "credential").write_text("renewed\n")
    bench.pass_time(LONGEST_SECONDS)
    assert at.received, "an operator put a new one there"


def test_a_controller_that_refuses_its_own_credentials_is_not_asked_in_a_circle(
    bench: Bench, at: FakeController
) -> None:
    at.refuse_with = 401
    bench.pass_time(0)
    asked = at.requests
    assert asked <= 4
    bench.pass_time(0)
    assert at.requests == asked


def test_a_standby_that_names_the_leader_is_followed(tmp_path: Path, at: FakeController) -> None:
    with service() as standby:
        standby.leader = at.url
        bench = Bench(tmp_path, standby.url)
        bench.pass_time(0)
        assert len(at.received) == 1
        asked = standby.requests
        bench.pass_time(HEARTBEAT_SECONDS)
        assert len(at.received) == 2
        assert standby.requests == asked, "the leader is remembered"


def test_a_dead_controller_is_left_for_the_next_that_is_configured(tmp_path: Path, at: FakeController) -> None:
    with service() as gone:
        url = gone.url
    link = ControllerLink(url, standby_urls=(at.url,))
    assert link.post("/v1/reports", b"[]").status == 401, "the other one answers, without a pause"
    assert link.post("/v1/reports", b"[]").status == 401
    assert at.connections == 1, "and stays in use"


def test_a_controller_that_listens_but_does_not_answer_is_left_only_for_the_next_report(at: FakeController) -> None:
    """It may have taken the report and be slow: another that stores it at once would do all of it twice."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        link = ControllerLink(f"http://127.0.0.1:{listening.getsockname()[1]}", standby_urls=(at.url,))
        hangs_up = threading.Thread(target=lambda: listening.accept()[0].close())
        hangs_up.start()
        with pytest.raises(LinkDown) as down:
            link.post("/v1/reports", b"[]")
        hangs_up.join()
    assert not down.value.refused and at.requests == 0
    assert link.post("/v1/reports", b"[]").status == 401, "the next one is asked from then on"


@pytest.mark.parametrize("location", ["http://[", "http://leader:99999/", "http://leader:x/", "http://", "//", "\x00"])
def test_a_redirect_to_no_address_is_an_answer_and_no_more(at: FakeController, location: str) -> None:
    at.leader = location
    assert ControllerLink(at.url).post("/v1/reports", b"[]").status == 307


def test_a_leader_that_died_is_asked_for_again_where_it_was_named(at: FakeController) -> None:
    with service() as gone:
        dead = gone.url
    at.leader = dead
    link = ControllerLink(at.url, standby_urls=(dead,))
    assert link.post("/v1/reports", b"[]").status == 307
    at.leader = ""
    assert link.post("/v1/reports", b"[]").status == 401


def test_a_dead_leader_is_not_followed_while_its_standby_still_names_it(at: FakeController) -> None:
    now = [0.0]
    with service() as gone:
        dead = gone.url
    at.leader = dead
    link = ControllerLink(dead, standby_urls=(at.url,), clock=lambda: now[0])
    assert [link.post("/v1/reports", b"[]").status for _ in range(3)] == [307] * 3
    assert at.connections == 1, "the connection to the standby is kept for the moment at which it leads"
    at.leader = ""
    assert link.post("/v1/reports", b"[]").status == 401
    assert at.connections == 1
    at.leader, now[0] = dead, FAILED_SECONDS
    assert link.post("/v1/reports", b"[]").status == 307
    assert at.connections == 2, "it may have been started again, so it was tried"


def test_a_controller_that_takes_nothing_is_left_after_three_refusals(at: FakeController) -> None:
    at.refuse_with = 503
    at.credentials.add("of-n1")
    with service() as other:
        link = ControllerLink(at.url, standby_urls=(other.url,))
        assert [link.post("/v1/reports", b"[]", "of-n1").status for _ in range(4)] == [503, 503, 503, 401]
        alone = ControllerLink(at.url)
        before = at.connections
        assert [alone.post("/v1/reports", b"[]", "of-n1").status for _ in range(4)] == [503] * 4
        assert at.connections == before + 1, "where there is no other, the connection is kept"


def test_credentials_never_follow_a_redirect_out_of_tls() -> None:
    link = ControllerLink("https://controller.example:1")
    assert not link._follow("http://controller.example:2/v1/reports")
    assert link._follow("https://leader.example:2/v1/reports")


def test_pauses_grow_and_differ_from_agent_to_agent(tmp_path: Path, at: FakeController) -> None:
    at.refuse_with = 500
    moments = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        bench = Bench(tmp_path / name, at.url)
        bench.pass_time(0)
        tried = [bench.now]
        while bench.now < NOW + 600:
            before = at.requests
            bench.pass_time(1)
            if at.requests > before:
                tried.append(bench.now)
        gaps = [later - earlier for earlier, later in pairwise(tried)]
        assert gaps[0] <= 2
        assert 30 <= gaps[-1] <= LONGEST_SECONDS + 1
        moments.append(tried)
    assert moments[0] != moments[1]


def test_one_report_that_the_controller_cannot_take_does_not_block_the_others(bench: Bench, at: FakeController) -> None:
    bench.pass_time(0)
    at.refuse_with = 503
    for number in range(3):
        bench.reporter.add([change(f"check.{number}")])
        bench.pass_time(1)
    at.refuse_with, at.bad_seqs = 0, {3}
    bench.pass_time(LONGEST_SECONDS)
    assert {c["check"] for report in at.received for c in report["changes"]} == {"check.0", "check.2"}
    assert any(event["kind"] == "spool_dropped" for report in at.received for event in report["events"])


def test_orders_in_an_acknowledgement_are_handed_on_and_their_outcome_is_reported(
    bench: Bench, at: FakeController
) -> None:
    taken: list[Order] = []
    bench.reporter.on_orders(taken.extend)
    at.orders = [{"id": 7, "verb": "retest", "suite": "1", "reason": "after reset", "new_field": 1}]
    bench.pass_time(0)
    assert taken == [Order(id=7, verb="retest", suite="1", reason="after reset")]
    bench.reporter.answer(OrderOutcome(order=7, verb="retest", ok=True, health="pass", began=NOW, suite="1"))
    bench.pass_time(1)
    assert at.received[-1]["outcomes"][0]["health"] == "pass"


def test_what_only_memory_holds_is_reported_and_a_flush_that_is_asked_for_handed_on(
    bench: Bench, at: FakeController
) -> None:
    asked: list[float] = []
    bench.reporter.on_flush(asked.append)
    bench.unsaved = ("llama",)
    bench.pass_time(0)
    assert at.received[-1]["unsaved"] == ["llama"]
    assert asked == []
    at.flush_seconds = 120.0
    bench.pass_time(60)
    assert asked == [120.0]


def test_what_keepers_hold_is_reported_with_every_report_and_can_be_read(bench: Bench, at: FakeController) -> None:
    holds = Holdings(node="n1", ranks=(0, 1), committed_step=6, steps=(HeldStep(step=7, own=(0, 1), stored=(0,)),))
    bench.keepers = (KeeperReport(job="llama", owner="uid-7", unsaved_step=7, holds=holds),)
    bench.pass_time(0)
    assert msgspec.convert(at.received[-1], Report).keepers == bench.keepers
    bench.keepers = ()
    bench.pass_time(60)
    assert msgspec.convert(at.received[-1], Report).keepers == ()


def test_odd_and_endless_kernel_lines_still_make_a_report(bench: Bench, at: FakeController) -> None:
    odd = Event(kind="xid", at=float("nan"), text="\udcff" * 100_000, detail={"a": float("inf"), "b": "\ud800"})
    bench.reporter.add([], [odd] * 250)
    bench.pass_time(0)
    assert sum(len(report["events"]) for report in at.received) == 250


def test_the_wait_ends_with_the_next_heartbeat(bench: Bench) -> None:
    bench.pass_time(0)
    assert bench.reporter._wait_seconds() == HEARTBEAT_SECONDS


def test_it_runs_on_its_own_thread_and_stops(bench: Bench, at: FakeController) -> None:
    bench.reporter.start()
    bench.reporter.add([change()])
    with at.changed:
        assert at.changed.wait_for(lambda: any(report["changes"] for report in at.received), timeout=60)
    bench.reporter.stop()


@pytest.mark.parametrize(
    "bad",
    [
        Event(kind="k" * 300, at=NOW, text=""),
        Event(kind="x", at=NOW, text="", subject="s" * 300),
    ],
)
def test_an_event_that_cannot_be_reported_is_given_up_alone(tmp_path: Path, at: FakeController, bad: Event) -> None:
    bench = Bench(tmp_path, at.url)
    bench.reporter.add([change()], [bad, XID])
    bench.pass_time(0.0)
    assert [one["code"] for report in at.received for one in report["events"]] == [79]
    assert [one["check"] for report in at.received for one in report["changes"]] == ["gpu.xid"]


@pytest.mark.parametrize("odd", [Event(kind="x", at=1e300, text="", count=10**30, detail={"a": 10**400, "b": 1.0})])
def test_odd_numbers_of_an_event_are_brought_within_bounds(tmp_path: Path, at: FakeController, odd: Event) -> None:
    bench = Bench(tmp_path, at.url)
    bench.reporter.add((), [odd])
    bench.pass_time(0.0)
    (event,) = [one for report in at.received for one in report["events"]]
    assert (event["at"], event["count"], event["detail"]) == (0.0, 2**53 - 1, {"b": 1.0})


def test_jobs_that_cannot_be_reported_do_not_make_the_node_silent(tmp_path: Path, at: FakeController) -> None:
    bench = Bench(tmp_path, at.url)
    bench.unsaved = ("j" * 300,)
    bench.reporter.add([change()])
    bench.pass_time(0.0)
    assert [one["check"] for report in at.received for one in report["changes"]] == ["gpu.xid"]
    bench.unsaved = ("llama",)
    bench.pass_time(HEARTBEAT_SECONDS)
    assert at.received[-1]["unsaved"] == ["llama"]
