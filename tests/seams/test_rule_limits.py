"""Limits of the rules about devices, paths, links, power, schedules and slow jobs that speak of several or of what is missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Finding, Symptom
from holdfast.model.panel import Panel, SignalTable
from holdfast.model.topology import Edge, Topology
from holdfast.seams import weigh
from holdfast.seams.candidate import CauseCandidate, sure
from holdfast.seams.moved import moves
from holdfast.seams.persistence import FindingMemory
from holdfast.seams.rules.cooling_rack import SEAM as RACK
from holdfast.seams.rules.device_slow import SEAM as DEVICE
from holdfast.seams.rules.device_slow import _at_times
from holdfast.seams.rules.fabric_load import SEAM as LOAD
from holdfast.seams.rules.pools_path import SEAM as POOLS
from holdfast.seams.rules.power_limit import SEAM as LIMIT
from holdfast.seams.rules.schedule_cadence import SEAM as CADENCE
from holdfast.seams.rules.schedule_degraded import SEAM as DEGRADED
from holdfast.seams.rules.sensor_broken import SEAM as BROKEN
from holdfast.seams.scene import Scene
from holdfast.seams.slowdown import _at_times as slow_at_times
from holdfast.seams.slowdown import _matters, _steady
from holdfast.seams.stopped import stopped
from tests.seams.making import START, Make, change, gpus, happens, hot, linked, measured, nodes, of, without

HEAT, WATTS, USE, CLOCK = (
    "gpu_temperature_celsius", "gpu_power_watts", "gpu_utilization_ratio", "gpu_clock_sm_hertz",
)  # fmt: skip
COMPUTE, STEP, MADE, REASONS = (
    "rank_compute_seconds", "job_step_seconds", "job_throughput_ratio", "gpu_clock_event_reasons",
)  # fmt: skip
CONGESTION, LINK_USE = "link_congestion_ratio", "link_utilization_ratio"
TRANSFER, SHARE, PATH = "pool_transfer_seconds", "pool_routing_share", "path/prefill-decode"
JOB, GPU, NAN = "job/llama", "node/n3/gpu/1", float("nan")
THERMAL = 64.0


def _one(began: float = 1500.0) -> CauseCandidate:
    return CauseCandidate(
        cause="cdu/c1", kind="k", signs=[], reach=frozenset(), explains=frozenset(), began=began, score=0.0
    )


@pytest.mark.parametrize(
    ("moved", "confirmed", "score"),
    [(("a", "b", "c", "d"), True, 2.0), (("a", "b", "c"), True, 2.0), (("a", "b"), False, -2.5), ((), False, -2.5), (None, False, 0.0)],
)  # fmt: skip
def test_most_of_those_that_must_move_with_it(moved: tuple[str, ...] | None, confirmed: bool, score: float) -> None:
    one = _one()
    signs = {name: Symptom(name, "s", 0.0, 1.0, 2.0) for name in moved or ()}
    assert weigh.companions(one, "flows", signs, () if moved is None else "abcd") is confirmed
    assert one.score == score
    assert one.unknown == (["flows: not measured"] if moved is None else [])
    said = [*one.reasons, *one.doubts]
    count = f"in {len(signs)} of 4" if confirmed else f"in only {len(signs)} of 4" if signs else "unmoved in all 4"
    assert moved is None or any(count in words for words in said)


@pytest.mark.parametrize(
    ("why", "make", "rise"),
    [
        ("the middle of them", of(gpus(HEAT, nodes(1, 1), by=1.0), gpus(HEAT, nodes(2, 2), by=3.0), gpus(HEAT, nodes(3, 3), by=9.0)), 3.0),
        ("who rests does not count", of(gpus(HEAT, nodes(1, 1), by=1.0), gpus(HEAT, nodes(2, 2), by=3.0), gpus(USE, nodes(2, 3), times=0.1)), 1.0),
        ("a tenth more power explains 4.5 degrees", of(gpus(HEAT, nodes(1, 3), by=6.0), gpus(WATTS, nodes(1, 3), times=1.1)), 1.5),
        ("less power explains that it would be cooler", of(gpus(HEAT, nodes(1, 3), by=6.0), gpus(WATTS, nodes(1, 3), times=0.9)), 9.0),
        ("nobody reads its power", of(gpus(HEAT, nodes(1, 3), by=6.0), without(WATTS)), 6.0),
        ("nobody reads its power now", of(gpus(HEAT, nodes(1, 3), by=6.0), change(WATTS, times=NAN)), 6.0),
        ("nobody reads its heat", without(HEAT), None),
        ("others are hot", gpus(HEAT, nodes(4, 6), by=6.0), 0.0),
    ],
)  # fmt: skip
def test_the_rise_that_power_does_not_explain(quiet: Any, why: str, make: Make, rise: float | None) -> None:
    make(quiet)
    found = weigh.unexplained_rise(quiet.scene, set(nodes(1, 3)))
    assert found == (None if rise is None else pytest.approx(rise, abs=0.01)), why


@pytest.mark.parametrize(
    ("why", "count", "make", "suffers"),
    [
        ("two of ten slow down", 10, gpus(CLOCK, nodes(1, 2), times=0.8), True),
        ("one of ten", 10, gpus(CLOCK, nodes(1, 1), times=0.8), False),
        ("two of eleven are less than a fifth", 11, gpus(CLOCK, nodes(1, 2), times=0.8), False),
        ("three of eleven", 11, gpus(CLOCK, nodes(1, 3), times=0.8), True),
        ("one of one", 1, gpus(CLOCK, nodes(1, 1), times=0.8), True),
        ("one of two may be slow by itself", 2, gpus(CLOCK, nodes(1, 1), times=0.8), False),
        ("they say that heat holds them back", 10, gpus(REASONS, nodes(1, 2), by=THERMAL), True),
        ("the older word for it", 10, gpus(REASONS, nodes(1, 2), by=32.0), True),
        ("power holds them back", 10, gpus(REASONS, nodes(1, 2), by=4.0), False),
        ("who rests does not suffer", 10, of(gpus(CLOCK, nodes(1, 2), times=0.8), gpus(USE, nodes(1, 2), times=0.1)), False),
        ("their job is slow, but clocks tell", 10, change(STEP, times=1.5), False),
        ("no clock is read, and their job is slow", 10, of(without(CLOCK), change(STEP, times=1.5)), True),
        ("no clock is read, and no job is slow", 10, without(CLOCK), False),
    ],
)  # fmt: skip
def test_several_nodes_that_are_slowed(quiet: Any, why: str, count: int, make: Make, suffers: bool) -> None:
    make(quiet)
    assert weigh.suffers(quiet.scene, nodes(1, count)) is suffers, why


def test_a_slow_job_of_other_nodes_is_no_harm(quiet: Any) -> None:
    of(without(CLOCK), change(STEP, times=1.5))(quiet)
    assert weigh.suffers(quiet.scene, nodes(12, 12))
    assert not weigh.suffers(quiet.scene, nodes(98, 99))


@pytest.mark.parametrize(
    ("why", "make", "lost", "follows"),
    [
        ("half as much less power", gpus(WATTS, nodes(1, 4), times=0.79), 0.4, True),
        ("less than half", gpus(WATTS, nodes(1, 4), times=0.81), 0.4, False),
        ("one suffers beside three at rest", of(gpus(USE, nodes(1, 3), times=0.1), gpus(WATTS, nodes(1, 4), times=0.5), hot(nodes(4, 4))), 0.4, True),
        ("one beside two", of(gpus(USE, nodes(1, 2), times=0.1), gpus(WATTS, nodes(1, 4), times=0.5), hot(nodes(4, 4))), 0.4, False),
        ("hot and slowed is suffering", of(gpus(WATTS, nodes(1, 3), times=0.5), gpus(CLOCK, nodes(4, 4), times=0.8), hot(nodes(4, 4))), 0.4, False),
        ("hot alone is not", of(gpus(WATTS, nodes(1, 3), times=0.5), hot(nodes(4, 4))), 0.4, True),
    ],
)  # fmt: skip
def test_whether_flow_follows_the_load(quiet: Any, why: str, make: Make, lost: float, follows: bool) -> None:
    make(quiet)
    assert weigh.follows_load(quiet.scene, nodes(1, 4), lost) is follows, why


@pytest.mark.parametrize(
    ("why", "make", "fell"),
    [
        ("their power", gpus(WATTS, nodes(1, 4), times=0.6), 0.4),
        ("what fell a quarter of an hour ago and is back", of(gpus(WATTS, nodes(1, 4), times=0.6, at=150), gpus(WATTS, nodes(1, 4), times=1 / 0.6, at=230)), 0.4),
        ("what fell a quarter of an hour ago and was low for most of it", of(gpus(WATTS, nodes(1, 4), times=0.6, at=150), gpus(WATTS, nodes(1, 4), times=1 / 0.6, at=200)), 0.4),
        ("what fell just now", gpus(WATTS, nodes(1, 4), times=0.6, at=232), 0.4),
        ("nobody reads power: their work", of(without(WATTS), gpus(USE, nodes(1, 4), times=0.6)), 0.4),
        ("power goes before work", gpus(USE, nodes(1, 4), times=0.6), 0.0),
        ("neither is read, and their job stopped", of(without(WATTS), without(USE), change(STEP, times=NAN)), 1.0),
        ("neither is read, and the job of two of them stopped", of(without(WATTS), without(USE), measured(STEP, {"job/b": 5.0}), linked(Edge("runs_on", "node/n1", "job/b"), Edge("runs_on", "node/n2", "job/b")), change(STEP, times=NAN)), 0.5),
        ("neither is read, and of its beginning a reading is missing", of(without(WATTS), without(USE), change(STEP, times=NAN), lambda world: world.tables[STEP].values.__setitem__((0, 0), NAN)), 1.0),
        ("neither is read, and a job that came later stopped", of(without(WATTS), without(USE), change(STEP, times=NAN), lambda world: world.tables[STEP].values.__setitem__((0, slice(0, 100)), NAN), lambda world: world.tables[STEP].values.__setitem__((0, slice(100, 140)), 5.0)), 0.0),
        ("neither is read, and a job that never ran does not run", of(without(WATTS), without(USE), change(STEP, times=NAN, at=0)), 0.0),
        ("neither is read, and nothing stopped", of(without(WATTS), without(USE)), 0.0),
    ],
)  # fmt: skip
def test_by_what_share_the_load_fell(quiet: Any, why: str, make: Make, fell: float) -> None:
    make(quiet)
    assert weigh.load_fell(quiet.scene, nodes(1, 4)) == pytest.approx(fell, abs=1e-3), why
    assert weigh.load_fell(quiet.scene, ()) == 0.0


def test_a_fall_is_a_share_of_what_was() -> None:
    assert weigh.fall(Symptom("x", "s", 0.0, 200.0, 150.0)) == 0.25
    assert weigh.fall(Symptom("x", "s", 0.0, -200.0, -250.0)) == 0.25
    assert weigh.fall(Symptom("x", "s", 0.0, 0.0, 5.0)) == 0.0
    assert weigh.share(["a"], []) is None
    assert weigh.share(["a", "z"], ["a", "b"]) == 0.5


@pytest.mark.parametrize(
    ("score", "most", "share"), [(0.0, 4.0, 0.5), (9.0, 0.0, 0.5), (-99.0, 4.0, 2.06e-9), (99.0, 99.0, 1 - 0.0)]
)
def test_a_score_as_a_share_of_one(score: float, most: float, share: float) -> None:
    assert sure(score, most) == pytest.approx(share, rel=1e-3)


SLOW_GPU = change(CLOCK, GPU, times=0.9)


@pytest.mark.parametrize(
    ("why", "make", "limit"),
    [
        ("at seventy degrees, and none is hotter", change(HEAT, GPU, by=8.0), True),
        ("below seventy", change(HEAT, GPU, by=7.9), False),
        ("three degrees below the hottest", of(change(HEAT, GPU, by=15.0), change(HEAT, "node/n9/gpu/0", by=18.0)), True),
        ("more than three", of(change(HEAT, GPU, by=15.0), change(HEAT, "node/n9/gpu/0", by=18.1)), False),
        ("no other is read", of(measured(HEAT, {GPU: 62.0}), change(HEAT, GPU, by=20.0)), False),
        ("two are read", of(measured(HEAT, {GPU: 62.0, "node/n9/gpu/0": 62.0}), change(HEAT, GPU, by=20.0)), True),
        ("nobody reads its heat", of(change(HEAT, by=20.0), change(HEAT, GPU, times=NAN)), False),
    ],
)  # fmt: skip
def test_a_gpu_at_its_temperature_limit(quiet: Any, why: str, make: Make, limit: bool) -> None:
    of(SLOW_GPU, make)(quiet)
    found = quiet.candidates(DEVICE)[GPU, "gpu.slow"]
    assert (found.most == 0.0) is limit, why
    assert any("temperature limit" in words for words in found.doubts) is limit


def _job(world: Any, count: int) -> list[str]:
    """A job of so many ranks, each on a node of its own."""
    ranks = [f"job/b/rank/{number}" for number in range(count)]
    world.add(COMPUTE, dict.fromkeys(ranks, 4.0))
    world.add(STEP, {JOB: 5.0, "job/b": 5.0})
    world.link(*(Edge("runs_on", f"node/y{number}/gpu/0", rank) for number, rank in enumerate(ranks)))
    return ranks


@pytest.mark.parametrize(("count", "slow", "found"), [(30, 3, 3), (29, 3, 0), (10, 1, 1), (5, 1, 1), (5, 2, 0)])
def test_a_tenth_of_the_ranks_may_be_slow_by_themselves(quiet: Any, count: int, slow: int, found: int) -> None:
    ranks = _job(quiet, count)
    quiet.change(COMPUTE, *ranks[:slow], times=1.2)
    assert len(quiet.candidates(DEVICE)) == found


@pytest.mark.parametrize(("by", "found"), [(0.15, False), (0.155, True)])
def test_a_rank_that_is_slow_by_less_than_three_hundredths_of_a_step_holds_up_no_one(
    quiet: Any, by: float, found: bool
) -> None:
    """Of a step of 5.1 s: 0.153 s."""
    quiet.tables[STEP].values[:] = 5.1
    quiet.tables[COMPUTE].values[:] = 3.5
    quiet.change(COMPUTE, "job/llama/rank/5", by=by)
    assert bool(quiet.candidates(DEVICE)) is found


@pytest.mark.parametrize(("at", "most"), [(221, 4.0), (222, 0.0)])
def test_a_gpu_shows_within_three_minutes_whether_it_is_slow(quiet: Any, at: int, most: float) -> None:
    quiet.change(COMPUTE, "job/llama/rank/5", times=1.2, at=at)
    assert quiet.candidates(DEVICE)["job/llama/rank/5", "job.rank_slow"].most == most


@pytest.mark.parametrize(
    ("why", "pauses", "longer"),
    [("a tenth of ten minutes", 6, 2.0), ("less than a tenth", 5, 0.0), ("more", 12, 2.0)],
)
def test_how_much_longer_ranks_take_now_and_then(quiet: Any, why: str, pauses: int, longer: float) -> None:
    table = quiet.tables[COMPUTE]
    table.values[:, 180 : 180 + pauses] += 2.0
    table.values[:, 100:180] += 9.0  # longer ago than ten minutes
    sign = Symptom("job/llama/rank/5", COMPUTE, 1500.0, 4.0, 5.0)
    assert _at_times(quiet.scene, sign, list(range(24))) == pytest.approx(longer, abs=1e-3), why
    assert _at_times(quiet.scene, sign, [3]) == pytest.approx(longer, abs=1e-3)


def test_readings_that_are_missing_are_no_pause(quiet: Any) -> None:
    quiet.tables[COMPUTE].values[:, 180:190] = NAN
    sign = Symptom("job/llama/rank/5", COMPUTE, 1500.0, 4.0, 5.0)
    assert _at_times(quiet.scene, sign, list(range(24))) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(("late", "found"), [(0.45, True), (0.55, False)])
def test_a_rank_that_takes_as_long_as_the_others_do_now_and_then_is_as_they_are(
    quiet: Any, late: float, found: bool
) -> None:
    """It takes 0.8 s longer; the others do so by half of that for a tenth of the time."""
    quiet.tables[COMPUTE].values[:, 190:200] += late * 0.8
    quiet.change(COMPUTE, "job/llama/rank/5", by=0.8)
    assert bool(quiet.candidates(DEVICE)) is found


def test_a_spine_has_no_leaf_whose_routes_changed(quiet: Any) -> None:
    """Two of its links are crowded and the rest carry less: nodes are not below it."""
    links = [f"link/x{n}" for n in range(4)]
    quiet.link(*(Edge("connects", "switch/x", link) for link in links))
    quiet.add(CONGESTION, dict.fromkeys(links, 0.03))
    quiet.add(LINK_USE, dict.fromkeys(links, 0.5))
    of(change(CONGESTION, *links[:1], by=0.1), change(LINK_USE, *links[:1], by=0.1))(quiet)
    change(LINK_USE, *links[1:], times=0.8)(quiet)
    assert {kind for _, kind in quiet.candidates(LOAD)} == {"fabric.congestion"}


@pytest.mark.parametrize(("carried", "moved"), [(0.549, False), (0.5501, True)])
def test_a_crowded_link_got_a_tenth_more(quiet: Any, carried: float, moved: bool) -> None:
    _leaf(quiet, 4)
    quiet.tables[LINK_USE].values[0, 150:] = carried
    change(LINK_USE, "link/x1", "link/x2", "link/x3", times=0.8)(quiet)
    assert (("switch/x", "fabric.routing") in quiet.candidates(LOAD)) is moved


@pytest.mark.parametrize(("lighter", "moved"), [(3, True), (2, False)])
def test_three_of_five_sisters_carry_less(quiet: Any, lighter: int, moved: bool) -> None:
    _leaf(quiet, 6)
    change(LINK_USE, "link/x0", by=0.2)(quiet)
    change(LINK_USE, *(f"link/x{n}" for n in range(1, 1 + lighter)), times=0.8)(quiet)
    assert (("switch/x", "fabric.routing") in quiet.candidates(LOAD)) is moved


def _leaf(world: Any, count: int) -> None:
    """A leaf of so many links, of which the first is crowded."""
    links = [f"link/x{n}" for n in range(count)]
    world.link(*(Edge("connects", link, "switch/x") for link in links), Edge("connects", "switch/x", "node/n98"))
    world.add(CONGESTION, dict.fromkeys(links, 0.03))
    world.add(LINK_USE, dict.fromkeys(links, 0.5))
    change(CONGESTION, links[0], by=0.1)(world)


@pytest.mark.parametrize(("after", "near"), [(300.0, True), (301.0, False), (-300.0, True), (-301.0, False)])
def test_routes_that_changed_within_five_minutes(quiet: Any, after: float, near: bool) -> None:
    _leaf(quiet, 4)
    of(change(LINK_USE, "link/x0", by=0.2), change(LINK_USE, "link/x1", "link/x2", "link/x3", times=0.8))(quiet)
    happens("route_change", "switch/x", 1500.0 - after)(quiet)
    found = quiet.candidates(LOAD)["switch/x", "fabric.routing"]
    assert found.score == START + (4.5 if near else 2.5)
    assert bool(near) is (found.began == 1500.0 - after)


def _paths(mine: float, *others: float) -> Make:
    names = {PATH: 0.02, **{f"path/{n}": 0.02 for n in range(len(others))}}
    return of(
        measured(TRANSFER, names),
        change(TRANSFER, PATH, times=mine),
        *(change(TRANSFER, f"path/{n}", times=one) for n, one in enumerate(others)),
    )


@pytest.mark.parametrize(
    ("why", "make", "busy"),
    [
        ("the middle of the others", _paths(1.6, 1.0, 1.1, 2.0), False),
        ("the middle is as slow by half", _paths(1.6, 1.0, 1.31, 2.0), True),
        ("no other is read", _paths(1.6), False),
        ("another took no time", of(_paths(1.6, 1.0), change(TRANSFER, "path/0", times=0.0, at=0)), False),
    ],
)
def test_whether_all_paths_are_busy(quiet: Any, why: str, make: Make, busy: bool) -> None:
    make(quiet)
    doubts = quiet.candidates(POOLS)[PATH, "pools.path"].doubts
    assert any("the other paths" in words for words in doubts) is busy, why


@pytest.mark.parametrize(
    ("why", "make", "most", "unknown"),
    [
        ("nobody counts its requests, and no other path is read", _paths(1.6), 1.2, True),
        ("another path is read", _paths(1.6, 1.0), 4.0, False),
        ("its requests are counted", of(_paths(1.6), measured("request_rate_per_second", {PATH: 10.0})), 4.0, False),
    ],
)
def test_a_path_that_may_only_be_asked_more(quiet: Any, why: str, make: Make, most: float, unknown: bool) -> None:
    make(quiet)
    found = quiet.candidates(POOLS)[PATH, "pools.path"]
    assert (found.most, bool(found.unknown)) == (most, unknown), why


@pytest.mark.parametrize(
    ("why", "share", "longer", "explained"),
    [
        ("a fifth more of the requests takes 1.2 ** 2.5 as long, and a quarter", 0.6, 1.97, True),
        ("not longer than that", 0.6, 1.98, False),
        ("what it gets lately counts where it is more", 0.7, 2.88, True),
        ("not longer than that explains", 0.7, 2.91, False),
    ],
)
def test_how_much_longer_a_larger_share_takes(
    quiet: Any, why: str, share: float, longer: float, explained: bool
) -> None:
    quiet.change(SHARE, PATH, by=share - 0.5, at=150 if share == 0.6 else 237)
    if share == 0.7:
        quiet.change(SHARE, PATH, by=0.1, at=150)
        quiet.change(SHARE, PATH, by=-0.1, at=237)
    _paths(longer, 1.0)(quiet)
    doubts = quiet.candidates(POOLS)[PATH, "pools.path"].doubts
    assert any("larger share" in words for words in doubts) is explained, why


@pytest.mark.parametrize(
    ("nodes_of", "told", "found"), [(1, True, "rack/x"), (1, False, "node/x0"), (2, False, "rack/x")]
)
def test_a_rack_of_one_node_is_named_where_its_limit_is_told(quiet: Any, nodes_of: int, told: bool, found: str) -> None:
    quiet.topology = Topology(tuple(Edge("powers", "rack/x", f"node/x{n}") for n in range(nodes_of)))
    quiet.tables = {}
    quiet.add(REASONS, {f"node/x{n}/gpu/0": 0.0 for n in range(nodes_of)})
    change(REASONS, by=4.0)(quiet)
    if told:
        of(measured("rack_power_limit_watts", {"rack/x": 4e4}), change("rack_power_limit_watts", times=0.8))(quiet)
    assert list(quiet.candidates(LIMIT)) == [(found, "power.cap")]


@pytest.mark.parametrize(("held", "found"), [(4, True), (3, False)])
def test_four_nodes_of_five_are_the_rack(quiet: Any, held: int, found: bool) -> None:
    quiet.topology = Topology(tuple(Edge("powers", "rack/x", f"node/x{n}") for n in range(5)))
    quiet.tables = {}
    quiet.add(REASONS, {f"node/x{n}/gpu/0": 0.0 for n in range(5)})
    change(REASONS, *(f"node/x{n}/gpu/0" for n in range(held)), by=4.0)(quiet)
    assert (("rack/x", "power.cap") in quiet.candidates(LIMIT)) is found


@pytest.mark.parametrize(("signal", "seam"), [("job_mtbf_seconds", CADENCE), ("job_replace_seconds", DEGRADED)])
def test_what_was_told_last_counts(quiet: Any, signal: str, seam: Any) -> None:
    """Told anew with the last column; or with the last but one, and then no more."""
    of(measured("job_checkpoint_interval_seconds", {JOB: 1200.0}), measured("job_checkpoint_seconds", {JOB: 10.0}))(
        quiet
    )
    of(happens("verdict", GPU, 900.0, health="fail"), SLOW_GPU, change(STEP, times=1.25))(quiet)
    few, many = {JOB: 600.0 if seam is CADENCE else 100.0}, 1e7
    measured(signal, few)(quiet)
    assert quiet.candidates(seam)
    quiet.tables[signal].values[0, -1] = many
    assert not quiet.candidates(seam)
    quiet.tables[signal].values[0, :-1] = many
    quiet.tables[signal].values[0, -1] = few[JOB]
    assert quiet.candidates(seam)
    quiet.tables[signal].values[0, -2] = NAN
    assert quiet.candidates(seam)


@pytest.mark.parametrize(("gaps", "doubtful", "most"), [(False, False, 2.4), (True, True, 0.8)])
def test_several_that_fall_silent_are_sure_unless_their_kind_often_does(
    quiet: Any, gaps: bool, doubtful: bool, most: float
) -> None:
    names = [f"node/x{n}" for n in range(4)]
    quiet.topology = Topology(tuple(Edge("cools", "rack/x", name) for name in names))
    quiet.tables = {}
    quiet.add("fan_speed_ratio", {name: 0.5 for name in [*names, "node/z0", "node/z1"]})
    rows = quiet.tables["fan_speed_ratio"].values
    rows[:4, 100:] = NAN
    if gaps:
        rows[4:, 50:52] = NAN
    found = quiet.candidates(BROKEN)["rack/x", "sensor.lost"]
    assert (found.most, found.score) == (most, START + 4)


def test_of_several_that_fall_silent_one_whose_kind_never_does_is_enough_to_be_sure(quiet: Any) -> None:
    names = [f"node/x{n}" for n in range(4)]
    quiet.topology = Topology(tuple(Edge("cools", "rack/x", name) for name in names))
    quiet.tables = {}
    for signal, gaps in (("fan_speed_ratio", True), ("node_inlet_celsius", False)):
        quiet.add(signal, {name: 0.5 for name in [*names, "node/z0", "node/z1"]})
        rows = quiet.tables[signal].values
        rows[:4, 100:] = NAN
        rows[4:, 50:52] = NAN if gaps else 0.5
    assert quiet.candidates(BROKEN)["rack/x", "sensor.lost"].most == 2.4


@pytest.mark.parametrize(
    ("why", "made", "matters"),
    [
        ("nobody tells the throughput", None, True),
        ("as much as before, less a fortieth", 0.975, False),
        ("less", 0.9749, True),
        ("there was none", 0.0, True),
    ],
)
def test_larger_steps_are_not_slow(quiet: Any, why: str, made: float | None, matters: bool) -> None:
    quiet.tables.pop(MADE)
    if made is not None:
        quiet.add(MADE, {JOB: 1.0 if made else 0.0})
        quiet.tables[MADE].values[0, 150:] = made
    sign = Symptom(JOB, STEP, 1000.0, 5.0, 6.0)
    assert _matters(quiet.scene, sign) is matters, why


@pytest.mark.parametrize(
    ("why", "since", "now", "matters"),
    [
        ("a twentieth, for half an hour", 590.0, 5.25001, True),
        ("less than a twentieth", 590.0, 5.24999, False),
        ("for sixteen minutes", 1430.0, 6.0, True),
        ("not as long", 1431.0, 6.0, False),
        ("half, for five minutes", 2090.0, 7.5, True),
        ("not as long, half", 2091.0, 7.5, False),
        ("less than half, for five minutes", 2090.0, 7.49, False),
        ("ninety seconds lost", 1390.0, 5.4501, True),
        ("less lost", 1390.0, 5.4499, False),
    ],
)
def test_how_much_slower_for_how_long(quiet: Any, why: str, since: float, now: float, matters: bool) -> None:
    quiet.tables.pop(MADE)
    assert _matters(quiet.scene, Symptom(JOB, STEP, since, 5.0, now)) is matters, why


def _steps(row: np.ndarray, step: float = 10.0) -> Scene:
    table = SignalTable((JOB,), row[None, :].astype(np.float32))
    return Scene(Panel(np.arange(len(row)) * step, {STEP: table}), Topology())


def _half_an_hour(*levels: float, columns: int = 360, usual: float = 5.0) -> np.ndarray:
    """An hour of which the last 32 minutes have so many levels of equal length."""
    row = np.full(columns, usual)
    row[-192:] = np.repeat(levels, 192 // len(levels))
    return row


@pytest.mark.parametrize(
    ("why", "row", "found"),
    [
        ("a twentieth in all four parts", _half_an_hour(5.26, 5.26, 5.26, 5.26), True),
        ("less than a twentieth in the middle", _half_an_hour(5.24, 5.24, 5.24, 5.24), False),
        ("half of that at least in each", _half_an_hour(5.13, 5.3, 5.3, 5.3), True),
        ("less in one", _half_an_hour(5.12, 5.3, 5.3, 5.3), False),
        ("the middle of the parts counts", _half_an_hour(5.13, 5.13, 5.4, 5.4), True),
        ("and is too little", _half_an_hour(5.13, 5.13, 5.3, 5.3), False),
        ("as ever", _half_an_hour(5.0), False),
        ("exactly a twentieth", _half_an_hour(21.0, usual=20.0), True),
        ("it began within the first part", _half_an_hour(*[5.0] * 5, *[5.5] * 27), False),
        ("no step took any time before", _half_an_hour(5.0, usual=0.0), False),
    ],
)
def test_each_part_of_half_an_hour_is_slow(why: str, row: np.ndarray, found: bool) -> None:
    signs = list(_steady(_steps(row)))
    assert [(one.subject, one.since) for one in signs] == ([(JOB, 1680.0)] if found else []), why


@pytest.mark.parametrize(
    ("noise", "readings", "found"),
    [(0.5, 90, True), (0.6, 90, False), (0.14, 8, True), (0.2, 8, False), (0.0, 7, False)],
)
def test_a_small_slowdown_is_five_spreads_of_a_median(noise: float, readings: int, found: bool) -> None:
    """1.4826 * 1.25 * noise / sqrt(readings / 2), five times, beside 0.75 s; of eight readings at least."""
    row = _half_an_hour(5.75 if readings > 8 else 5.65)
    row[:90] += noise * np.resize([1.0, -1.0], 90)
    row[readings:90] = NAN
    assert bool(list(_steady(_steps(row)))) is found


@pytest.mark.parametrize(("columns", "found"), [(282, True), (281, False)])
def test_a_window_has_a_beginning_beside_half_an_hour(columns: int, found: bool) -> None:
    row = np.full(columns, 5.0)
    row[-192:] = 5.5
    assert bool(list(_steady(_steps(row)))) is found


def test_a_part_in_which_nobody_told_a_step_is_not_known() -> None:
    row = _half_an_hour(5.5, NAN, 5.5, 5.5)
    assert list(_steady(_steps(row))) == []


def test_what_a_job_loses_that_is_slow_again_and_again() -> None:
    row = np.full(240, 5.0)
    for begin in (120, 150, 180, 210):
        row[begin : begin + 12] = 7.0
    (sign,) = slow_at_times(_steps(row))
    assert (sign.subject, sign.since, sign.before, sign.now) == (JOB, 1200.0, 5.0, pytest.approx(5.8))
    assert list(slow_at_times(_steps(np.where(row > 5, row, 0.0)))) == []
    (quick,) = slow_at_times(_steps(row / 10))
    assert quick.before == pytest.approx(0.5), "of steps of less than a second too"


WELL = "ruled out, measured and normal: "


@pytest.mark.parametrize(
    ("until", "step", "usual", "said"),
    [
        (None, 7, 5.0, f"{JOB} has made no step for 10 min after step 7; a step usually takes 5 s"),
        (None, 0, None, f"{JOB} has made no step for 10 min after step 0"),
        (None, -1, None, f"{JOB} has made no step for 10 min"),
        (2090.0, 7, 5.0, f"{JOB} made no step for 5 min, and makes steps again; a step usually takes 5 s"),
    ],
)
def test_a_stop_that_no_cause_explains(
    quiet: Any, until: float | None, step: int, usual: float | None, said: str
) -> None:
    found = stopped(quiet.scene, JOB, 1790.0, until, step, usual)
    assert found.evidence[0] == said
    assert found.evidence[1] == "its nodes are allocated, on 12 nodes: the scheduler or their agents say so"
    assert found.evidence[2].startswith(WELL + "accelerators, cooling")
    assert (found.cause, found.kind, found.since, found.confidence, found.raw) == (JOB, "job.stopped", 1790.0, 0.9, 0.9)
    assert (found.path, found.owners, len(found.unknown)) == ((JOB,), ("training",), 1)


def test_a_stop_of_which_little_is_known(quiet: Any) -> None:
    quiet.tables, quiet.topology = (
        {},
        Topology(
            (
                Edge("runs_on", "node/a", "job/b"),
                Edge("runs_on", "node/a/gpu/0", "job/b"),
                Edge("runs_on", "pool/p", "job/b"),
            )
        ),
    )
    found = stopped(quiet.scene, "job/b", 9999.0, None, -1, None)
    assert found.evidence == (
        "job/b has made no step for 0 s",
        "its nodes are allocated, on 1 node: the scheduler or their agents say so",
        WELL + "nothing, because nothing is measured",
    )
    assert found.owners == ()
    alone = stopped(quiet.scene, "job/c", 9999.0, None, -1, None)
    assert alone.evidence[1] == "its nodes are allocated: the scheduler or their agents say so"


FOUND = Finding(cause="cdu/c1", kind="cooling.flow_low", confidence=0.9, raw=0.95, since=0.0)
RETURNS = replace(FOUND, evidence=("it is intermittent: 3 times in 30 min",))


@pytest.mark.parametrize(("finding", "again"), [(RETURNS, True), (FOUND, False)])
def test_what_comes_and_goes_is_reported_at_once_when_it_is_back(finding: Finding, again: bool) -> None:
    """After it was reported, and was missed for three evaluations; half an hour later what only lasted is forgotten."""
    memory, graph = FindingMemory(), Topology()
    for at in (0.0, 60.0, 120.0):
        memory.take([finding], graph, at)
    for at in (780.0, 840.0, 900.0):
        memory.take([], graph, at)
    back = replace(FOUND, raw=0.8)  # seen, and not strong
    assert bool(memory.take([back], graph, 960.0)) is again


def test_a_value_told_now_and_then_needs_no_several_readings() -> None:
    """A sparse signal that changed often: its last minute is six columns, not three readings of four columns each."""

    row = 100.0 + np.repeat(np.arange(60) % 2, 4) * 0.001
    row[236:] = 200.0
    table, times = SignalTable(("storage/s1",), row[None, :].astype(np.float32)), np.arange(240) * 10.0
    latency = signals()["storage_latency_seconds"]
    assert len(moves(table, times, latency._replace(sparse=True)).rows) == 1
    assert len(moves(table, times, latency).rows) == 0


@pytest.mark.parametrize(("last", "moved"), [(2, True), (1, False)])
def test_three_readings_of_a_sparse_signal_are_enough(last: int, moved: bool) -> None:
    """A column a minute: two are the last minute, three readings are needed, and the middle one tells."""
    row = np.full(60, 100.0)
    row[60 - last :] = 200.0
    latency = signals()["storage_latency_seconds"]._replace(sparse=True)
    table = SignalTable(("storage/s1",), row[None, :].astype(np.float32))
    assert bool(len(moves(table, np.arange(60) * 60.0, latency).rows)) is moved


def test_a_rack_without_a_rack_beside_it_has_none_that_is_well(quiet: Any) -> None:
    quiet.unlink("cdu/c1", "rack/r1")
    change("rack_flow_litres_per_minute", "rack/r2", times=0.9)(quiet)
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"]
    assert (found.score, found.most) == (pytest.approx(START + 2.5 - 4), 0.0)


def test_gpus_of_a_rack_beside_it_that_nobody_sees_say_nothing(quiet: Any) -> None:
    of(without("rack_flow_litres_per_minute"), gpus(HEAT, nodes(4, 6), by=6.0), gpus(HEAT, nodes(1, 3), by=2.5))(quiet)
    quiet.tables[HEAT].values[0] = NAN
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"]
    assert any("next to it is getting warmer" in words for words in found.doubts)


@pytest.mark.parametrize(("others", "found"), [(0.09, {"node/n3"}), (0.11, set[str]())])
def test_a_node_whose_ranks_take_as_much_longer_as_the_others_is_not_slow(
    quiet: Any, others: float, found: set[str]
) -> None:
    """Its ranks take 0.2 s longer; half of that is what the others do."""
    quiet.change(COMPUTE, by=others)
    quiet.change(COMPUTE, "job/llama/rank/4", "job/llama/rank/5", by=0.2 - others)
    assert {cause for cause, _ in quiet.candidates(DEVICE)} == found


@pytest.mark.parametrize(("crowded", "doubted"), [(0.06, True), (0.04, False)])
def test_a_link_that_was_read_now_and_then_was_crowded(quiet: Any, crowded: float, doubted: bool) -> None:
    quiet.link(Edge("connects", "link/leaf1-spine1", PATH))
    change(TRANSFER, PATH, times=1.6)(quiet)
    row = quiet.tables[CONGESTION].values[0]
    row[150:156] += crowded
    row[156:162] = NAN
    doubts = quiet.candidates(POOLS)[PATH, "pools.path"].doubts
    assert any("is bad itself" in words for words in doubts) is doubted


def test_a_rack_of_which_one_node_only_told_an_event_is_not_proven(quiet: Any) -> None:
    gpus(REASONS, nodes(4, 5), by=128.0)(quiet)
    of(happens("power_brake", "node/n6", 1800.0), gpus(CLOCK, nodes(6, 6), times=0.9))(quiet)
    found = quiet.candidates(LIMIT)["rack/r2", "power.brake"]
    assert (found.proven, found.score) == (False, START + 2.5)
