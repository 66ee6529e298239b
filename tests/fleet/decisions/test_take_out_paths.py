"""A shared cause takes no node out, by whatever path its nodes come to fail, and in whatever order."""

import random
from collections.abc import Callable

import pytest

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.incident import IncidentState
from holdfast.model.lifecycle import OUT_OF_SERVICE, EventKind, Stage, Verb
from tests.counts import draws
from tests.fleet.decisions.simulated_fleet import SimulatedFleet

POLICY = Policy(dry_run=False)
SIZES = {"rack": 8, "leaf": 16, "loop": 32, "feed": 64}
REPAIRS = {Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT}
PATHS = ("fails", "degrades first", "degrades often", "falls silent", "under test", "in reset")
LEAF = tuple(f"n{number}" for number in range(16))


def place(index: int) -> dict[str, str]:
    return {kind: f"{kind}{index // size}" for kind, size in SIZES.items()}


def fleet(count: int) -> SimulatedFleet:
    made = SimulatedFleet(count, policy=POLICY, place=place)
    made.passes(1000.0)
    return made


def run(made: SimulatedFleet, happenings: list[tuple[float, Callable[[], None]]], seconds: float) -> None:
    """Everything at its time: a tick each second while something happens, then every ten."""
    began, left = made.now, sorted(happenings, key=lambda one: one[0])
    while made.now < began + seconds or left:
        while left and left[0][0] <= made.now - began:
            left.pop(0)[1]()
        made.passes(1.0 if left else 10.0)


def shared_incidents(made: SimulatedFleet) -> list[str]:
    return sorted(subject for subject in made.incidents() if subject.partition("/")[0] in SIZES)


def taken_out(made: SimulatedFleet, since: int) -> set[str]:
    return {
        step.node.name
        for step in made.steps[since:]
        if step.transition.after in OUT_OF_SERVICE and step.transition.before not in OUT_OF_SERVICE
    }


def repaired(made: SimulatedFleet, since: int) -> list[tuple[str, Verb]]:
    return [(one.node, one.verb) for step in made.steps[since:] for one in step.actions if one.verb in REPAIRS]


def says(made: SimulatedFleet, name: str, check: str, after: str) -> Callable[[], None]:
    return lambda: made.says(name, check, after)


def on_a_path(made: SimulatedFleet, name: str, path: str, at: float, draw: random.Random) -> list:  # type: ignore[type-arg]
    """What happens to one node of the broken leaf, and when."""
    if path == "fails":
        return [(at, says(made, name, "fabric.port_down", "fail"))]
    if path == "degrades first":
        begin = draw.uniform(0, at)
        return [
            (begin, says(made, name, "fabric.errors", "degraded")),
            (at, says(made, name, "fabric.port_down", "fail")),
        ]
    if path == "degrades often":
        times = sorted(draw.uniform(0, max(1.0, at)) for _ in range(4))
        healths = ("degraded", "pass", "degraded", "pass")
        flaps = [(when, says(made, name, "fabric.errors", health)) for when, health in zip(times, healths, strict=True)]
        return [*flaps, (at + 1, says(made, name, "fabric.errors", "degraded"))]
    if path == "falls silent":
        return [(at, lambda: made.quiet.add(name))]
    if path == "under test":
        return [(at, lambda: made.test(name, "fail", "fabric.port_down"))]
    return [(at, lambda: made.reset(name, ok=False)), (at + 1, says(made, name, "fabric.port_down", "fail"))]


