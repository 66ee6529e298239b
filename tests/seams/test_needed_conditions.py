"""Conditions each of which is needed: what is left out, what is told first, and what nobody measures."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast import seams
from holdfast.model.finding import Finding, Symptom
from holdfast.model.panel import Panel, SignalTable
from holdfast.model.topology import Edge, Topology
from holdfast.seams import evidence, weigh
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLING
from holdfast.seams.fabric_links import Links
from holdfast.seams.instruments import _changes_near, _Rest, _would_have_left, bad_readings
from holdfast.seams.intermittent import Folded
from holdfast.seams.moved import median
from holdfast.seams.root import Hypothesis, _weigh
from holdfast.seams.rules.cooling_flow import SEAM as FLOW
from holdfast.seams.rules.cooling_rack import SEAM as RACK
from holdfast.seams.rules.cooling_unmetered import SEAM as UNMETERED
from holdfast.seams.rules.device_slow import SEAM as DEVICE
from holdfast.seams.rules.device_slow import _at_times
from holdfast.seams.rules.fabric_load import SEAM as LOAD
from holdfast.seams.rules.pools_path import SEAM as POOLS
from holdfast.seams.rules.pools_path import _asked
from holdfast.seams.rules.power_limit import SEAM as LIMIT
from holdfast.seams.rules.sensor_broken import SEAM as BROKEN
from holdfast.seams.rules.storage_writer import node_of_rank
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam
from holdfast.seams.slowdown import _matters
from tests.seams.making import START, change, gpus, happens, measured, nodes, of, without

CONGESTION, USE, REASONS = "link_congestion_ratio", "link_utilization_ratio", "gpu_clock_event_reasons"
COMPUTE, SHARE, TRANSFER, PATH = (
    "rank_compute_seconds", "pool_routing_share", "pool_transfer_seconds", "path/prefill-decode",
)  # fmt: skip
ONE, TWO = "link/leaf1-spine1", "link/leaf1-spine2"
NAN = float("nan")
HEAT = "gpu_temperature_celsius"


def test_the_surest_is_reported_first(quiet: Any) -> None:
    of(change("psu_healthy", "psu/r4-a", times=0.0), change("job_step_seconds", times=1.2, at=100))(quiet)
    without("job_throughput_ratio")(quiet)
    found = quiet.explain()
    assert len(found) > 1
    assert [one.raw for one in found] == sorted((one.raw for one in found), reverse=True)


def test_a_cause_without_a_sign_is_not_late(quiet: Any) -> None:
    late = [Symptom("node/n1/gpu/0", "gpu_temperature_celsius", 2300.0, 60.0, 80.0)]
    without_sign = CauseCandidate(
        cause="rack/r1", kind="cooling.rack_blocked", signs=[], reach=frozenset(), explains=frozenset(), began=0.0
    )
    assert not evidence._late(without_sign, late)
    flow = Symptom("rack/r1", "rack_flow_litres_per_minute", 0.0, 100.0, 50.0)
    with_sign = CauseCandidate(
        cause="rack/r1", kind="cooling.rack_blocked", signs=[flow], reach=frozenset(), explains=frozenset()
    )
    assert evidence._late(with_sign, late)


@pytest.mark.parametrize(("mask", "value", "told"), [(1, 1.0, True), (1, 2.0, False), (4, 5.0, True)])
def test_every_reason_has_its_bit(quiet: Any, mask: int, value: float, told: bool) -> None:
    quiet.tables[REASONS].values[0, -6:] = value
    assert bool(quiet.scene.reasons(mask)) is told


def test_a_reason_that_ended_this_moment_began_no_later(quiet: Any) -> None:
    quiet.tables[REASONS].values[0, -6:-1] = 4.0
    assert quiet.scene.reasons(4)["node/n1/gpu/0"].since == quiet.times[-1]


@pytest.mark.parametrize(("calm", "told"), [(15, True), (16, False)])
def test_a_reason_of_a_fifth_of_the_calm_beginning_is_no_news(quiet: Any, calm: int, told: bool) -> None:
    quiet.tables[REASONS].values[0, :calm] = 4.0
    quiet.tables[REASONS].values[0, -6:] = 4.0
    assert bool(quiet.scene.reasons(4)) is told


@pytest.mark.parametrize(("row", "told"), [(0, True), (-1, False)])
def test_a_reason_is_compared_with_its_own_row_of_the_past(quiet: Any, row: int, told: bool) -> None:
    quiet.tables[REASONS].values[0, :] = 4.0
    past = SignalTable(quiet.tables[REASONS].subjects[::-1], np.zeros((24, 100), np.float32))
    past.values[row, :40] = 4.0
    assert bool(Scene(quiet.panel, quiet.topology, Panel(quiet.times[:100], {REASONS: past})).reasons(4)) is told


@pytest.mark.parametrize("row", [[1.0, 2.0, NAN], [1.0, NAN, 2.0]])
def test_the_middle_of_a_row_with_a_gap_beside_rows_without(row: list[float]) -> None:
    assert median(np.array([[3.0, 4.0, 5.0], row], np.float32)).tolist() == [4.0, 1.5]


def test_what_is_no_link_is_not_crowded(quiet: Any) -> None:
    of(measured(CONGESTION, {"port/x": 0.03, ONE: 0.03}), change(CONGESTION, by=0.1))(quiet)
    assert {cause for cause, _ in quiet.candidates(LOAD)} == {ONE}


@pytest.mark.parametrize(("earlier", "doubted"), [(224, False), (226, True)])
def test_a_crowd_is_as_old_as_its_first_link(quiet: Any, earlier: int, doubted: bool) -> None:
    """Routes changed as it began: for two and a half minutes no one knows whether traffic moved."""
    links = [f"link/x{n}" for n in range(2)]
    quiet.link(*(Edge("connects", link, "switch/x") for link in links))
    quiet.add(CONGESTION, dict.fromkeys(links, 0.03))
    quiet.change(CONGESTION, links[0], by=0.1, at=earlier)
    quiet.change(CONGESTION, links[1], by=0.1, at=230)
    happens("route_change", "switch/x", 2260.0)(quiet)
    found = quiet.candidates(LOAD)
    assert ("switch/x", "fabric.congestion") in found
    assert any("routes have just changed" in words for words in found[links[0], "fabric.congestion"].doubts) is doubted


def test_traffic_that_nobody_measures_did_not_move(quiet: Any) -> None:
    """Its jobs are slower, and that is no proof that a link carries more."""
    links = [f"link/x{n}" for n in range(4)]
    quiet.link(*(Edge("connects", link, "switch/x") for link in links))
    quiet.link(Edge("connects", "switch/x", "node/n1"))
    of(measured(CONGESTION, dict.fromkeys(links, 0.03)), measured(USE, dict.fromkeys(links, 0.5)))(quiet)
    of(change(CONGESTION, links[0], by=0.1), change(USE, *links[1:], times=0.5), change(USE, links[0], times=NAN))(
        quiet
    )
    quiet.slow_job(at=150)
    assert ("switch/x", "fabric.routing") not in quiet.candidates(LOAD)


def test_a_share_that_was_not_read_for_a_moment_is_what_was_read_last(quiet: Any) -> None:
    change(TRANSFER, PATH, times=1.3)(quiet)
    quiet.tables[SHARE].values[0, -6:-2] = NAN
    quiet.tables[SHARE].values[0, -2:] = 0.56
    doubts = quiet.candidates(POOLS)[PATH, "pools.path"].doubts
    assert any("larger share" in words for words in doubts)


@pytest.mark.parametrize(("usual", "asked"), [(0.5, 3.0), (200.0, 3.0), (0.0, NAN)])
def test_how_many_times_as_many_requests(quiet: Any, usual: float, asked: float) -> None:
    of(measured("request_rate_per_second", {PATH: usual}), change("request_rate_per_second", times=3.0))(quiet)
    assert _asked(quiet.scene, PATH) == pytest.approx(asked, nan_ok=True)


@pytest.mark.parametrize(("share", "far"), [(1.49, False), (1.51, True)])
def test_a_path_takes_far_longer_than_its_share_explains(quiet: Any, share: float, far: bool) -> None:
    """Its share grew by a tenth: 1.1 to the power of 2.5, one and a half times."""
    quiet.tables[SHARE].values[:] = 0.5
    quiet.tables[TRANSFER].values[:] = 0.02
    of(change(SHARE, PATH, by=0.05), change(TRANSFER, PATH, times=share * 1.1**2.5))(quiet)
    doubts = quiet.candidates(POOLS)[PATH, "pools.imbalance"].doubts
    assert any("far longer" in words for words in doubts) is far


def test_one_instrument_that_is_lost_is_a_matter_of_upkeep(quiet: Any) -> None:
    quiet.tables["cdu_flow_litres_per_minute"].values[0, 150:] = NAN
    found = quiet.candidates(BROKEN)["cdu/c1", "sensor.lost"]
    assert (found.most, found.reasons[0].partition(" says ")[2]) == (0.8, "nothing any more")


def test_an_absurd_reading_is_said_as_it_is_now(quiet: Any) -> None:
    flow = quiet.tables["cdu_flow_litres_per_minute"].values
    flow[0, -4:] = (-7.0, -8.0, -9.0, 200.0)
    (bad,) = (bad for bad in bad_readings(quiet.tables, quiet.times) if bad.kind == "absurd")
    assert (bad.says, bad.since) == ("-9, which it cannot mean", quiet.times[-4])


@pytest.mark.parametrize(("reading", "near"), [(105.9, 1), (106.1, 0)])
def test_near_is_three_of_its_usual_changes(reading: float, near: int) -> None:
    rest = _Rest(still=0, longest=0, changes=0, resolution=1.0, usual_change=2.0)
    assert _changes_near(np.array([100.0, reading]), 100.0, rest) == near


@pytest.mark.parametrize(("instruments", "left"), [(3, True), (2, False)])
def test_three_instruments_are_no_longer_alone(instruments: int, left: bool) -> None:
    """Three crossings are enough beside two that are as lively as ever; alone it takes five."""
    lively = np.resize([1.0, 2.0], 400).astype(np.float32)
    table = SignalTable(tuple("abc"[:instruments]), np.array([lively] * instruments))
    before = np.array([1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, *[0.0] * 27])
    assert _would_have_left(table, before, 0.0, 200, 1) is left


def test_a_pause_of_one_reading_of_ten_is_now_and_then() -> None:
    """Read once a minute, ten minutes are ten readings, and a tenth of them is one."""
    values = np.full((3, 60), 4.0, np.float32)
    values[:, 55] = 6.0
    ranks = tuple(f"job/a/rank/{n}" for n in range(3))
    scene = Scene(Panel(np.arange(60) * 60.0, {COMPUTE: SignalTable(ranks, values)}), Topology())
    assert _at_times(scene, Symptom(ranks[0], COMPUTE, 0.0, 4.0, 5.0), [0, 1, 2]) == pytest.approx(2.0)


def test_a_rack_whose_load_fell_as_much_is_doubted_by_five(quiet: Any) -> None:
    of(change("rack_flow_litres_per_minute", "rack/r2", times=0.5), gpus("gpu_power_watts", nodes(4, 6), times=0.5))(
        quiet
    )
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"]
    assert (found.score, found.most) == (START + 2.5 + 1 - 5, 0.0)


def test_a_slow_job_that_a_returning_fault_explains_is_not_named_beside_it(quiet: Any) -> None:
    for begin in (120, 150, 180, 210):
        quiet.tables["link_bandwidth_bytes_per_second"].values[0, begin : begin + 6] *= 0.3
        quiet.tables["job_collective_seconds"].values[:, begin : begin + 6] *= 2.0
        quiet.tables["job_step_seconds"].values[:, begin : begin + 6] *= 2.5
    of(without("job_throughput_ratio"), change("psu_healthy", "psu/r4-a", times=0.0))(quiet)
    found = quiet.explain()
    assert [one.raw for one in found] == sorted((one.raw for one in found), reverse=True)
    named = [(one.cause, one.kind) for one in found]
    assert {(ONE, "fabric.uplink"), ("psu/r4-a", "power.psu")} <= set(named)
    assert not any(kind == seams.SLOWDOWN for _, kind in named)


@pytest.mark.parametrize("value", [2.0, 16.0, 8.0])
def test_other_reasons_neither_cap_nor_brake(quiet: Any, value: float) -> None:
    gpus(REASONS, nodes(1, 3), by=value)(quiet)
    assert quiet.candidates(LIMIT) == {}


def test_a_feed_of_one_rack_is_that_rack(quiet: Any) -> None:
    quiet.topology = Topology(
        (Edge("powers", "feed/x", "rack/x"), *(Edge("powers", "rack/x", f"node/x{n}") for n in range(2)))
    )
    quiet.tables = {}
    of(measured(REASONS, {f"node/x{n}/gpu/0": 0.0 for n in range(2)}), change(REASONS, by=4.0))(quiet)
    assert list(quiet.candidates(LIMIT)) == [("rack/x", "power.cap")]


def test_a_leaf_connects_nodes(quiet: Any) -> None:
    quiet.link(Edge("connects", "switch/a", "node/x"), Edge("feeds", "switch/b", "node/x"))
    links = Links(quiet.scene)
    assert (links.below("switch/a"), links.below("switch/b"), links.below("switch/spine1")) == (True, False, False)


def test_data_that_comes_late_for_a_node_is_no_slow_node(quiet: Any) -> None:
    ranks = [f"job/llama/rank/{n}" for n in range(24)]
    of(measured("rank_data_seconds", dict.fromkeys(ranks, 0.5)), change("rank_data_seconds", *ranks[4:6], by=0.5))(
        quiet
    )
    assert {kind for _, kind in quiet.candidates(DEVICE)} == {"job.rank_slow"}


@pytest.mark.parametrize(("slow", "named"), [(2, 2), (3, 2)])
def test_a_tenth_of_the_ranks_is_named_also_where_a_gpu_of_theirs_is_hot(quiet: Any, slow: int, named: int) -> None:
    """Of more, the one whose GPU is hot has its reason."""
    ranks = [f"job/b/rank/{n}" for n in range(20)]
    of(measured(COMPUTE, dict.fromkeys(ranks, 4.0)), measured("job_step_seconds", {"job/b": 5.0}))(quiet)
    of(measured(HEAT, {f"node/y{n}/gpu/0": 62.0 for n in range(20)}), change(HEAT, "node/y0/gpu/0", by=15.0))(quiet)
    quiet.link(*(Edge("runs_on", f"node/y{n}/gpu/0", rank) for n, rank in enumerate(ranks)))
    without("gpu_power_watts")(quiet)
    measured("gpu_utilization_ratio", {f"node/y{n}/gpu/0": 0.95 for n in range(20)})(quiet)
    quiet.change(COMPUTE, *ranks[:slow], times=1.2)
    assert len(quiet.candidates(DEVICE)) == named


def test_a_rank_runs_on_what_it_runs_on(quiet: Any) -> None:
    quiet.topology = Topology(
        (Edge("feeds", "storage/s", "job/b/rank/0"), Edge("runs_on", "node/y/gpu/0", "job/b/rank/0"))
    )
    assert [node_of_rank(quiet.scene, rank) for rank in ("job/b/rank/0", "job/b/rank/1")] == ["node/y", "job/b/rank/1"]


@pytest.mark.parametrize("signal", ["gpu_clock_sm_hertz", CONGESTION, "job_collective_seconds"])
def test_what_pauses_is_as_it_was_before_the_pause(quiet: Any, signal: str) -> None:
    table = quiet.tables[signal]
    quiet.change(signal, table.subjects[0], times=0.7 if signal == "gpu_clock_sm_hertz" else 9.0)
    table.values[0, -20:] = NAN
    assert set(quiet.scene.moved(signal)) == {table.subjects[0]}


def test_what_a_link_reaches_and_what_a_unit_cools(quiet: Any) -> None:
    quiet.link(Edge("connects", ONE, PATH))
    assert "pool/prefill" not in quiet.scene.reach(ONE, ("connects", "feeds"))
    assert PATH in quiet.scene.reach("pool/prefill", ("feeds",))
    assert quiet.scene.nodes_under("cdu/c1", ("cools",)) == frozenset(nodes(1, 6))
    assert quiet.scene.nodes_under("node/n1", ("cools",)) == {"node/n1"}


def test_a_supply_that_nobody_reads_leaves_the_others(quiet: Any) -> None:
    quiet.tables["cdu_supply_celsius"].values[0] = NAN
    quiet.tables["cdu_supply_celsius"].values[1] = 30.0
    assert quiet.scene.coolant == 30.0


@pytest.mark.parametrize(("moved", "confirmed"), [(3, True), (2, False)])
def test_three_of_five_are_most(moved: int, confirmed: bool) -> None:
    one = CauseCandidate(cause="cdu/c1", kind="k", signs=[], reach=frozenset(), explains=frozenset(), began=0.0)
    signs = {name: Symptom(name, "s", 0.0, 1.0, 2.0) for name in "abcde"[:moved]}
    assert weigh.companions(one, "flows", signs, "abcde") is confirmed


def test_of_nodes_none_of_which_is_hotter_nothing_is_said(quiet: Any) -> None:
    change("cdu_flow_litres_per_minute", "cdu/c1", times=0.5)(quiet)
    found = quiet.candidates(FLOW)["cdu/c1", "cooling.flow_low"]
    assert not any("hotter" in words for words in found.reasons)


@pytest.mark.parametrize(("works", "hot"), [(0.3, False), (0.5, True)])
def test_the_heat_of_a_gpu_that_rests_says_nothing(quiet: Any, works: float, hot: bool) -> None:
    of(gpus("gpu_utilization_ratio", nodes(1, 1), times=works), gpus(HEAT, nodes(1, 1), by=15.0))(quiet)
    assert ("node/n1" in quiet.scene.hot) is hot


@pytest.mark.parametrize(("at", "most"), [(136, 1.2), (139, 4.0)])
def test_what_moved_two_minutes_before_moved_with_it(quiet: Any, at: int, most: float) -> None:
    change("rack_flow_litres_per_minute", "rack/r1", times=0.5, at=at)(quiet)
    flow = Symptom("cdu/c1", "cdu_flow_litres_per_minute", 1500.0, 200.0, 90.0)
    one = CauseCandidate(
        cause="cdu/c1", kind="cooling.rack_blocked", signs=[flow], reach=frozenset({"rack/r1"}), explains=COOLING
    )
    assert evidence.most(quiet.scene, one, []) == most


def test_what_has_no_meter_of_its_own_is_not_named_for_missing_one(quiet: Any) -> None:
    racks = ("rack/r1", "rack/r2")
    kept = tuple(edge for edge in quiet.topology.edges if edge.target not in racks)
    quiet.topology = Topology((*kept, *(Edge("cools", "plant/p", rack) for rack in racks)))
    quiet.hot(*nodes(1, 6))
    assert quiet.candidates(UNMETERED) == {}


@pytest.mark.parametrize(("before", "late"), [(2, False), (3, True)])
def test_a_few_of_many_symptoms_may_seem_to_move_before_their_cause(quiet: Any, before: int, late: bool) -> None:
    """Of ten GPUs two are a fifth; the third tells when it began."""
    heats = [Symptom(f"node/n1/gpu/{n}", HEAT, 1000.0 if n < before else 1500.0, 60.0, 80.0) for n in range(10)]
    one = CauseCandidate(
        cause="cdu/c1", kind="k", signs=[Symptom("cdu/c1", "s", 1500.0, 1.0, 2.0)], reach=frozenset({"node/n1"}),
        explains=frozenset({"heat"}),
    )  # fmt: skip
    hypothesis = Hypothesis(one, list(range(10)))
    _weigh(quiet.scene, hypothesis, heats, set(), {HEAT: 10})
    assert bool(hypothesis.doubts) is late


@pytest.mark.parametrize(
    ("before", "made", "matters"), [(1.0, 0.0, True), (1.0, 1.0, False), (0.0, 1.0, True), (0.0, 0.0, True)]
)
def test_a_job_is_not_slow_that_makes_as_much_as_it_did(quiet: Any, before: float, made: float, matters: bool) -> None:
    """Where it made nothing before, nothing is as much."""
    row = quiet.tables["job_throughput_ratio"].values[0]
    row[:150], row[150:] = before, made
    assert _matters(quiet.scene, Symptom("job/llama", "job_step_seconds", 1000.0, 5.0, 7.0)) is matters


def test_a_slowdown_of_a_victim_of_what_comes_and_goes_is_no_finding_of_its_own(
    quiet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Symptom("job/llama", "job_step_seconds", 60.0, 1.0, 2.0)
    now = Finding(cause="job/llama", kind=seams.SLOWDOWN, confidence=0.7, raw=0.7, since=60.0)
    other = replace(now, cause="job/other")
    returning = Finding(cause="cdu/c1", kind="cooling.flow_low", confidence=0.9, raw=0.9, since=0.0, symptoms=(slow,))
    looks = iter([(now, other), (returning,)])
    monkeypatch.setattr(seams, "_of", lambda *_: next(looks))
    monkeypatch.setattr(seams, "folded", lambda panel: Folded(panel, 0.0, 3, 60.0))
    monkeypatch.setattr(seams, "as_intermittent", lambda one, *_: one)
    assert seams.explain(quiet.panel, quiet.topology) == (returning, other)


def test_seams_that_find_faulty_sensors_are_asked_before_the_others(quiet: Any) -> None:
    asked: list[str] = []

    def seam(name: str, first: bool) -> Seam:
        def explain(scene: Scene) -> Iterator[CauseCandidate]:
            asked.append(name)
            return iter(())

        return Seam(name=name, asks="", kinds=(), reads=(), domains=(), explain=explain, asked_first=first)

    seams.explain(quiet.panel, quiet.topology, [seam("a", False), seam("b", True), seam("c", False), seam("d", True)])
    assert asked == ["b", "d", "a", "c"]
