"""Floods of one caller or user: the window, the job table and the ranks of others stay as they are."""

import math

import pytest

from holdfast.fleet.api.caller_quota import MOST_EVENTS_A_MINUTE, SHARE_SECONDS, CallerQuota
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.seams.intake import AGENT_SHARE
from holdfast.fleet.incidents import window as window_module
from holdfast.fleet.incidents.events import MOST_EVENTS, MOST_OF_NODE, SLACK, SeamEvents
from holdfast.fleet.incidents.ranks import HELD_SECONDS, SeamRanks
from holdfast.fleet.incidents.window import SeamWindow
from holdfast.fleet.jobs import service as jobs_module
from holdfast.fleet.jobs.service import JobService
from holdfast.model.signal import Event, Reading, Signal
from holdfast.model.wire.progress import RankWindow
from holdfast.model.wire.report import Report


def window(job: str, owner: str = "uid-1", rank: int = 0, at: float = 100.0, **more: object) -> RankWindow:
    facts = {"world": 100_000, "session": f"{owner}-{job}", "began": at - 10, "steps": 1, "seconds": 1.0, **more}
    return RankWindow(job=job, owner=owner, rank=rank, at=at, **facts)  # type: ignore[arg-type]


def test_a_caller_has_a_share_of_the_window() -> None:
    share = CallerQuota(AGENT_SHARE)
    share.take([(f"job/a{number}", "x") for number in range(AGENT_SHARE)], 0, 1_000.0)
    share.take([("job/a1", "x")], 0, 1_001.0)
    with pytest.raises(Problem) as refused:
        share.take([("job/new", "x")], 0, 1_002.0)
    assert refused.value.status == 429
    share.take([("job/new", "x")], 0, 1_000.0 + SHARE_SECONDS)


def test_a_caller_has_a_share_of_the_events() -> None:
    share = CallerQuota(AGENT_SHARE)
    share.take([], MOST_EVENTS_A_MINUTE, 60.0)
    with pytest.raises(Problem):
        share.take([], 1, 119.0)
    share.take([], 1, 120.0)


def test_the_window_has_a_limit_over_all_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_module, "MOST_ROWS", 10)
    held = SeamWindow(lambda: 100.0)
    for number in range(20):
        held.put(100.0, f"job/{number}", ("gpu_power_watts", "ambient_celsius")[number % 2], 20.0, 10.0)
    held.put(100.0, "job/0", "gpu_power_watts", 21.0, 10.0)
    assert sum(len(table.subjects) for table in held.panel().tables.values()) == 10
    assert held.refused == 10


