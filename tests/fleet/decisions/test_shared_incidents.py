"""Many nodes that fail together are one incident on what they share, in whatever order their failures arrive."""

from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.lifecycle import EventKind, Stage, Verb
from tests.counts import draws
from tests.fleet.controller.running import Controller, running, until
from tests.fleet.decisions.simulated_fleet import POLICY, SimulatedFleet

COUNT = 64


def loop_of_fifty(index: int) -> dict[str, str]:
    sizes = {"rack": 8, "leaf": 16, "loop": 50, "feed": 32}
    return {kind: f"{kind}{index // size + 1}" for kind, size in sizes.items()}


def test_fifty_nodes_behind_one_loop_within_a_minute() -> None:
    simulated = SimulatedFleet(COUNT, place=loop_of_fifty)
    for index in range(50):
        simulated.says(f"n{(index * 7) % 50}", "gpu.throttle", "fail")
        simulated.passes(1.2)
    open_ = simulated.incidents()
    assert list(open_) == ["loop/loop1"]
    assert open_["loop/loop1"].reason.startswith("50 of 50 nodes behind loop/loop1 failed together")
    assert open_["loop/loop1"].cause == "gpu.throttle"
    assert simulated.out() == ["n0"]  # the first, before anybody could know
    for one in simulated.incidents(IncidentState.CLOSED).values():
        assert "; absorbed by " in one.reason
    assert simulated.fleet.nodes["n7"].reason == "part of the incident on loop/loop1, not quarantined separately"


def shared(simulated: SimulatedFleet) -> list[Incident]:
    return [one for one in simulated.incidents().values() if not one.subject.startswith("pool/")]


@st.composite
def storms(draw: st.DrawFn) -> tuple[list[tuple[float, str]], set[str], int]:
    """Who fails when: fifty of a loop within a minute, some stragglers later, a few others unrelated."""
    order = draw(st.permutations(range(50)))
    late = draw(st.integers(0, 5))
    simulated = [(draw(st.floats(0, 60)), f"n{i}") for i in order[: 50 - late]]
    simulated += [(draw(st.floats(60, 300)), f"n{i}") for i in order[50 - late :]]
    others = draw(st.lists(st.sampled_from(range(50, COUNT)), max_size=3, unique=True))
    simulated += [(draw(st.floats(0, 60)), f"n{i}") for i in others]
    return sorted(simulated), {f"n{i}" for i in range(50)}, draw(st.integers(0, len(simulated)))


