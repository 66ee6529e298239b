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


def test_a_suspect_meets_somebody_good_whom_it_has_not_met():
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
