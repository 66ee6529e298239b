"""What work explains by itself: heat that follows power, clocks that rest, links that are quiet while jobs save."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.topology import Edge
from tests.seams.making import Make, change, gpus, nodes, of, without

HEAT, WATTS, CLOCK, USE = (
    "gpu_temperature_celsius",
    "gpu_power_watts",
    "gpu_clock_sm_hertz",
    "gpu_utilization_ratio",
)
N1 = nodes(1, 1)
GPU = "node/n1/gpu/0"
# A GPU is at 62 degrees, 30 above its coolant, with 650 W; three degrees are worth a word, 2.1 of them unexplained.


def _heat(by: float) -> Make:
    return gpus(HEAT, N1, by=by)


@pytest.mark.parametrize(
    ("why", "make", "hot"),
    [
        ("as much power as before", _heat(3.1), True),
        ("less than is worth a word", _heat(2.9), False),
        (
            "a tenth more power explains less than five degrees of seven",
            of(_heat(6.8), gpus(WATTS, N1, times=1.1)),
            True,
        ),
        ("and leaves less than two of them", of(_heat(6.5), gpus(WATTS, N1, times=1.1)), False),
        ("less power explains no heat", of(_heat(3.1), gpus(WATTS, N1, times=0.7)), True),
        ("no power is read and it works as before", of(_heat(3.1), without(WATTS)), True),
        (
            "no power is read and it works more",
            of(gpus(USE, N1, times=0.7, at=0), _heat(3.1), without(WATTS), gpus(USE, N1, times=1.4)),
            False,
        ),
    ],
)
def test_a_gpu_is_hot_that_is_warmer_than_its_power(quiet: Any, why: str, make: Make, hot: bool) -> None:
    make(quiet)
    assert (GPU in quiet.scene.moved(HEAT)) is hot, why


def _idled(watts: float, now: float) -> Make:
    """A node that had so little to do before draws as much as its peers now."""

    def make(world: Any) -> None:
        for signal, before, after in ((WATTS, watts, 650.0), (HEAT, 40.0, now)):
            table = world.tables[signal]
            for gpu in ("node/n1/gpu/0", "node/n1/gpu/1"):
                table.values[table.index[gpu], :150] = before
                table.values[table.index[gpu], 150:] = after

    return make


@pytest.mark.parametrize(
    ("why", "watts", "now", "hot"),
    [
        ("as warm as its peers under load", 100.0, 62.0, False),
        ("a seventh of their rise more, and two degrees", 100.0, 68.0, False),
        ("still more", 100.0, 69.0, True),
        ("who worked before is held against its own past", 160.0, 66.0, False),
    ],
)
def test_who_idled_is_held_against_its_peers(quiet: Any, why: str, watts: float, now: float, hot: bool) -> None:
    _idled(watts, now)(quiet)
    assert (GPU in quiet.scene.moved(HEAT)) is hot, why


def test_who_idled_among_idle_ones_is_held_against_no_one(quiet: Any) -> None:
    quiet.tables[WATTS].values[:] = 100.0
    quiet.gpus(WATTS, "node/n1", by=550.0)
    _heat(40.0)(quiet)
    assert quiet.scene.moved(HEAT) == {}


@pytest.mark.parametrize(("use", "slow"), [(0.41, True), (0.39, False)])
@pytest.mark.parametrize("signal", [CLOCK, WATTS])
def test_a_gpu_that_rests_reports_nothing_of_what_it_can(quiet: Any, signal: str, use: float, slow: bool) -> None:
    of(gpus(USE, N1, times=use), gpus(signal, N1, times=0.5))(quiet)
    assert (GPU in quiet.scene.moved(signal)) is slow


@pytest.mark.parametrize(("usual", "slow"), [(0.22, True), (0.18, False)])
def test_who_always_did_little_is_held_against_the_whole(quiet: Any, usual: float, slow: bool) -> None:
    """Who uses 0.22 of itself works when it does so again; who used less never does."""
    quiet.tables[USE].values[:] = usual
    gpus(CLOCK, N1, times=0.5)(quiet)
    assert (GPU in quiet.scene.moved(CLOCK)) is slow


@pytest.mark.parametrize(("use", "loaded"), [(0.33, True), (0.31, False)])
def test_who_works_now(quiet: Any, use: float, loaded: bool) -> None:
    gpus(USE, N1, times=use)(quiet)
    assert ("node/n1" in quiet.scene.loaded) is loaded


def test_where_no_one_reports_the_work_all_that_are_seen_work(quiet: Any) -> None:
    without(USE)(quiet)
    assert quiet.scene.loaded == frozenset(nodes(1, 12))


LINK, CONGESTION = "link/leaf1-spine1", "link_congestion_ratio"


def _saves(job: str, columns: slice) -> Make:
    def make(world: Any) -> None:
        table = world.tables["job_step_seconds"]
        table.values[table.index[job], columns] = np.nan

    return make


LATE = slice(210, 240)


@pytest.mark.parametrize(
    ("why", "make", "crowded"),
    [
        ("the job works", change(CONGESTION, LINK, by=0.3, at=215), True),
        ("its job saves: what flows then is the checkpoint", of(_saves("job/llama", LATE), change(CONGESTION, LINK, by=0.3, at=215)), False),
        ("it was crowded before the job saved", of(_saves("job/llama", LATE), change(CONGESTION, LINK, by=0.3, at=150)), True),
        ("nothing was ever told of the job", of(_saves("job/llama", slice(0, 240)), change(CONGESTION, LINK, by=0.3, at=215)), True),
    ],
)  # fmt: skip
def test_a_link_is_not_judged_while_its_jobs_save(quiet: Any, why: str, make: Make, crowded: bool) -> None:
    make(quiet)
    assert (LINK in quiet.scene.moved(CONGESTION)) is crowded, why


@pytest.mark.parametrize(
    ("where", "both", "crowded"),
    [("node/n1", False, True), ("node/n1", True, False), ("node/n12", False, False)],
)
def test_a_second_job_on_the_link_speaks_for_it(quiet: Any, where: str, both: bool, crowded: bool) -> None:
    """node/n1 is below the leaf of the link, node/n12 below the other one."""
    quiet.add("job_step_seconds", {"job/llama": 5.0, "job/b": 5.0})
    quiet.link(Edge("runs_on", where, "job/b"))
    _saves("job/llama", LATE)(quiet)
    if both:
        _saves("job/b", LATE)(quiet)
    quiet.change(CONGESTION, LINK, by=0.3, at=215)
    assert (LINK in quiet.scene.moved(CONGESTION)) is crowded


def test_a_port_is_not_judged_while_the_jobs_of_its_node_save(quiet: Any) -> None:
    ports = {"node/n1/nic/mlx5_0": 0.01, "node/n99/nic/mlx5_0": 0.01}
    quiet.add("port_xmit_wait_ratio", ports)
    _saves("job/llama", LATE)(quiet)
    quiet.change("port_xmit_wait_ratio", by=0.3, at=215)
    assert set(quiet.scene.moved("port_xmit_wait_ratio")) == {"node/n99/nic/mlx5_0"}
    assert quiet.tables["port_xmit_wait_ratio"].values[0, -1] == pytest.approx(0.31), "what was read stays as it was"


@pytest.mark.parametrize(("hot", "found"), [(1, False), (2, True)])
def test_a_node_is_hot_when_half_of_its_gpus_are(quiet: Any, hot: int, found: bool) -> None:
    quiet.add(HEAT, {f"node/n1/gpu/{index}": 62.0 for index in range(4)})
    for index in range(hot):
        quiet.change(HEAT, f"node/n1/gpu/{index}", by=10.0, at=150 - 10 * index)
    scene = quiet.scene
    assert ("node/n1" in scene.hot) is found
    if found:
        assert scene.hot["node/n1"].since == 1400.0, "since the first of them"


def test_gpus_that_no_one_sees_do_not_count(quiet: Any) -> None:
    quiet.add(HEAT, {f"node/n1/gpu/{index}": 62.0 for index in range(4)})
    quiet.change(HEAT, "node/n1/gpu/0", by=10.0)
    quiet.tables[HEAT].values[2:] = np.nan
    assert "node/n1" in quiet.scene.hot


def test_what_a_broken_instrument_reports_moves_no_one(quiet: Any) -> None:
    quiet.hot("node/n1", at=150)
    scene = quiet.scene
    assert len(scene.moved(HEAT)) == 2
    assert GPU in scene.seen(HEAT)
    assert "node/n1" in scene.nodes_seen(HEAT)
    for gpu in (GPU, "node/n1/gpu/1"):
        scene.distrust(HEAT, gpu)
    assert scene.moved(HEAT) == {}
    assert GPU not in scene.seen(HEAT)
    assert GPU in scene.seen(CLOCK)
    assert "node/n1" not in scene.nodes_seen(HEAT)


@pytest.mark.parametrize(
    ("rising", "found"), [(True, {"node/n1"}), (False, {"node/n2"}), (None, {"node/n1", "node/n2"})]
)
def test_nodes_where_a_signal_rose_or_fell(quiet: Any, rising: bool | None, found: set[str]) -> None:
    quiet.change("fan_speed_ratio", "node/n1", times=1.5)
    quiet.change("fan_speed_ratio", "node/n2", times=0.5)
    assert set(quiet.scene.nodes_where("fan_speed_ratio", rising=rising)) == found


def test_what_is_usual_and_what_is_now(quiet: Any) -> None:
    quiet.change("ambient_celsius", by=3.0)
    scene = quiet.scene
    assert (scene.usual("ambient_celsius", "room/h1"), scene.recent("ambient_celsius", "room/h1")) == (24.0, 27.0)
    assert np.isnan(scene.usual("ambient_celsius", "room/h9"))


@pytest.mark.parametrize(
    ("since", "expected", "text"), [(150, True, 1500.0), (100, True, 1000.0), (79, False, None), (0, False, None)]
)
def test_since_when_a_reason_is_reported(quiet: Any, since: int, expected: bool, text: float | None) -> None:
    quiet.gpus("gpu_clock_event_reasons", "node/n1", by=4.0, at=since)
    if since == 79:
        quiet.tables["gpu_clock_event_reasons"].values[0:2, :20] = 4.0
    found = quiet.scene.reasons(4)
    assert (GPU in found) is expected
    if expected:
        assert (found[GPU].since, found[GPU].now) == (text, 4.0)
    assert quiet.scene.reasons(128) == {}
