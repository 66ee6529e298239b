"""Many nodes that fail together are one incident on what they share, in whatever order their failures arrive."""

from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.lifecycle import EventKind, Stage, Verb
from tests.fleet.controller.running import Controller, running, until
from tests.fleet.decisions.simulated_fleet import POLICY, SimulatedFleet

COUNT = 64


def loop_of_fifty(index: int) -> dict[str, str]:
    sizes = {"rack": 8, "leaf": 16, "loop": 50, "feed": 32}
    return {kind: f"{kind}{index // size + 1}" for kind, size in sizes.items()}


def test_fifty_nodes_behind_one_loop_within_a_minute() -> None:
    told = SimulatedFleet(COUNT, place=loop_of_fifty)
    for index in range(50):
        told.says(f"n{(index * 7) % 50}", "gpu.throttle", "fail")
        told.passes(1.2)
    open_ = told.incidents()
    assert list(open_) == ["loop/loop1"]
    assert open_["loop/loop1"].reason.startswith("50 of 50 nodes behind loop/loop1 failed together")
    assert open_["loop/loop1"].cause == "gpu.throttle"
    assert told.out() == ["n0"]  # the first, before anybody could know
    for one in told.incidents(IncidentState.CLOSED).values():
        assert "; absorbed by " in one.reason
    assert told.fleet.nodes["n7"].reason == "part of the incident on loop/loop1, not quarantined by itself"


def shared(told: SimulatedFleet) -> list[Incident]:
    return [one for one in told.incidents().values() if not one.subject.startswith("pool/")]


@st.composite
def storms(draw: st.DrawFn) -> tuple[list[tuple[float, str]], set[str], int]:
    """Who fails when: fifty of a loop within a minute, some stragglers later, a few others unrelated."""
    order = draw(st.permutations(range(50)))
    late = draw(st.integers(0, 5))
    told = [(draw(st.floats(0, 60)), f"n{i}") for i in order[: 50 - late]]
    told += [(draw(st.floats(60, 300)), f"n{i}") for i in order[50 - late :]]
    others = draw(st.lists(st.sampled_from(range(50, COUNT)), max_size=3, unique=True))
    told += [(draw(st.floats(0, 60)), f"n{i}") for i in others]
    return sorted(told), {f"n{i}" for i in range(50)}, draw(st.integers(0, len(told)))


