"""What is changed of a node, and above all what is not."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.actions.kubernetes import marks
from holdfast.formats.kubernetes import objects as k8s
from holdfast.formats.kubernetes.nodes import KubernetesNode, node

THEIRS = {"key": "team/reserved", "value": "x", "effect": "NoExecute"}
PLAIN = KubernetesNode(name="gpu-1", version="7", ready=True, taints=(THEIRS,))


def merged(before: KubernetesNode, change: Any) -> KubernetesNode:
    """The node after a JSON merge patch, as the server applies it."""
    item: dict[str, Any] = {
        "metadata": {
            "name": before.name,
            "resourceVersion": before.version,
            "annotations": {k8s.NOTE: before.note} if before.note else {},
            "labels": dict(before.labels),
        },
        "spec": {"unschedulable": before.unschedulable, "taints": list(before.taints)},
    }
    after = node(_merge(item, change or {}), ("nvidia.com/gpu",))
    assert after is not None
    return after


def _merge(item: Any, change: Any) -> Any:
    if not isinstance(change, dict):
        return change
    kept = {name: value for name, value in (item or {}).items() if name not in change}
    return {**kept, **{name: _merge((item or {}).get(name), v) for name, v in change.items() if v is not None}}


def test_every_change_names_the_version_it_was_made_for() -> None:
    changes = [marks.hold(PLAIN, "c", "n", cordon=True), marks.choose_last(PLAIN)]
    assert all(change is not None and change["metadata"]["resourceVersion"] == "7" for change in changes)


def test_a_node_that_waits_for_its_test_is_tainted_not_cordoned() -> None:
    after = merged(PLAIN, marks.hold(PLAIN, "", "untested", cordon=False))
    assert after.untested
    assert not after.unschedulable
    assert not after.note
    assert THEIRS in after.taints


def test_what_a_taint_cannot_say_is_left_out_of_its_value() -> None:
    change = marks.hold(PLAIN, "-gpu xid/79 " + "x" * 80 + ".", "n", cordon=False)
    assert change is not None
    value = change["spec"]["taints"][-1]["value"]
    assert value.startswith("gpu-xid-79")
    assert len(value) <= 63


def test_a_newer_reason_replaces_our_older_one() -> None:
    once = merged(PLAIN, marks.hold(PLAIN, "a", "first", cordon=True))
    twice = merged(once, marks.hold(once, "b", "second", cordon=True))
    assert twice.note == "second"
    assert marks.hold(twice, "b", "second", cordon=True) is None


def test_the_condition_is_reported_once_and_keeps_since_when() -> None:
    change = marks.condition(PLAIN, "False", "OutOfService", "Xid 79", 1767225600.0)
    assert change is not None
    [row] = change["status"]["conditions"]
    assert row["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    result = KubernetesNode(name="gpu-1", condition=row)
    assert marks.condition(result, "False", "OutOfService", "Xid 79", 1767225700.0) is None
    again = marks.condition(result, "False", "OutOfService", "Xid 48", 1767225700.0)
    assert again is not None
    assert again["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    well = marks.condition(result, "True", "FullSuitePassed", "passed", 1767225700.0)
    assert well is not None
    assert well["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:01:40Z"


COMMANDS = st.lists(
    st.sampled_from(["taint", "cordon", "release", "last", "normally", "hand_cordon", "hand_uncordon"]), max_size=12
)


@given(COMMANDS)
def test_in_any_order_what_is_others_stays_and_asking_twice_changes_nothing(actions: list[str]) -> None:
    plans = {
        "taint": lambda n: marks.hold(n, "", "untested", cordon=False),
        "cordon": lambda n: marks.hold(n, "gpu.xid", "note", cordon=True),
        "release": marks.release,
        "last": marks.choose_last,
        "normally": marks.choose_normally,
    }
    current, by_hand = PLAIN, False
    for action in actions:
        if action == "hand_cordon":
            # As kubectl does it: what is cordoned already is left alone.
            by_hand = by_hand or not current.unschedulable
            current = merged(current, {"spec": {"unschedulable": True}})
            if by_hand:
                current = merged(current, {"metadata": {"annotations": {k8s.NOTE: None}}})  # the keeper's doing
        elif action == "hand_uncordon":
            by_hand = False
            current = merged(current, {"spec": {"unschedulable": None}})
        else:
            plan = plans[action]
            current = merged(current, plan(current))
            assert plan(current) is None
        assert THEIRS in current.taints
        assert not by_hand or current.unschedulable
        assert not by_hand or not current.closed_by_us
    released = merged(current, marks.release(current))
    assert released.unschedulable is by_hand
    assert not released.untested
