"""What failing nodes share is named once, whatever the order, and unrelated failures are left alone."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.shared_cause import Places, explain, suspect
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


def test_scattered_failures_have_no_shared_cause() -> None:
    assert not parents(["n0", "n17", "n33", "n49"], Places(nodes(64, leaf=16, loop=32)))


def test_a_node_that_a_person_has_is_behind_nothing() -> None:
    places = Places(nodes(8, leaf=8))
    for name in ("n5", "n6", "n7"):
        places.put(NodeState(name=name, place={"leaf": "leaf0"}, stage=Stage.REMOVED))
    assert places.below("leaf/leaf0") == {"n0", "n1", "n2", "n3", "n4"}
    assert parents(["n5", "n6", "n7", "n0"], places) == []


def test_a_parent_is_suspect_when_it_fails_far_more_often_than_the_rest() -> None:
    places = Places(nodes(128, leaf=16, loop=64))
    assert suspect("n1", {"n0", "n1"}, places, POLICY) == "leaf/leaf0"
    assert not suspect("n1", {"n1", "n100"}, places, POLICY)
    everywhere = {f"n{i}" for i in range(0, 128, 4)}
    assert not suspect("n0", everywhere, places, POLICY)


def test_where_everything_is_behind_one_parent_nobody_waits_for_it() -> None:
    assert not suspect("n1", {"n0", "n1"}, Places(nodes(64, loop=64)), POLICY)


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