@settings(max_examples=draws(2, 6), phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(storms())
def test_in_any_order_with_stragglers_unrelated_failures_and_a_restart(
    storm: tuple[list[tuple[float, str]], set[str], int],
) -> None:
    arrivals, behind, restart = storm
    simulated = SimulatedFleet(COUNT, place=loop_of_fifty)
    began, cap = simulated.now, 6  # a tenth of 64
    for number, (at, name) in enumerate(arrivals):
        while (left := began + at - simulated.now) > 1:
            simulated.passes(1.0 if left < 10 else 5.0)
        simulated.now = max(simulated.now, began + at)
        if number == restart:
            simulated.restarts()
        simulated.says(name, "gpu.throttle", "fail")
        assert len(simulated.out()) <= cap
        explained = [node for one in shared(simulated) for node in one.evidence]
        assert len(explained) == len(set(explained))
    simulated.passes(1.0)
    (only,) = shared(simulated)
    assert only.subject == "loop/loop1"
    assert behind <= set(only.evidence)


def storm_of(simulated: SimulatedFleet, count: int = 50) -> None:
    for index in range(count):
        simulated.says(f"n{(index * 7) % 50}", "gpu.throttle", "fail")
        simulated.passes(1.0)


def test_when_it_is_over_every_node_of_it_is_tested_again_and_no_other() -> None:
    simulated = SimulatedFleet(COUNT, place=loop_of_fifty)
    storm_of(simulated)
    assert simulated.stage("n0") is Stage.QUARANTINED
    assert Verb.RESET_GPU not in simulated.verbs("n0")  # a reset mends no cooling loop
    before = len(simulated.steps)
    for index in range(50):
        simulated.says(f"n{index}", "gpu.throttle", "pass")
    simulated.passes()
    assert not simulated.incidents()
    assert simulated.stage("n0") is Stage.TESTING
    moved = {step.node.name for step in simulated.steps[before:] if step.transition.before is not step.transition.after}
    assert moved == {f"n{index}" for index in range(50)}
    assert {simulated.stage(f"n{index}") for index in range(50)} == {Stage.TESTING}


def test_those_that_still_fail_when_it_is_over_are_judged_one_by_one() -> None:
    simulated = SimulatedFleet(COUNT, place=loop_of_fifty)
    storm_of(simulated)
    for index in range(3, 50):
        simulated.says(f"n{index}", "gpu.throttle", "pass")
    simulated.passes()
    assert "loop/loop1" in simulated.incidents()  # it may be a pause only
    simulated.passes(POLICY.shared_seconds)
    assert "loop/loop1" not in simulated.incidents()
    assert (
        "3 nodes still fail and are handled one by one"
        in simulated.incidents(IncidentState.CLOSED)["loop/loop1"].reason
    )
    assert set(simulated.out()) == {"n0", "n1", "n2"}
    assert simulated.stage("n10") is Stage.TESTING


def test_a_restart_in_the_middle_forgets_neither_the_incident_nor_its_nodes() -> None:
    simulated = SimulatedFleet(COUNT, place=loop_of_fifty)
    storm_of(simulated, 40)
    known = simulated.incidents()["loop/loop1"]
    simulated.restarts()
    simulated.passes()
    assert simulated.incidents()["loop/loop1"].id == known.id
    assert set(simulated.incidents()["loop/loop1"].evidence) == set(known.evidence)
    for index in range(50):
        simulated.says(f"n{index}", "gpu.throttle", "pass")
    simulated.passes()
    assert not simulated.incidents()


def test_a_second_failure_that_is_no_pattern_is_drained_when_it_has_waited() -> None:
    simulated = SimulatedFleet(COUNT, place=loop_of_fifty)
    simulated.says("n1", "gpu.xid", "fail")
    simulated.says("n2", "gpu.xid", "fail")
    assert simulated.stage("n2") is Stage.READY
    assert "waiting to see" in simulated.fleet.nodes["n2"].reason
    simulated.passes(POLICY.shared_wait_seconds + 1)
    assert simulated.stage("n2") is Stage.DRAINING


def test_without_a_wait_the_breaker_alone_holds() -> None:
    simulated = SimulatedFleet(COUNT, policy=Policy(dry_run=False, shared_wait_seconds=0.0), place=loop_of_fifty)
    storm_of(simulated)
    assert list(simulated.incidents()) == ["loop/loop1"]
    assert len(simulated.out()) == 6
    assert "absorbed by" in simulated.incidents(IncidentState.CLOSED)["pool/default"].reason


def test_a_leaf_whose_nodes_all_fall_silent_is_one_incident() -> None:
    simulated = SimulatedFleet(COUNT, place=loop_of_fifty)
    simulated.passes(1)
    simulated.quiet = {f"n{index}" for index in range(16)}
    for _ in range(20):
        simulated.passes(10)
    assert list(simulated.incidents()) == ["leaf/leaf1"]
    assert simulated.stages() == {Stage.READY}
    simulated.quiet = set()
    for index in range(16):
        simulated.says(f"n{index}", "gpu.xid", "pass")
    simulated.passes(1)
    assert not simulated.incidents()


def test_a_full_test_that_fails_for_a_shared_cause_quarantines_no_one() -> None:
    simulated = SimulatedFleet(COUNT, place=loop_of_fifty)
    for index in range(16):
        simulated.steps += simulated.fleet.operator(f"n{index}", EventKind.RETEST, "new driver", "ann", simulated.now)
    for index in range(16):
        simulated.test(f"n{index}", "fail", "host.shared_storage")
    simulated.passes(1)
    assert list(simulated.incidents()) == ["leaf/leaf1"]
    assert simulated.out() == ["n0"]
    assert simulated.stage("n9") is Stage.TESTING  # never admitted either
    for index in range(1, 16):
        simulated.passes(700)
        simulated.test(f"n{index}")
    simulated.passes(1)
    assert not simulated.incidents()
    assert simulated.stage("n9") is Stage.READY


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
            assert why == "part of the incident on leaf/l1, not quarantined separately"
        finally:
            with_again.kill()


def _open(controller: Controller) -> list[dict[str, str]]:
    found: list[dict[str, str]] = controller.get("/v1/incidents", state="open")["incidents"]
    return found


def test_a_repaired_shared_cause_gives_its_nodes_back_at_once() -> None:
    simulated = SimulatedFleet(64)
    for index in range(8):
        simulated.says(f"n{index}", "fabric.port_down", "fail")
        simulated.fleet.retest(f"n{index}", "looked odd", "ann", simulated.now)
        simulated.test(f"n{index}", "fail", "fabric.port_down")
    simulated.passes()
    assert "leaf/l0" in simulated.incidents()
    held = [name for name, node in simulated.fleet.nodes.items() if node.held and node.stage is Stage.TESTING]
    assert len(held) >= 4
    for index in range(8):
        simulated.says(f"n{index}", "fabric.port_down", "pass")
    simulated.passes()
    assert "leaf/l0" not in simulated.incidents()
    for name in held:
        assert simulated.fleet.nodes[name].asked_at is not None
        simulated.test(name)
        assert simulated.stage(name) is Stage.READY
