"""The fabric: a bad link, a whole switch, a rail, crowds and routes; what speaks for each and how much."""

from typing import Any

import pytest

from holdfast.model.topology import Edge
from holdfast.seams.rules.fabric_load import SEAM as LOAD
from holdfast.seams.rules.fabric_rail import SEAM as RAIL
from holdfast.seams.rules.fabric_uplink import SEAM as UPLINK
from tests.seams.making import START, Make, change, gpus, happens, measured, nodes, of

BANDWIDTH, ERRORS = "link_bandwidth_bytes_per_second", "link_errors_per_second"
CONGESTION, USE = "link_congestion_ratio", "link_utilization_ratio"
WAIT, ABLE = "port_xmit_wait_ratio", "port_bandwidth_bytes_per_second"
ONE, TWO, THREE = (f"link/leaf1-spine{n}" for n in (1, 2, 3))
OTHER = tuple(f"link/leaf2-spine{n}" for n in (1, 2, 3))
LESS, COUNTS = change(BANDWIDTH, ONE, times=0.9), change(ERRORS, ONE, by=0.6)


def _scores(world: Any, seam: Any) -> dict[tuple[str, str], Any]:
    return {key: pytest.approx(one.score - START, abs=1e-3) for key, one in world.candidates(seam).items()}


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("it carries less", LESS, 2 + 1),
        ("it counts errors", COUNTS, 1 + 1),
        ("both", of(LESS, COUNTS), 2 + 1 + 1),
        ("an error now and then is none", change(ERRORS, ONE, by=0.4), None),
        ("another link of its leaf is bad: two of three are not nearly all", of(LESS, change(BANDWIDTH, TWO, times=0.5)), 2 + 1),
        ("all links of its leaf are bad", change(BANDWIDTH, ONE, TWO, THREE, times=0.5), 2 - 3),
        ("both links of its spine are bad", change(BANDWIDTH, ONE, OTHER[0], times=0.5), 2 - 3),
    ],
)  # fmt: skip
def test_how_sure_a_bad_link_is(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    found = quiet.candidates(UPLINK).get((ONE, "fabric.uplink"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why
    assert found is None or found.proven


PORTS = measured(WAIT, {f"node/n{n}/nic/mlx5_0": 0.01 for n in range(1, 13)})
LEAF = change(BANDWIDTH, *OTHER, times=0.5)


def _waits(*numbers: int) -> Make:
    return change(WAIT, *(f"node/n{n}/nic/mlx5_0" for n in numbers), by=0.05)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("nearly all of its links are bad", LEAF, 3.0),
        ("and half of its nodes wait", of(LEAF, PORTS, _waits(7, 8, 9)), 3.5),
        ("nodes of another leaf wait", of(LEAF, PORTS, _waits(1, 2, 3)), 3.0),
        ("who has nothing to do is not asked", of(LEAF, PORTS, _waits(7, 8, 9), gpus("gpu_utilization_ratio", nodes(10, 12), times=0.1)), 4.0),
    ],
)  # fmt: skip
def test_how_sure_a_bad_leaf_is(quiet: Any, why: str, make: Make, score: float) -> None:
    make(quiet)
    found = quiet.candidates(UPLINK)["switch/leaf2", "fabric.leaf"]
    assert (found.score, found.proven) == (pytest.approx(START + score), True), why


def test_a_switch_without_nodes_is_a_spine_and_asks_none(quiet: Any) -> None:
    of(change(BANDWIDTH, THREE, OTHER[2], times=0.5), PORTS, _waits(*range(1, 13)))(quiet)
    assert quiet.candidates(UPLINK)["switch/spine3", "fabric.spine"].score == START + 3


def _rails(world: Any, count: int = 4) -> None:
    """Two ports a node, each on its own rail switch."""
    ports = {f"node/n{n}/nic/mlx5_{rail}": 0.01 for n in range(1, count + 1) for rail in (0, 1)}
    world.add(WAIT, ports)
    world.add(ABLE, dict.fromkeys(ports, 50e9))
    world.link(*(Edge("connects", f"switch/rail{port[-1]}", port) for port in ports))


@pytest.mark.parametrize(
    ("why", "bad", "score"),
    [
        ("all of it, and none elsewhere", (4, 0), 3 + 1.5),
        ("three of four", (3, 0), 3 + 1.5),
        ("half is not most", (2, 0), None),
        ("one of four elsewhere is few", (4, 1), 3 + 1.5),
        ("two elsewhere are not", (4, 2), 3 - 2),
    ],
)
@pytest.mark.parametrize("signal", [WAIT, ABLE])
def test_how_sure_a_bad_rail_is(quiet: Any, why: str, bad: tuple[int, int], score: float | None, signal: str) -> None:
    _rails(quiet)
    how = {"by": 0.05} if signal == WAIT else {"times": 0.9}
    for rail, count in enumerate(bad):
        if count:
            quiet.change(signal, *(f"node/n{n}/nic/mlx5_{rail}" for n in range(1, count + 1)), **how)
    found = quiet.candidates(RAIL).get(("switch/rail0", "fabric.rail"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why


@pytest.mark.parametrize(("elsewhere", "score"), [(3, 3 + 1.5), (4, 3 - 2)])
def test_three_tenths_of_the_other_ports_are_few(quiet: Any, elsewhere: int, score: float) -> None:
    _rails(quiet, 12)
    quiet.change(WAIT, *(f"node/n{n}/nic/mlx5_0" for n in range(1, 13)), by=0.05)
    quiet.change(WAIT, *(f"node/n{n}/nic/mlx5_1" for n in range(1, elsewhere + 1)), by=0.05)
    assert quiet.candidates(RAIL)["switch/rail0", "fabric.rail"].score == pytest.approx(START + score)


@pytest.mark.parametrize(("count", "found"), [(1, False), (2, True)])
def test_one_port_is_no_rail(quiet: Any, count: int, found: bool) -> None:
    _rails(quiet, count)
    quiet.change(WAIT, *(f"node/n{n}/nic/mlx5_0" for n in range(1, count + 1)), by=0.05)
    assert (("switch/rail0", "fabric.rail") in quiet.candidates(RAIL)) is found


def test_where_no_other_port_is_seen_nothing_is_reported_of_them(quiet: Any) -> None:
    quiet.add(WAIT, {f"node/n{n}/nic/mlx5_0": 0.01 for n in range(1, 5)})
    quiet.link(*(Edge("connects", "switch/rail0", f"node/n{n}/nic/mlx5_0") for n in range(1, 5)))
    quiet.change(WAIT, by=0.05)
    assert quiet.candidates(RAIL)["switch/rail0", "fabric.rail"].score == START + 3


CROWD = change(CONGESTION, ONE, by=0.06)
CROWDED, ROUTING = "fabric.congestion", "fabric.routing"


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("senders wait on one link", CROWD, {(ONE, CROWDED): 2.0}),
        ("hardly", change(CONGESTION, ONE, by=0.04), {}),
        ("it carries more", of(CROWD, change(USE, ONE, by=0.13)), {(ONE, CROWDED): 3.5}),
        ("not much more", of(CROWD, change(USE, ONE, by=0.11)), {(ONE, CROWDED): 2.0}),
        ("it lost bandwidth: no crowd", of(CROWD, LESS), {}),
        ("both links of a spine", change(CONGESTION, ONE, OTHER[0], by=0.06), {(ONE, CROWDED): -1.0, (OTHER[0], CROWDED): -1.0, ("switch/spine1", CROWDED): 2.0}),
        ("its routes have just changed", of(change(CONGESTION, ONE, by=0.06, at=225), happens("route_change", "switch/leaf1", 2250.0)), {(ONE, CROWDED): 2.0 - 4}),
        ("they changed a while ago", of(change(CONGESTION, ONE, by=0.06, at=224), happens("route_change", "switch/leaf1", 2250.0)), {(ONE, CROWDED): 2.0}),
        ("another leaf's did", of(change(CONGESTION, ONE, by=0.06, at=230), happens("route_change", "switch/leaf2", 2300.0)), {(ONE, CROWDED): 2.0}),
    ],
)  # fmt: skip
def test_how_sure_a_crowd_is(quiet: Any, why: str, make: Make, found: dict[tuple[str, str], float]) -> None:
    make(quiet)
    assert found == _scores(quiet, LOAD), why


def _beside(world: Any) -> None:
    """A second job, on a node of the other leaf."""
    world.add("job_throughput_ratio", {"job/llama": 1.0, "job/b": 1.0})
    world.link(Edge("runs_on", "node/n12", "job/b"))


BUSIER = of(CROWD, change(USE, ONE, by=0.06))
LIGHTER = change(USE, TWO, THREE, times=0.89)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("one gets more, its sisters less: traffic moved", of(BUSIER, LIGHTER), 2.5),
        ("its routes changed just before", of(BUSIER, LIGHTER, happens("route_change", "switch/leaf1", 1200.0)), 4.5),
        ("they changed too long before", of(BUSIER, LIGHTER, happens("route_change", "switch/leaf1", 1199.0)), 2.5),
        ("its sisters lost too little", of(BUSIER, change(USE, TWO, THREE, times=0.91)), None),
        ("one of two sisters did", of(BUSIER, change(USE, TWO, times=0.8)), None),
        ("it got too little more", of(CROWD, change(USE, ONE, by=0.04), LIGHTER), None),
        ("all together carry far more: it grew", of(CROWD, change(USE, ONE, by=0.6), LIGHTER), None),
        ("all together carry a little more", of(CROWD, change(USE, ONE, by=0.5), LIGHTER), 2.5),
        ("two of three are crowded", of(change(CONGESTION, ONE, TWO, by=0.06), change(USE, ONE, TWO, by=0.1), change(USE, THREE, times=0.8)), None),
        ("the job sends less everywhere", of(CROWD, change(USE, TWO, THREE, times=0.8), change("job_throughput_ratio", times=0.8)), None),
        ("a job of another leaf is slow", of(_beside, BUSIER, LIGHTER, change("job_throughput_ratio", "job/b", times=0.5)), 2.5),
        ("more than its job's pace explains", of(CROWD, change(USE, TWO, THREE, times=0.7), change("job_throughput_ratio", times=0.8)), 2.5),
    ],
)  # fmt: skip
def test_how_sure_a_change_of_routes_is(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    candidates = quiet.candidates(LOAD)
    found = candidates.get(("switch/leaf1", ROUTING))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why
    if found is not None:
        link = candidates[ONE, CROWDED]
        assert any("traffic moved" in words for words in link.doubts)
        assert link.score == pytest.approx(START + 2 - 3 + (1.5 if len(link.signs) > 1 else 0))


def test_routing_began_with_the_change_of_routes(quiet: Any) -> None:
    of(BUSIER, LIGHTER, happens("route_change", "switch/leaf1", 1300.0))(quiet)
    assert quiet.candidates(LOAD)["switch/leaf1", ROUTING].began == 1300.0
