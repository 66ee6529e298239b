"""A degraded node is chosen last and gets back exactly what it had."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.actions.slurm.preference import choose_last, choose_normally
from holdfast.formats.slurm.nodes import SlurmNode

LAST = 100_000
NODE = SlurmNode(name="g1", flags=frozenset({"IDLE"}), weight=7, features=("a100",), active_features=("a100",))


def apply(node: SlurmNode, changes: dict[str, str]) -> SlurmNode:
    """What Slurm makes of the changes."""
    if "weight" in changes:
        node = replace(node, weight=int(changes["weight"]))
    if "comment" in changes:
        node = replace(node, comment=changes["comment"])
    for name, field in (("availablefeatures", "features"), ("activefeatures", "active_features")):
        if name in changes:
            node = replace(node, **{field: tuple(filter(None, changes[name].split(",")))})
    return node


@given(st.integers(0, 2**32 - 1), st.text(st.sampled_from("abc []:=7"), max_size=20), st.sampled_from(["", "slow"]))
def test_there_and_back_is_as_before_and_twice_is_once(weight: int, comment: str, feature: str) -> None:
    node = replace(NODE, weight=weight, comment=comment.strip())
    last = apply(node, choose_last(node, LAST, feature))
    assert last.weight == LAST
    assert choose_last(last, LAST, feature) == {}
    back = apply(last, choose_normally(last, LAST, feature))
    assert back == node
    assert choose_normally(back, LAST, feature) == {}


def test_a_weight_changed_by_somebody_meanwhile_stays_theirs() -> None:
    last = apply(NODE, choose_last(NODE, LAST, ""))
    theirs = replace(last, weight=3)
    assert choose_normally(theirs, LAST, "") == {"comment": ""}


def test_after_a_restart_of_slurm_lost_the_weight_it_is_set_again_and_remembers_the_new_one() -> None:
    last = apply(NODE, choose_last(NODE, LAST, ""))
    restarted = replace(last, weight=9)
    changes = choose_last(restarted, LAST, "")
    assert changes == {"weight": str(LAST), "comment": "[holdfast: weight was 9]"}


def test_weights_are_left_alone_where_only_a_feature_is_wanted() -> None:
    assert choose_last(NODE, None, "slow") == {"availablefeatures": "a100,slow", "activefeatures": "a100,slow"}