def test_one_device_has_no_more_than_half_of_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Prometheus whose labels change with every answer."""
    monkeypatch.setattr(window_module, "MOST_OF_SOURCE", 10)
    held = SeamWindow(lambda: 100.0)
    for number in range(20):
        rogue = [Signal(f"rack/{number}", "ambient_celsius", 20.0)]
        held.take(Reading(source="promql rogue", at=100.0, signals=rogue), 100.0, 10.0)
    held.take(Reading(source="snmp crah", at=100.0, signals=[Signal("rack/r1", "ambient_celsius", 20.0)]), 100.0, 10.0)
    held.put(100.0, "job/llama", "job_step_seconds", 1.0, 10.0)
    assert held.refused == 10
    assert {"rack/r1", "job/llama"} <= held.subjects()


def test_one_reporter_does_not_make_the_silence_of_another_look_fresh() -> None:
    """Whoever may report any subject with a signal may say that it does so every two hours."""
    now = [1_000.0]
    held = SeamWindow(lambda: now[0])
    held.put(1_000.0, "node/n1/gpu/0", "gpu_power_watts", 300.0, 10.0)
    held.put(1_000.0, "job/x", "gpu_power_watts", 300.0, 7_200.0)
    now[0] += 600.0
    table = held.panel().tables["gpu_power_watts"]
    latest = dict(zip(table.subjects, table.values[:, -1].tolist(), strict=True))
    assert latest["job/x"] == 300.0
    assert math.isnan(latest["node/n1/gpu/0"]), "its source has been silent for ten minutes"
    assert held.series("gpu_power_watts", ["node/n1/gpu/0"])[1]["node/n1/gpu/0"][-1] is None


def test_another_users_rank_does_not_replace_the_victims() -> None:
    ranks = SeamRanks()
    list(ranks.ingest("n1", [window("llama", "uid-1", 3)]))
    before = ranks.edges()
    assert list(ranks.ingest("n9", [window("llama", "uid-2", 3, at=101.0)])) == [], "no signal of another's job"
    assert list(ranks.ingest("n9", [window("llama", "uid-2", 3, at=102.0, ended="closed")])) == []
    assert ranks.edges() == before
    assert list(ranks.ingest("n1", [window("llama", "uid-1", 3, at=103.0)]))
    later = 103.0 + HELD_SECONDS
    assert list(ranks.ingest("n9", [window("llama", "uid-2", 3, at=later)])), "the name is free again"
    assert "node/n9" in str(ranks.edges())
    assert "node/n1" not in str(ranks.edges())


def test_one_user_has_no_more_than_its_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.fleet.incidents.ranks.MOST_RANKS_OF_USER", 5)
    ranks = SeamRanks()
    list(ranks.ingest("n1", [window("flood", "uid-1", rank) for rank in range(50)]))
    list(ranks.ingest("n2", [window("victim", "uid-2", rank) for rank in range(3)]))
    assert len([edge for edge in ranks.edges() if "/rank/" in str(edge)]) == 8
    list(ranks.ingest("n1", [window("flood", "uid-1", 0, ended="closed"), window("flood", "uid-1", 7)]))
    assert len([edge for edge in ranks.edges() if "/rank/" in str(edge)]) == 8


def test_a_flood_of_one_users_jobs_costs_no_other_user_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "MOST_JOBS", 20)
    monkeypatch.setattr(jobs_module, "MOST_JOBS_OF_USER", 10)
    table = JobService()
    for user in ("uid-1", "uid-2", "uid-3"):
        table._take_window("n1", window("train", user), 1.0)
    for number in range(100):
        table._take_window("n2", window(f"flood{number}", "uid-9"), 10.0 + number)
    for number in range(15):
        table._take_window("n3", window("one", f"uid-{100 + number}"), 500.0 + number)
    kept = [owner for _, owner in table._jobs]
    assert {"uid-1", "uid-2", "uid-3"} <= set(kept)
    assert len(kept) == 20
    assert ("flood99", "uid-9") in table._jobs, "of its own jobs the newest are left"


def test_a_flood_of_ranks_is_bounded_by_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "MOST_RANKS_OF_USER", 30)
    table = JobService()
    for rank in range(100):
        table._take_window("n1", window("a", "uid-1", rank), 1.0)
        table._take_window("n1", window("b", "uid-1", rank), 1.0)
    assert table._ranks["uid-1"] == 30
    table._take_window("n2", window("a", "uid-2", 99), 1.0)
    assert table._ranks["uid-2"] == 1


def test_a_stolen_node_cannot_invent_users_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "MOST_RANKS_OF_NODE", 8)
    monkeypatch.setattr(jobs_module, "MOST_JOBS_OF_NODE", 4)
    table = JobService()
    taken = [table._take_window("stolen", window(f"job{number}", f"uid-{number}"), 10.0) for number in range(50)]
    assert taken[3] is not None
    assert taken[4:] == [None] * 46
    ranks = [table._take_window("stolen", window("job0", "uid-0", rank), 11.0) for rank in range(50)]
    assert [one is not None for one in ranks] == [True] * 5 + [False] * 45, "four jobs had a rank each already"
    assert sum(table._ranks.values()) == 8
    assert table._take_window("honest", window("train", "uid-1"), 12.0), "another node has its own bounds"
    later = 12.0 + jobs_module.HOUR
    assert table._take_window("stolen", window("next", "uid-77"), later), "and an hour later the node reports others"


def test_users_that_a_stolen_node_invented_cost_no_running_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "MOST_JOBS", 6)
    table = JobService()
    for number in range(5):
        table._take_window("stolen", window("x", f"uid-9{number}"), 10.0 + number)
    table._take_window("n1", window("train", "uid-1"), 20.0)
    for number in range(3):
        table._take_window("n1", window("train", "uid-1"), 30.0 + number)
        table._take_window("stolen", window("y", f"uid-8{number}"), 30.5 + number)
        assert ("train", "uid-1") in table._jobs, "the one that is silent longest goes, whoever sorts first"


def test_a_node_ahead_of_the_clock_does_not_take_a_name() -> None:
    ranks = SeamRanks()
    list(ranks.ingest("n1", [window("llama", "uid-1", 3)], 100.0))
    before = ranks.edges()
    ahead = window("llama", "uid-2", 3, at=100.0 + 10 * HELD_SECONDS)
    assert list(ranks.ingest("stolen", [ahead], 101.0)) == []
    assert ranks.edges() == before


def test_one_node_has_no_more_ranks_in_the_seams_than_it_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.fleet.incidents.ranks.MOST_RANKS_OF_NODE", 5)
    ranks = SeamRanks()
    for number in range(20):
        list(ranks.ingest("stolen", [window("flood", f"uid-{number}", rank) for rank in range(20)], 200.0))
    list(ranks.ingest("n2", [window("victim", "uid-1", rank) for rank in range(3)], 200.0))
    assert len([edge for edge in ranks.edges() if "/rank/" in str(edge)]) == 8
    list(ranks.ingest("stolen", [window("flood", "uid-0", 0, ended="closed"), window("flood", "uid-0", 9)], 200.0))
    assert len([edge for edge in ranks.edges() if "/rank/" in str(edge)]) == 8, "one that ended makes room for another"


def events(number: int, kind: str = "xid", about: str = "node/stolen/gpu/0", at: float = 990.0) -> tuple[Event, ...]:
    return tuple(Event(kind=kind, at=at, text=str(one), subject=about) for one in range(number))


def test_one_nodes_events_push_out_no_others() -> None:
    """The attack: 20,000 events of one node, after which the honest change of a route was gone."""
    held = SeamWindow(lambda: 1_000.0)
    held.put(900.0, "node/a/gpu/0", "gpu_temperature_celsius", 40.0, 60.0)
    held.add_events(events(1, "route_change", "switch/s1"), "user/site")
    held.take_report(
        Report(node="honest", session="s", seq=1, at=1_000.0, events=events(3, about="node/honest")), 999.0
    )
    for seq in range(1, 40):
        held.take_report(Report(node="stolen", session="s", seq=seq, at=1_000.0, events=events(1_000)), 999.0)
    found = held.panel()
    assert len(found.events_of("route_change")) == 1
    assert len([one for one in found.events if one.subject == "node/honest"]) == 3
    assert len([one for one in found.events if one.subject.startswith("node/stolen")]) == MOST_OF_NODE


def test_many_that_flood_take_their_share_and_no_more() -> None:
    window = SeamEvents()
    window.add("honest", events(10, "honest"))
    for number in range(50):
        window.add(f"node/{number}", events(1_000), MOST_OF_NODE)
        assert len(window) <= MOST_EVENTS + SLACK
    window._trim()
    assert len(window) <= MOST_EVENTS
    kept = window.between(0.0, 2_000.0)
    assert len([one for one in kept if one.kind == "honest"]) == 10
    assert len(kept) == len(window) > MOST_EVENTS - 60, "and the window is used"
    newest = {one.text for one in kept if one.kind == "xid"}
    assert "999" in newest and "0" not in newest


def test_events_leave_the_window_with_time() -> None:
    now = [1_000.0]
    held = SeamWindow(lambda: now[0], minutes=10.0)
    held.put(900.0, "node/a/gpu/0", "gpu_temperature_celsius", 40.0, 60.0)
    held.add_events([*events(1, at=995.0), *events(2, at=980.0)], "node/a")
    assert [one.at for one in held.panel().events] == [980.0, 980.0, 995.0]
    now[0] = 1_585.0
    assert [one.at for one in held.panel().events] == [995.0], "the oldest column begins at 990"
    now[0] = 5_000.0
    held.panel()
    assert len(held._events) == 0
