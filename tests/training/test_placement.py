"""Partners apart, and the chance of recovery against counting every case."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.training.checkpoint.keeper.placement import KeeperNode, chance_of_recovery, place


def nodes(count: int, racks: int = 1, groups: int = 0) -> list[KeeperNode]:
    return [
        KeeperNode(f"n{at:04}", f"r{at % racks}" if racks > 1 else "", f"g{at // 2 % groups}" if groups else "")
        for at in range(count)
    ]


@pytest.mark.parametrize(
    ("count", "lost", "published"), [(16, 2, 0.933), (16, 3, 0.800), (128, 2, 0.992), (1024, 2, 0.9990)]
)
def test_the_published_numbers_of_gemini(count: int, lost: int, published: float) -> None:
    assert chance_of_recovery(place(nodes(count), 2), lost) == pytest.approx(published, abs=5e-4)


@given(count=st.integers(1, 9), replicas=st.integers(1, 4), lost=st.integers(0, 9))
def test_the_chance_is_what_counting_every_case_gives(count: int, replicas: int, lost: int) -> None:
    lost = min(lost, count)
    placement = place(nodes(count), replicas)
    cases = list(combinations([node.name for node in nodes(count)], lost))
    counted = sum(placement.survives(case) for case in cases) / len(cases)
    assert chance_of_recovery(placement, lost) == pytest.approx(counted)


@given(racks=st.integers(2, 8), per_rack=st.integers(1, 6), replicas=st.integers(2, 3))
def test_no_partner_in_the_same_rack_where_there_are_racks_enough(racks: int, per_rack: int, replicas: int) -> None:
    if racks < 2 * replicas:  # a ring of up to 2 * replicas - 1 nodes may need as many racks
        racks = 2 * replicas
    placement = place(nodes(racks * per_rack, racks), replicas)
    rack = {node.name: node.rack for circle in placement.circles for node in circle}
    assert all(rack[name] != rack[partner] for name in rack for partner in placement.partners(name))
    assert placement.shared() == ()


def test_parallel_groups_are_kept_apart_and_what_cannot_be_is_reported() -> None:
    assert place(nodes(8, groups=4), 2).shared() == ()
    alone = place([KeeperNode("a", "r1"), KeeperNode("b", "r1")], 2)
    assert alone.partners("a") == ("b",)
    assert alone.shared() == ("a and b share rack r1",)


@given(count=st.integers(1, 40), replicas=st.integers(1, 5))
def test_every_node_has_its_replicas_on_other_nodes(count: int, replicas: int) -> None:
    placement = place(nodes(count), replicas)
    for node in nodes(count):
        partners = placement.partners(node.name)
        assert len({node.name, *partners}) == min(replicas, count)


def test_a_lost_rack_is_survived_when_partners_are_apart() -> None:
    placement = place(nodes(12, racks=4), 2)
    assert placement.survives([node.name for node in nodes(12, racks=4) if node.rack == "r2"])


def test_nonsense_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="0 replicas: expected 1 or more"):
        place(nodes(2), 0)
    with pytest.raises(ValueError, match="two nodes have one name"):
        place([KeeperNode("a"), KeeperNode("a")], 2)
    with pytest.raises(ValueError, match="3 lost nodes: expected 0 to 2"):
        chance_of_recovery(place(nodes(2), 2), 3)
