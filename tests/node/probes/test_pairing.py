"""Rounds: no one twice, everybody in time, suspects with somebody good."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.node.probes.isolation.pairing import every_pair, next_round, pair

NAMES = st.integers(0, 40).map(lambda count: [f"n{i:02d}" for i in range(count)])


@given(NAMES, st.integers(0, 100), st.sets(st.integers(0, 39)), st.sets(st.integers(0, 39)))
def test_a_node_is_in_one_pair_of_a_round_at_most(nodes, number, doubtful, good):
    suspects = [name for i, name in enumerate(nodes) if i in doubtful]
    trusted = [name for i, name in enumerate(nodes) if i in good]
    pairs = next_round(nodes, number, suspects=suspects, trusted=trusted)
    ends = [end for one in pairs for end in one]
    assert len(ends) == len(set(ends))
    assert len(pairs) == len(nodes) // 2


@given(NAMES)
def test_in_a_whole_turn_everybody_meets_everybody_once(nodes):
    met = [one for turn in every_pair(nodes) for one in turn]
    assert len(met) == len(set(met)) == len(nodes) * (len(nodes) - 1) // 2


def test_a_suspect_is_paired_with_a_good_node_that_it_has_not_met():
    nodes = ["a", "b", "c", "d"]
    pairs = next_round(nodes, 1, suspects=["a"], trusted=["b", "d"], met={pair("a", "b")})
    assert pair("a", "d") in pairs


def test_two_suspects_do_not_prove_each_other():
    pairs = next_round(["a", "b", "c", "d"], 0, suspects=["a", "b"], trusted=["a", "c", "d"])
    assert pair("a", "b") not in pairs


def test_a_pair_under_suspicion_meets_again():
    assert pair("a", "c") in next_round(["a", "b", "c", "d"], 0, suspect_pairs=[("c", "a")])


def test_the_first_round_crosses_from_every_leaf_to_others():
    nodes = [f"n{i:02d}" for i in range(64)]
    leaves = {name: f"l{i // 8}" for i, name in enumerate(nodes)}
    crossing = [one for one in next_round(nodes, 0, leaves=leaves) if leaves[one[0]] != leaves[one[1]]]
    assert len(crossing) >= 24
    assert {leaves[end] for one in crossing for end in one} == set(leaves.values())


def test_a_pair_is_the_same_whoever_is_named_first():
    assert pair("b", "a") == pair("a", "b") == ("a", "b")


def test_who_is_taken_already_meets_no_other():
    """A pair under suspicion comes first; a suspect or a good one in it is not free any more."""
    nodes = ["a", "b", "c", "d"]
    assert next_round(nodes, 0, suspect_pairs=[("a", "b"), ("b", "c"), ("c", "a")])[0] == ("a", "b")
    assert len(next_round(nodes, 0, suspect_pairs=[("a", "b"), ("b", "c")])) == 2
    pairs = next_round(nodes, 0, suspect_pairs=[("a", "b")], suspects=["a", "c"], trusted=["b", "d"])
    assert sorted(pairs) == [("a", "b"), ("c", "d")]


def test_who_left_meets_no_one():
    nodes = ["a", "b", "c", "d"]
    known = {"suspect_pairs": [("a", "x"), ("x", "b")], "suspects": ["x", "a"], "trusted": ["x", "d"]}
    pairs = next_round(nodes, 0, **known)
    assert ("a", "d") in pairs
    assert sorted(end for one in pairs for end in one) == nodes


def test_a_suspect_that_met_everybody_good_waits_for_its_turn():
    pairs = next_round(["a", "b", "c", "d"], 0, suspects=["a"], trusted=["d"], met={("a", "d")})
    assert pairs == every_pair(["a", "b", "c", "d"])[0]


def test_without_leaves_the_order_is_that_of_the_nodes():
    assert next_round(["d", "c", "b", "a"], 0) == every_pair(["d", "c", "b", "a"])[0]
    assert next_round(["n1", "n2"], 5) == [("n1", "n2")]


def test_after_a_whole_turn_it_starts_again():
    nodes = [f"n{number}" for number in range(6)]
    rounds = [frozenset(next_round(nodes, number)) for number in range(10)]
    assert len(set(rounds[:5])) == 5
    assert rounds[5:] == rounds[:5]


def test_one_of_every_leaf_in_turn():
    """The first of both leaves sit side by side, and so do the second: in the second round they meet."""
    nodes = ["a1", "a2", "b1", "b2"]
    pairs = next_round(nodes, 1, leaves={name: name[0] for name in nodes})
    assert sorted(pairs) == [("a1", "b1"), ("a2", "b2")]
    assert sorted(next_round(nodes, 1)) == [("a1", "a2"), ("b1", "b2")]