@settings(max_examples=6, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(storms())
def test_in_any_order_with_stragglers_unrelated_failures_and_a_restart(
    storm: tuple[list[tuple[float, str]], set[str], int],
) -> None:
    arrivals, behind, restart = storm
    told = SimulatedFleet(COUNT, place=loop_of_fifty)
    began, cap = told.now, 6  # a tenth of 64
    for number, (at, name) in enumerate(arrivals):
        while (left := began + at - told.now) > 1:
            told.passes(1.0 if left < 10 else 5.0)
        told.now = max(told.now, began + at)
        if number == restart:
            told.restarts()
        told.says(name, "gpu.throttle", "fail")
        assert len(told.out()) <= cap
        explained = [node for one in shared(told) for node in one.evidence]
        assert len(explained) == len(set(explained))
    told.passes(1.0)
    (only,) = shared(told)
    assert only.subject == "loop/loop1"
    assert behind <= set(only.evidence)


def storm_of(told: SimulatedFleet, count: int = 50) -> None:
    for index in range(count):
        told.says(f"n{(index * 7) % 50}", "gpu.throttle", "fail")
        told.passes(1.0)


def test_when_it_is_over_every_node_of_it_is_tested_again_and_no_other() -> None:
    told = SimulatedFleet(COUNT, place=loop_of_fifty)
    storm_of(told)
    assert told.stage("n0") is Stage.QUARANTINED
    assert Verb.RESET_GPU not in told.verbs("n0")  # a reset mends no cooling loop
    before = len(told.steps)
    for index in range(50):
        told.says(f"n{index}", "gpu.throttle", "pass")
    told.passes()
    assert not told.incidents()
    assert told.stage("n0") is Stage.TESTING
    moved = {step.node.name for step in told.steps[before:] if step.transition.before is not step.transition.after}
    assert moved == {f"n{index}" for index in range(50)}
    assert {told.stage(f"n{index}") for index in range(50)} == {Stage.TESTING}


def test_those_that_still_fail_when_it_is_over_are_judged_one_by_one() -> None:
    told = SimulatedFleet(COUNT, place=loop_of_fifty)
    storm_of(told)
    for index in range(3, 50):
        told.says(f"n{index}", "gpu.throttle", "pass")
    told.passes()
    assert "loop/loop1" in told.incidents()  # it may be a pause only
    told.passes(POLICY.shared_seconds)
    assert "loop/loop1" not in told.incidents()
    assert "3 nodes still fail and are handled one by one" in told.incidents(IncidentState.CLOSED)["loop/loop1"].reason
    assert set(told.out()) == {"n0", "n1", "n2"}
    assert told.stage("n10") is Stage.TESTING


def test_a_restart_in_the_middle_forgets_neither_the_incident_nor_its_nodes() -> None:
    told = SimulatedFleet(COUNT, place=loop_of_fifty)
    storm_of(told, 40)
    known = told.incidents()["loop/loop1"]
    told.restarts()
    told.passes()
    assert told.incidents()["loop/loop1"].id == known.id
    assert set(told.incidents()["loop/loop1"].evidence) == set(known.evidence)
    for index in range(50):
        told.says(f"n{index}", "gpu.throttle", "pass")
    told.passes()
    assert not told.incidents()


def test_a_second_failure_that_is_no_pattern_is_drained_when_it_has_waited() -> None:
    told = SimulatedFleet(COUNT, place=loop_of_fifty)
    told.says("n1", "gpu.xid", "fail")
    told.says("n2", "gpu.xid", "fail")
    assert told.stage("n2") is Stage.READY
    assert "waiting to see" in told.fleet.nodes["n2"].reason
    told.passes(POLICY.shared_wait_seconds + 1)
    assert told.stage("n2") is Stage.DRAINING


def test_without_a_wait_the_breaker_alone_holds() -> None:
    told = SimulatedFleet(COUNT, policy=Policy(dry_run=False, shared_wait_seconds=0.0), place=loop_of_fifty)
    storm_of(told)
    assert list(told.incidents()) == ["loop/loop1"]
    assert len(told.out()) == 6
    assert "absorbed by" in told.incidents(IncidentState.CLOSED)["pool/default"].reason


def test_a_leaf_whose_nodes_all_fall_silent_is_one_incident() -> None:
    told = SimulatedFleet(COUNT, place=loop_of_fifty)
    told.passes(1)
    told.quiet = {f"n{index}" for index in range(16)}
    for _ in range(20):
        told.passes(10)
    assert list(told.incidents()) == ["leaf/leaf1"]
    assert told.stages() == {Stage.READY}
    told.quiet = set()
    for index in range(16):
        told.says(f"n{index}", "gpu.xid", "pass")
    told.passes(1)
    assert not told.incidents()


def test_a_full_test_that_fails_for_a_shared_cause_quarantines_nobody() -> None:
    told = SimulatedFleet(COUNT, place=loop_of_fifty)
    for index in range(16):
        told.steps += told.fleet.operator(f"n{index}", EventKind.RETEST, "new driver", "ann", told.now)
    for index in range(16):
        told.test(f"n{index}", "fail", "host.shared_storage")
    told.passes(1)
    assert list(told.incidents()) == ["leaf/leaf1"]
    assert told.out() == ["n0"]
    assert told.stage("n9") is Stage.TESTING  # never admitted either
    for index in range(1, 16):
        told.passes(700)
        told.test(f"n{index}")
    told.passes(1)
    assert not told.incidents()
    assert told.stage("n9") is Stage.READY


@pytest.mark.slow
def test_a_controller_killed_in_the_middle_goes_on_with_the_same_incident(tmp_path: Path) -> None:
    policy = "dry_run = false\nshared_first_seconds = 600\nshared_wait_seconds = 600\n"  # longer than any machine needs
    with running(tmp_path, policy=policy) as first:
        agents = [first.ready_node(f"m{number}", place={"leaf": "l1", "rack": f"r{number % 3}"}) for number in range(8)]
        for number in range(8):
            first.ready_node(f"o{number}", place={"leaf": "l2"})
        for agent in agents[:5]:
            agent.verdict("fabric.port_down", "fail", "port 1 is down")
        (known,) = until(lambda: first.get("/v1/incidents", state="open")["incidents"], "an incident")
        assert known["subject"] == "leaf/l1"
        first.kill()
        with_again = first.restarted()
        try:
            until(lambda: with_again.get("/healthz")["leading"], "it leads again")
            for agent in agents:
                agent.controller = with_again
            for agent in agents[5:]:
                agent.verdict("fabric.port_down", "fail", "port 1 is down")
            until(lambda: "8 of 8" in _open(with_again)[0]["reason"], "all eight are in it")
            assert [one["id"] for one in _open(with_again)] == [known["id"]]
            stages = [with_again.stage(agent.name) for agent in agents]
            assert stages == ["ready"] * 8  # a broken leaf drains none of its nodes, not even the first
            why = with_again.get("/v1/nodes/m7")["reason"]
            assert why == "part of the incident on leaf/l1, not quarantined by itself"
        finally:
            with_again.kill()


def _open(controller: Controller) -> list[dict[str, str]]:
    found: list[dict[str, str]] = controller.get("/v1/incidents", state="open")["incidents"]
    return found


def test_a_mended_shared_cause_gives_its_nodes_back_at_once() -> None:
    told = SimulatedFleet(64)
    for index in range(8):
        told.says(f"n{index}", "fabric.port_down", "fail")
        told.fleet.retest(f"n{index}", "looked odd", "ann", told.now)
        told.test(f"n{index}", "fail", "fabric.port_down")
    told.passes()
    assert "leaf/l0" in told.incidents()
    held = [name for name, node in told.fleet.nodes.items() if node.held and node.stage is Stage.TESTING]
    assert len(held) >= 4
    for index in range(8):
        told.says(f"n{index}", "fabric.port_down", "pass")
    told.passes()
    assert "leaf/l0" not in told.incidents()
    for name in held:
        assert told.fleet.nodes[name].asked_at is not None
        told.test(name)
        assert told.stage(name) is Stage.READY
