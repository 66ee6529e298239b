"""What failing nodes share is named once, whatever the order, and unrelated failures are left alone."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.shared_cause import Places, enough, explain, kinds_for, suspect
from holdfast.model.lifecycle import NodeState, Stage

POLICY = Policy()


def nodes(count: int, **sizes: int) -> list[NodeState]:
    """n0, n1, ... with so many behind each leaf, loop, ..."""
    return [
        NodeState(name=f"n{i}", place={kind: f"{kind}{i // size}" for kind, size in sizes.items()})
        for i in range(count)
    ]


def names(numbers: range) -> list[str]:
    return [f"n{i}" for i in numbers]


def parents(failed: list[str], places: Places, known: tuple[str, ...] = ()) -> list[str]:
    return [cause.parent for cause in explain(failed, places, POLICY, known)]


def test_fifty_nodes_behind_one_loop_are_the_loops_though_a_feed_is_wholly_down_too() -> None:
    places = Places(nodes(64, rack=8, leaf=16, loop=50, feed=32))
    assert parents(names(range(50)), places) == ["loop/loop0"]
    assert parents(names(range(50)), places, known=("feed/feed0",)) == ["loop/loop0"]


def test_a_leaf_explains_its_own_nodes_better_than_the_loop_above_it() -> None:
    places = Places(nodes(64, leaf=16, loop=32))
    assert parents(names(range(16)), places) == ["leaf/leaf0"]
    assert parents(names(range(26)), places) == ["loop/loop0"]


def test_two_leaves_far_apart_are_two_incidents() -> None:
    places = Places(nodes(128, leaf=16, loop=64))
    both = names(range(16)) + names(range(64, 80))
    assert sorted(parents(both, places)) == ["leaf/leaf0", "leaf/leaf4"]


def test_parents_with_the_very_same_nodes_are_named_together() -> None:
    (found,) = explain(names(range(32)), Places(nodes(64, loop=32, feed=32)), POLICY)
    assert found.parent == "feed/feed0"
    assert found.name == "feed/feed0 (or loop/loop0: the same nodes)"
    assert "32 of 32 nodes behind feed/feed0 (or loop/loop0: the same nodes) failed together" in found.reason


@pytest.mark.parametrize(
    ("check", "parent"),
    [
        ("gpu.throttle", "loop/loop0"),
        ("gpu.temperature", "loop/loop0"),
        ("gpu.power", "feed/feed0"),
        ("fabric.port_down", "leaf/leaf0"),
        ("gpu.xid", "feed/feed0"),
    ],
)
def test_of_parents_with_the_same_nodes_the_check_names_the_one(check: str, parent: str) -> None:
    """gpu.xid points to none: then the alphabet decides, and the others are named beside it."""
    places = Places(nodes(64, loop=32, feed=32, leaf=32))
    (found,) = explain(names(range(32)), places, POLICY, prefer=kinds_for(check))
    assert found.parent == parent
    assert len(found.same) == 2


def test_a_parent_that_explains_more_wins_whatever_the_check_points_to() -> None:
    places = Places(nodes(64, leaf=32, loop=16))
    assert [one.parent for one in explain(names(range(32)), places, POLICY, prefer=("loop",))] == ["leaf/leaf0"]


def test_scattered_failures_have_no_shared_cause() -> None:
    assert not parents(["n0", "n17", "n33", "n49"], Places(nodes(64, leaf=16, loop=32)))


def test_a_node_that_a_person_has_is_behind_nothing() -> None:
    places = Places(nodes(8, leaf=8))
    for name in ("n5", "n6", "n7"):
        places.put(NodeState(name=name, place={"leaf": "leaf0"}, stage=Stage.REMOVED))
    assert places.below("leaf/leaf0") == {"n0", "n1", "n2", "n3", "n4"}
    assert parents(["n5", "n6", "n7", "n0"], places) == []


def test_the_parent_with_most_failures_is_suspect_and_of_equals_the_smallest() -> None:
    places = Places(nodes(128, leaf=16, loop=64))
    assert suspect("n1", {"n1"}, places, POLICY) == ("leaf/leaf0", 0)
    assert suspect("n1", {"n0", "n1"}, places, POLICY) == ("leaf/leaf0", 1)
    assert suspect("n1", {"n1", "n20", "n21"}, places, POLICY) == ("loop/loop0", 2)
    assert suspect("n1", {"n1", "n100"}, places, POLICY) == ("leaf/leaf0", 0)


def test_a_parent_with_too_few_nodes_to_be_a_cause_is_not_waited_for() -> None:
    assert suspect("n1", {"n0", "n1"}, Places(nodes(128, leaf=4)), POLICY) == ("leaf/leaf0", 1)
    assert suspect("n1", {"n0", "n1"}, Places(nodes(128, leaf=4)), Policy(shared_nodes=5)) == ("", 0)
    assert suspect("n1", {"n1"}, Places(nodes(4, leaf=1)), Policy(shared_nodes=1)) == ("", 0)


def storm(failed: set[str], places: Places) -> list[str]:
    return [cause.parent for cause in explain(failed, places, POLICY)]


def test_random_failures_have_no_shared_cause_though_many_racks_are_half_down() -> None:
    """Forty percent of 256 nodes, drawn 200 times: one rack in three has half of its nodes down by chance."""
    places = Places(nodes(256, rack=8, leaf=16, loop=32, feed=64))
    found = [storm(set(random.Random(seed).sample(names(range(256)), 102)), places) for seed in range(200)]
    assert found == [[]] * 200
    few = [storm(set(random.Random(seed).sample(names(range(256)), 26)), places) for seed in range(200)]
    assert few == [[]] * 200


@pytest.mark.parametrize(("kind", "size"), [("rack", 8), ("leaf", 16), ("loop", 32), ("feed", 64)])
def test_forty_percent_behind_shared_parents_are_those_parents(kind: str, size: int) -> None:
    places = Places(nodes(256, rack=8, leaf=16, loop=32, feed=64))
    for seed in range(20):
        chosen = random.Random(seed).sample(range(256 // size), max(1, 102 // size))
        failed = {f"n{number}" for number in range(256) if number // size in chosen}
        named = explain(failed, places, POLICY)
        assert {node for cause in named for node in cause.nodes} == failed
        assert len(named) <= len(chosen)


def test_a_broken_leaf_is_named_in_the_middle_of_random_failures() -> None:
    places = Places(nodes(256, rack=8, leaf=16))
    for seed in range(20):
        failed = {*random.Random(seed).sample(names(range(16, 256)), 24), *names(range(16))}
        assert storm(failed, places) == ["leaf/leaf0"]


def test_a_parent_that_is_known_stays_in_a_storm_that_would_not_name_it() -> None:
    places = Places(nodes(256, rack=8))
    failed = {*names(range(5)), *random.Random(1).sample(names(range(8, 256)), 100)}
    assert parents(sorted(failed), places) == []
    assert parents(sorted(failed), places, known=("rack/rack0",)) == ["rack/rack0"]


def test_more_than_half_of_a_fleet_is_never_chance() -> None:
    places = Places(nodes(256, rack=8, loop=32))
    rest = random.Random(3).sample(names(range(256)), 250)
    assert storm(set(rest), places) != []


@st.composite
def topologies(draw: st.DrawFn) -> tuple[list[NodeState], str]:
    """Any places, with one parent of at least four nodes to break."""
    count = draw(st.integers(8, 80))
    kinds = draw(st.lists(st.sampled_from(["rack", "leaf", "loop", "feed"]), min_size=1, max_size=4, unique=True))
    groups = {kind: draw(st.lists(st.integers(0, 4), min_size=count, max_size=count)) for kind in kinds}
    made = [NodeState(name=f"n{i}", place={kind: f"{groups[kind][i]}" for kind in kinds}) for i in range(count)]
    sizes = {f"{kind}/{group}": groups[kind].count(group) for kind in kinds for group in set(groups[kind])}
    broken = draw(st.sampled_from(sorted(parent for parent, size in sizes.items() if size >= 4) or [""]))
    return made, broken


@given(topologies(), st.randoms(use_true_random=False))
def test_a_parent_all_of_whose_nodes_fail_is_the_one_named(made: tuple[list[NodeState], str], order: object) -> None:
    lives, broken = made
    if not broken:
        return
    places = Places(lives)
    failed = sorted(places.below(broken))
    order.shuffle(failed)  # type: ignore[attr-defined]
    known: tuple[str, ...] = ()
    for number in range(1, len(failed) + 1):
        found = explain(failed[:number], places, POLICY, known)
        known = tuple(cause.parent for cause in found)
        explained = [name for cause in found for name in cause.nodes]
        assert len(explained) == len(set(explained))  # nobody twice
        assert set(explained) <= set(failed[:number])  # nobody healthy
    (only,) = explain(failed, places, POLICY, known)
    assert broken in (only.parent, *only.same)
    assert only.nodes == set(failed)


def known_by(count: int, failed: int, nodes_needed: int = 4, share: float = 0.5) -> bool:
    policy = Policy(shared_nodes=nodes_needed, shared_share=share)
    found = explain(names(range(failed)), Places(nodes(count, leaf=count)), policy)
    assert enough(failed, count, policy) is bool(found)
    return bool(found)


def test_how_many_failures_make_a_parent_the_cause() -> None:
    assert known_by(8, 4)
    assert not known_by(8, 3)  # fewer than half
    assert not known_by(4, 3)  # fewer than four
    assert known_by(9, 5)
    assert not known_by(9, 4)
    assert known_by(20, 5, share=0.25)


def test_between_equals_the_one_that_is_known_stays_then_the_larger_then_the_first_by_name() -> None:
    same = Places(nodes(16, feed=8, loop=8))
    assert parents(names(range(8)), same) == ["feed/feed0"]
    assert parents(names(range(8)), same, known=("loop/loop0",)) == ["loop/loop0"]
    # Ten of sixteen less eight is worth as much as six of eight less four: the one that explains more is named.
    nested = Places(nodes(16, leaf=8, row=16))
    six_and_four = [*names(range(6)), *names(range(8, 12))]
    assert parents(six_and_four, nested) == ["row/row0"]


def test_parents_are_the_same_only_if_exactly_the_same_nodes_are_behind_them() -> None:
    lives = [*nodes(32, loop=32, feed=32), NodeState(name="extra", place={"feed": "feed0"})]
    (found,) = explain(names(range(32)), Places(lives), POLICY)
    assert (found.parent, found.same, found.name) == ("loop/loop0", (), "loop/loop0")
    assert found.reason == (
        "32 of 32 nodes behind loop/loop0 failed together: one incident on loop/loop0, no quarantine of its nodes"
    )


def test_a_nodes_own_address_and_pool_are_no_parents() -> None:
    place = {"pool": "train", "fabric": "f1", "address": "10.0.0.1", "node": "n1", "maintenance": "w", "rack": "r1"}
    places = Places([NodeState(name="n1", place=place)])
    assert places.parents("n1") == ("rack/r1",)
    assert places.parents("stranger") == ()
    assert places.below("rack/r9") == set()
    assert len(places) == 1


def test_a_node_that_moved_is_behind_its_new_parents_only() -> None:
    places = Places(nodes(4, rack=2))
    places.put(NodeState(name="n0", place={"rack": "rack1"}))
    assert (places.below("rack/rack0"), places.below("rack/rack1")) == ({"n1"}, {"n0", "n2", "n3"})


def plainly_named(failed: set[str], places: Places) -> list[str]:
    """The definition: the parent of the greatest worth, then that of the rest; every parent is looked at every time."""
    found: list[str] = []
    left = set(failed)
    while True:
        explained = {parent: places.below(parent) & left for name in left for parent in places.parents(name)}
        ranked = [
            (POLICY.shared_share * len(places.below(parent)) - len(some), -len(some), len(places.below(parent)), parent)
            for parent, some in explained.items()
            if enough(len(some), len(places.below(parent)), POLICY)
        ]
        if not ranked:
            return found
        found.append(min(ranked)[-1])
        left -= explained[found[-1]]


@given(st.integers(0, 2**32), st.integers(49, 96))
def test_a_storm_is_explained_as_if_every_parent_was_compared_every_time(seed: int, count: int) -> None:
    """More than half of the fleet: chance is not considered."""
    chance = random.Random(seed)
    places = Places(nodes(96, rack=chance.choice([4, 8]), leaf=12, loop=chance.choice([24, 30]), feed=48))
    failed = chance.sample(names(range(96)), count)
    assert parents(failed, places) == plainly_named(set(failed), places)
