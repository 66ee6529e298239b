"""Nobody is quarantined en masse by mistake, and spares are counted from who is out."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.decisions.breaker import Tally, breaker, spares_short, spares_wanted, tally
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import NodeState, Stage


def fleet(count: int, out: int = 0, spares: int = 0) -> list[NodeState]:
    stages = [Stage.QUARANTINED] * out + [Stage.SPARE] * spares
    return [
        NodeState(name=f"n{i}", stage=stages[i] if i < len(stages) else Stage.READY, pool="default")
        for i in range(count)
    ]


def test_the_breaker_trips_at_the_smaller_of_share_and_cap() -> None:
    policy = Policy(breaker_share=0.1, breaker_nodes=8)
    assert not breaker(fleet(64, out=5), "default", policy).open
    tripped = breaker(fleet(64, out=6), "default", policy)
    assert tripped.open
    assert "6 of 64" in tripped.reason
    assert breaker(fleet(1000, out=8), "default", policy).open


def test_a_pool_has_its_own_limits_if_it_is_given_some() -> None:
    policy = Policy(pools={"default": Policy(breaker_share=1.0, breaker_nodes=20)})
    assert not breaker(fleet(20, out=19), "default", policy).open
    assert breaker([replace(node, pool="other") for node in fleet(20, out=19)], "other", policy).open


def test_one_node_may_always_leave_even_a_tiny_pool() -> None:
    assert not breaker(fleet(4), "default", Policy()).open


def test_a_node_on_trial_after_it_failed_is_still_counted_as_out() -> None:
    trial = NodeState(name="n0", stage=Stage.TESTING, failed=True)
    assert breaker([trial, *fleet(5)[1:]], "default", Policy()).open
    assert not breaker([replace(trial, failed=False), *fleet(5)[1:]], "default", Policy()).open


@given(st.integers(1, 300), st.floats(0, 1), st.integers(0, 50))
def test_the_cap_is_never_zero_and_never_above_either_limit(size: int, share: float, most: int) -> None:
    found = breaker(fleet(size), "default", Policy(breaker_share=share, breaker_nodes=most))
    assert 1 <= found.cap <= max(1, most)


def test_every_node_that_is_out_needs_one_spare_less_held_back() -> None:
    policy = Policy(spares=3)
    assert spares_wanted(tally(fleet(10), "default"), "default", policy) == 3
    assert spares_wanted(tally(fleet(10, out=2), "default"), "default", policy) == 1
    assert spares_wanted(tally(fleet(10, out=5), "default"), "default", policy) == 0
    assert spares_short(fleet(10, out=2, spares=1), "default", policy) == 2


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(list(Stage)), st.booleans()), max_size=40))
def test_counting_node_by_node_is_counting_them_all(moves: list[tuple[int, Stage, bool]]) -> None:
    nodes = {node.name: node for node in fleet(10)}
    kept = tally(nodes.values(), "default")
    for number, stage, failed in moves:
        before = nodes[f"n{number}"]
        nodes[before.name] = replace(before, stage=stage, failed=failed)
        kept.count(before, -1)
        kept.count(nodes[before.name], 1)
    assert kept == tally(nodes.values(), "default")
    assert isinstance(kept, Tally)


@pytest.mark.parametrize(
    ("size", "share", "most", "cap"),
    [
        (100, 0.1, 20, 10),  # the share is smaller
        (100, 0.1, 8, 8),  # the cap is smaller
        (19, 0.1, 8, 1),  # a part of a node is no node
        (20, 0.1, 8, 2),
        (4, 0.0, 0, 1),  # one may always leave
    ],
)
def test_what_a_pool_may_lose(size: int, share: float, most: int, cap: int) -> None:
    policy = Policy(breaker_share=share, breaker_nodes=most)
    assert breaker(fleet(size), "default", policy).cap == cap
    assert not breaker(fleet(size, out=cap - 1), "default", policy).open
    assert breaker(fleet(size, out=cap), "default", policy).open


def test_an_open_breaker_says_so_and_a_closed_one_says_how_many_are_out() -> None:
    words = "2 of 10 nodes of pool default are out of service, 1 may be"
    assert breaker(fleet(10, out=2), "default", Policy()).reason == f"breaker open: {words}; observing only"
    closed = breaker(fleet(10), "default", Policy())
    assert closed.reason == "0 of 10 nodes of pool default are out of service, 1 may be"


def test_a_removed_node_is_not_of_the_pool_and_uses_no_spare() -> None:
    gone = NodeState(name="gone", stage=Stage.REMOVED)
    counted = tally([*fleet(4, out=1), gone], "default")
    assert (counted.here, counted.out) == (4, 1)
    policy = Policy(spares=5)
    assert spares_wanted(counted, "default", policy) == 4
    assert spares_wanted(counted, "default", policy, returning=1) == 5


def test_nodes_of_other_pools_do_not_count() -> None:
    other = [replace(node, pool="other") for node in fleet(9, out=3, spares=2)]
    counted = tally([*fleet(5, out=1, spares=1), *other], "default")
    assert (counted.here, counted.out, counted.spares) == (5, 1, {"n1"})


def test_spares_are_known_by_name_while_they_are_spares() -> None:
    counted = tally(fleet(3, spares=2), "default")
    assert counted.spares == {"n0", "n1"}
    counted.count(NodeState(name="n0", stage=Stage.SPARE), -1)
    assert counted.spares == {"n1"}


@pytest.mark.parametrize(("held", "short"), [(0, 2), (1, 1), (2, 0), (3, 0)])
def test_how_many_spares_a_pool_lacks(held: int, short: int) -> None:
    assert spares_short(fleet(10, spares=held), "default", Policy(spares=2)) == short
