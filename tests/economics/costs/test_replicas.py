"""Copies in memory: GEMINI's figures, brute force over all sets of dead nodes, and the domains that dominate."""

from itertools import combinations
from math import comb

import pytest

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.replicas import FailureDomain, loss_chance, loss_rate


@pytest.mark.parametrize(("nodes", "replicas"), [(6, 2), (6, 3), (8, 2), (8, 4), (9, 3)])
def test_the_formula_is_what_counting_gives(nodes: int, replicas: int) -> None:
    for dead in range(nodes + 1):
        sets = list(combinations(range(nodes), dead))
        lost = sum(
            any(all(n in down for n in range(g, g + replicas)) for g in range(0, nodes, replicas))
            for down in map(set, sets)
        )
        assert loss_chance(nodes, replicas, dead) == pytest.approx(lost / len(sets), abs=1e-12)


@pytest.mark.parametrize(("nodes", "dead", "kept"), [(16, 2, 0.933), (16, 3, 0.800), (128, 2, 0.992), (1024, 2, 0.999)])
def test_what_gemini_recovers(nodes: int, dead: int, kept: float) -> None:
    assert 1 - loss_chance(nodes, 2, dead) == pytest.approx(kept, abs=5e-4)
    assert loss_chance(nodes, 2, dead) == pytest.approx(
        1 - comb(nodes // 2, dead) * (1 << dead) / comb(nodes, dead)
    )  # closed form for pairs
    assert loss_chance(nodes, 2, 2) == pytest.approx(1 / (nodes - 1))


def test_a_rack_that_holds_both_copies_dominates() -> None:
    rack = FailureDomain(name="rack", nodes=8, failures_per_second=1e-8)
    apart = loss_rate(128, 2, 1e-7, 600, (rack,), spread=True)
    together = loss_rate(128, 2, 1e-7, 600, (rack,), spread=False)
    assert together - apart == pytest.approx(16 * 1e-8)
    assert together > 100 * apart


def test_a_third_copy_helps() -> None:
    assert loss_rate(120, 3, 1e-7, 600) < loss_rate(120, 2, 1e-7, 600) / 1000


@pytest.mark.parametrize(("nodes", "replicas", "dead"), [(7, 2, 1), (8, 0, 1), (8, 2, 9), (8, 2, -1)])
def test_what_cannot_be_is_reported(nodes: int, replicas: int, dead: int) -> None:
    with pytest.raises(BadNumber):
        loss_chance(nodes, replicas, dead)


def test_a_domain_smaller_than_a_group_takes_no_group() -> None:
    small = FailureDomain(name="chassis", nodes=2, failures_per_second=1e-8)
    assert loss_rate(120, 3, 1e-7, 600, (small,), spread=False) == loss_rate(120, 3, 1e-7, 600)
    just = FailureDomain(name="chassis", nodes=3, failures_per_second=1e-8)
    assert loss_rate(120, 3, 1e-7, 600, (just,), spread=False) > loss_rate(120, 3, 1e-7, 600)


def test_the_edges_of_groups() -> None:
    assert [loss_chance(2, 2, dead) for dead in (0, 1, 2)] == [0, 0, 1]
    assert [loss_chance(4, 1, dead) for dead in (0, 1)] == [0, 1]
    assert loss_chance(4, 2, 4) == 1
    for nodes, replicas in ((0, 2), (1, 2), (2, 4), (0, 1), (4, -2)):
        with pytest.raises(BadNumber):
            loss_chance(nodes, replicas, 0)


def test_how_often_all_copies_die_by_hand() -> None:
    """6 nodes in threes, a tenth of a rebuild's time between failures: 6 x 0.01 x (2 x 0.1) x (1 x 0.1)."""
    rack = FailureDomain(name="rack", nodes=3, failures_per_second=0.5)
    assert loss_rate(6, 3, 0.01, 10) == pytest.approx(0.0012)
    assert loss_rate(6, 2, 0.01, 10) == pytest.approx(0.006)
    assert loss_rate(6, 1, 0.01, 10) == pytest.approx(0.06)
    assert loss_rate(6, 3, 0.01, 10, (rack,)) == pytest.approx(0.0012)
    assert loss_rate(6, 3, 0.01, 10, (rack, rack), spread=False) == pytest.approx(0.0012 + 2)