@pytest.mark.parametrize("block", range(draws(4, 8)))
def test_a_leaf_that_fails_in_random_ways_is_one_incident_and_drains_none_of_its_nodes(block: int) -> None:
    """Each draw has its own order and paths, and its nodes were doing other things."""
    for seed in range(25 * block, 25 * block + draws(1, 25)):
        draw = random.Random(seed)
        made = fleet(64)
        paths = dict.fromkeys(LEAF, "fails") | {name: draw.choice(PATHS) for name in LEAF if draw.random() < 0.7}
        in_reset = sorted(name for name, path in paths.items() if path == "in reset")
        for name in in_reset[1:]:
            paths[name] = "fails"
        for name in in_reset[:1]:  # broken by itself an hour before
            made.says(name, "gpu.xid", "fail")
            run(made, [], 60.0)
            made.says(name, "gpu.xid", "pass")
            assert made.stage(name) is Stage.RESETTING
            made.passes(600.0)
        for name in (name for name, path in paths.items() if path == "under test"):
            made.steps += made.fleet.operator(name, EventKind.RETEST, "new driver", "ann", made.now)
        before = len(made.steps)
        found = [one for name in LEAF for one in on_a_path(made, name, paths[name], draw.uniform(0, 40), draw)]
        run(made, found, 200.0)
        assert taken_out(made, before) <= set(in_reset[:1]), (seed, paths)
        assert repaired(made, before) == [], (seed, paths)
        assert shared_incidents(made) == ["leaf/leaf0"], (seed, paths)
        assert list(made.incidents()) == ["leaf/leaf0"], (seed, paths)
        heal(made)
        assert not made.incidents(), (seed, paths)
        assert {made.stage(name) for name in LEAF} <= {Stage.TESTING, Stage.READY}, (seed, paths)
        assert_tested_before_work(made, before, {name for name in LEAF if paths[name] != "falls silent"}, seed)


def heal(made: SimulatedFleet) -> None:
    """The cause is repaired: every check passes again, every agent reports, and every test that is asked for passes."""
    made.quiet.clear()
    for name in made.fleet.nodes:
        for check in {one.check for one in made.fleet.verdicts(name) if one.after != "pass"}:
            made.says(name, check, "pass")
    for _ in range(3):
        for _ in range(7):
            made.passes(100.0)
        for name, node in list(made.fleet.nodes.items()):
            if node.stage is Stage.TESTING:
                made.test(name)
    made.passes(1.0)


def assert_tested_before_work(made: SimulatedFleet, since: int, failed: set[str], seed: int) -> None:
    """Whoever failed passed a full test before it was opened again."""
    tested = {
        step.node.name
        for step in made.steps[since:]
        if step.transition.event.kind is EventKind.TEST_PASSED and step.transition.after is Stage.READY
    }
    assert failed <= tested, (seed, failed - tested)
    assert all(made.fleet.nodes[name].takes_work for name in failed), seed


@pytest.mark.parametrize("seed", range(draws(1, 20)))
def test_forty_percent_behind_shared_parents_drain_no_node_and_all_are_tested_when_it_is_over(seed: int) -> None:
    draw = random.Random(seed)
    made = fleet(256)
    kind = draw.choice(sorted(SIZES))
    size = SIZES[kind]
    chosen = draw.sample(range(256 // size), max(1, 102 // size))
    failed = [f"n{number}" for number in range(256) if number // size in chosen]
    before = len(made.steps)
    check = draw.choice(("gpu.lost", "fabric.port_down", "gpu.throttle"))
    run(made, [(draw.uniform(0, 60), says(made, name, check, "fail")) for name in failed], 200.0)
    assert taken_out(made, before) == set()
    assert repaired(made, before) == []
    assert {node for subject in shared_incidents(made) for node in made.incidents()[subject].evidence} == set(failed)
    assert not any(made.fleet.nodes[name].takes_work for name in failed)
    heal(made)
    assert not made.incidents()
    assert_tested_before_work(made, before, set(failed), seed)


@pytest.mark.parametrize("seed", range(draws(1, 20)))
def test_forty_percent_at_random_are_no_shared_incident(seed: int) -> None:
    draw = random.Random(seed)
    made = fleet(256)
    failed = draw.sample(sorted(made.fleet.nodes), 102)
    run(made, [(draw.uniform(0, 60), says(made, name, "gpu.lost", "fail")) for name in failed], 200.0)
    opened = {*made.incidents(), *made.incidents(IncidentState.CLOSED)}
    assert {subject for subject in opened if subject.partition("/")[0] in SIZES} == set()
    assert set(made.incidents()) == {"pool/default"}  # the breaker holds the rest
    assert len(made.out()) == POLICY.breaker_nodes
    assert not any(made.fleet.nodes[name].takes_work for name in failed)
