"""What stands between a failure and a quarantine, each guard by itself."""

import pytest

from holdfast.fleet.decisions.guards import Guards, _heir, planned
from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.shared_cause import SharedCause
from holdfast.fleet.incidents.register import Incidents
from holdfast.model.account import Account
from holdfast.model.lifecycle import NodeState, Stage

POLICY = Policy(
    shared_nodes=4, shared_share=0.5, shared_seconds=120.0, shared_first_seconds=30.0, shared_wait_seconds=60.0
)
NOW = 1000.0


def lives(count: int, **sizes: int) -> list[NodeState]:
    return [
        NodeState(name=f"n{i}", stage=Stage.READY, place={kind: f"{kind}{i // size}" for kind, size in sizes.items()})
        for i in range(count)
    ]


def guards(count: int = 64, **sizes: int) -> Guards:
    return Guards(lives(count, **(sizes or {"leaf": 8})), Incidents())


def fail(made: Guards, *numbers: int, at: float = NOW, cause: str = "gpu.xid") -> None:
    for number in numbers:
        made.failed_by(f"n{number}", cause, at, POLICY)


def test_the_fourth_of_eight_makes_it_the_leafs_incident() -> None:
    made = guards()
    fail(made, 0, 1, 2)
    assert not made.incidents.open
    fail(made, 3)
    assert list(made.incidents.open) == ["leaf/leaf0"]
    assert made.incidents.members("leaf/leaf0") == {"n0", "n1", "n2", "n3"}


@pytest.mark.parametrize(("at", "shared"), [(NOW + 120.0, True), (NOW + 121.0, False)])
def test_a_degradation_counts_from_its_beginning_and_not_for_ever(at: float, shared: bool) -> None:
    made = guards()
    made.degraded("n0", NOW)
    made.degraded("n0", NOW + 100.0)  # the same one, reported again
    fail(made, 1, 2, 3, at=at)
    assert (list(made.incidents.open) == ["leaf/leaf0"]) is shared


def test_a_parent_with_fewer_nodes_than_a_shared_cause_needs_explains_nothing() -> None:
    made = guards(64, rack=3)
    fail(made, 0, 1, 2)
    assert not made.incidents.open


def test_one_more_behind_a_known_cause_joins_it_at_once() -> None:
    made = guards(64, leaf=8, room=64)
    fail(made, 0, 1, 2, 3)
    fail(made, 4)
    assert made.incidents.explaining("n4") == "leaf/leaf0"
    assert made.incidents.members("leaf/leaf0") == {"n0", "n1", "n2", "n3", "n4"}
    assert list(made.incidents.open) == ["leaf/leaf0"]


def test_failures_too_far_apart_are_not_together() -> None:
    for gap, shared in ((120.0, True), (121.0, False)):
        made = guards()
        fail(made, 0, 1, 2)
        fail(made, 3, at=NOW + gap)
        assert bool(made.incidents.open) is shared


def test_who_fell_ill_before_is_not_counted_again_later() -> None:
    made = guards()
    fail(made, 0, 1, 2)
    fail(made, 0, 1, 2, 3, at=NOW + 121)
    assert not made.incidents.open


def test_what_most_of_them_fail_by_names_the_incident() -> None:
    made = guards()
    fail(made, 0, cause="fabric.errors")
    fail(made, 1, 2, 3, cause="gpu.xid")
    assert made.incidents.open["leaf/leaf0"].cause == "gpu.xid"
    tied = guards()
    fail(tied, 0, 1, cause="gpu.xid")
    fail(tied, 2, 3, cause="fabric.errors")
    assert tied.incidents.open["leaf/leaf0"].cause == "fabric.errors"  # the first by name


def test_a_node_recovers_from_what_it_fell_ill_with() -> None:
    made = guards()
    fail(made, 0, cause="gpu.xid")
    made.recovered("n0", "agent.silent")
    assert made.failing_by("n0") == "gpu.xid"
    made.recovered("n0", "gpu.xid")
    assert made.failing_by("n0") is None
    fail(made, 1)
    made.recovered("n1")
    made.recovered("n1")
    assert made.failing_by("n1") is None
    fail(made, 2, 3, 4)
    assert not made.incidents.open, "those that recovered are no evidence"


def test_a_better_explanation_absorbs_the_one_it_makes_needless() -> None:
    made = guards(64, leaf=8, loop=16)
    fail(made, *range(8))
    assert list(made.incidents.open) == ["leaf/leaf0"]
    fail(made, *range(8, 14))
    assert list(made.incidents.open) == ["loop/loop0"]
    (closed,) = (one for one in made.incidents.take_changed() if one.subject == "leaf/leaf0")
    assert closed.reason.endswith("; absorbed by loop/loop0")
    assert made.incidents.members("loop/loop0") == {f"n{i}" for i in range(14)}


def test_what_a_better_explanation_absorbed_is_evidence_for_it_later() -> None:
    made = guards(64, leaf=8, loop=16)
    fail(made, *range(14))
    assert list(made.incidents.open) == ["loop/loop0"]
    assert [made._failing[f"n{number}"][0] for number in range(14)] == [NOW] * 14


def test_a_cause_that_explains_too_little_is_not_absorbed_by_one_of_other_nodes() -> None:
    here, elsewhere = frozenset({"n0", "n1"}), frozenset({"n8", "n9"})
    found = [SharedCause("leaf/leaf1", (), elsewhere, 8)]
    assert _heir(here, found) == _heir(here, []) == ""
    assert _heir(here | {"n8"}, found) == "leaf/leaf1"
    most = SharedCause("leaf/leaf0", (), here, 8)
    many = SharedCause("room/r", (), elsewhere | {f"x{number}" for number in range(9)}, 64)
    assert _heir(here | {"n8"}, [many, most]) == "leaf/leaf0", "it explains most of them"


def test_a_second_shared_cause_ends_no_first_one() -> None:
    made = guards()
    fail(made, 0, 1, 2, 3)
    first = made.incidents.open["leaf/leaf0"].id
    fail(made, *range(8, 14))
    assert sorted(made.incidents.open) == ["leaf/leaf0", "leaf/leaf1"]
    assert made.incidents.open["leaf/leaf0"].id == first, "it was not closed meanwhile"


def ended(made: Guards, still: set[str], at: float) -> None:
    made.end_what_is_over(at, POLICY, lambda name: name in still)


def test_a_shared_cause_is_over_when_none_of_its_nodes_fails() -> None:
    made = guards()
    fail(made, *range(6))
    ended(made, {"n0", "n1", "n2", "n3"}, NOW + 1)
    assert made.incidents.open
    ended(made, set(), NOW + 2)
    assert not made.incidents.open
    assert made.incidents.take_changed()[-1].reason.endswith("; none of its nodes fails now")


def test_too_few_of_them_are_borne_for_two_minutes() -> None:
    made = guards()
    fail(made, *range(6))
    few = {"n0", "n1"}
    ended(made, few, NOW + 1)
    ended(made, few, NOW + 120)
    assert made.incidents.open
    ended(made, few, NOW + 121)
    assert not made.incidents.open
    assert made.incidents.take_changed()[-1].reason.endswith("; 2 nodes still fail and are handled one by one")


def test_a_cause_that_comes_back_starts_its_waning_anew() -> None:
    made = guards()
    fail(made, *range(6))
    ended(made, {"n0", "n1"}, NOW + 1)
    ended(made, {"n0", "n1", "n2", "n3"}, NOW + 60)
    ended(made, {"n0", "n1"}, NOW + 100)
    ended(made, {"n0", "n1"}, NOW + 219)
    assert made.incidents.open
    ended(made, {"n0", "n1"}, NOW + 220)
    assert not made.incidents.open


def test_those_that_still_fail_are_no_evidence_for_another_shared_cause() -> None:
    made = guards()
    fail(made, *range(6))
    for at in (NOW + 1, NOW + 121):
        ended(made, {"n0", "n1"}, at)
    fail(made, 6, 7, at=NOW + 122)
    assert not made.incidents.open
    assert made.failing_by("n0") == "gpu.xid"


def test_what_was_failing_when_we_began_is_counted_at_the_next_look() -> None:
    made = guards()
    for number in range(4):
        made.remember(f"n{number}", "gpu.xid", NOW - 10)
    assert not made.incidents.open
    made.end_what_is_over(NOW, POLICY, lambda name: True)
    assert list(made.incidents.open) == ["leaf/leaf0"]


def test_a_whole_leaf_that_falls_silent_at_once_is_looked_at_once() -> None:
    made = guards()
    made.failed_together([f"n{i}" for i in range(8)], "agent.silent", NOW, POLICY)
    assert made.incidents.members("leaf/leaf0") == {f"n{i}" for i in range(8)}


def held(made: Guards, number: int, *, out: bool = True, at: float = NOW, policy: Policy = POLICY) -> str:
    found = made.hold(NodeState(name=f"n{number}"), at, policy, out=out)
    return found.holder if found else ""


def test_a_node_of_a_shared_cause_is_held_by_it_whether_it_would_leave_or_not() -> None:
    made = guards()
    fail(made, *range(4))
    assert held(made, 0) == held(made, 0, out=False) == "leaf/leaf0"
    assert held(made, 20, out=False) == ""


def test_a_second_failure_waits_a_minute_for_the_pattern() -> None:
    made = guards()
    fail(made, 0)
    fail(made, 1, at=NOW + 10)
    assert held(made, 1, at=NOW + 10) == "leaf/leaf0?"
    assert held(made, 1, out=False, at=NOW + 10) == ""
    assert held(made, 1, at=NOW + 69.9) == "leaf/leaf0?"
    assert held(made, 1, at=NOW + 70) == ""


def test_a_first_failure_waits_half_a_minute_for_its_neighbours() -> None:
    made = guards()
    fail(made, 0)
    assert held(made, 0) == held(made, 0, at=NOW + 29.9) == "leaf/leaf0?"
    assert held(made, 0, out=False) == ""
    assert held(made, 0, at=NOW + 30) == ""
    fail(made, 1, at=NOW + 30)
    assert held(made, 0, at=NOW + 30) == "leaf/leaf0?", "one more: now it waits the full minute"
    assert held(made, 0, at=NOW + 60) == ""
    small = guards(64, leaf=3)
    fail(small, 0)
    assert held(small, 0) == "", "three cannot be a shared cause of four"


def test_a_neighbour_that_degraded_is_waited_for_like_one_that_failed() -> None:
    made = guards()
    made.degraded("n1", NOW)
    fail(made, 0)
    assert held(made, 0, at=NOW + 59) == "leaf/leaf0?"
    made.no_longer_degraded("n1")
    assert held(made, 0, at=NOW + 31) == ""


@pytest.mark.parametrize(("fails", "waits"), [(True, "leaf/leaf0?"), (False, "")])
def test_a_neighbour_that_is_no_longer_degraded_counts_in_the_same_moment_if_it_fails(fails: bool, waits: str) -> None:
    made = guards()
    fail(made, 0)
    made.degraded("n1", NOW + 31)
    if fails:
        fail(made, 1, at=NOW + 31)
    assert held(made, 0, at=NOW + 31) == "leaf/leaf0?"
    made.no_longer_degraded("n1")
    assert held(made, 0, at=NOW + 31) == waits


def test_a_pool_that_lost_enough_holds_the_rest() -> None:
    policy = Policy(breaker_share=0.1, breaker_nodes=2)
    nodes = [NodeState(name=f"n{i}", stage=Stage.QUARANTINED if i < 2 else Stage.READY) for i in range(40)]
    made = Guards(nodes, Incidents())
    found = made.hold(nodes[5], NOW, policy, out=True)
    assert found is not None
    assert (found.holder, found.victim) == ("pool/default", False)
    assert found.reason.startswith("breaker open: 2 of 40 nodes")
    assert made.hold(nodes[5], NOW, policy, out=False) is None
    assert made.hold(nodes[5], NOW, Policy(breaker_share=0.1, breaker_nodes=3), out=True) is None


def test_planned_work_comes_before_everything() -> None:
    window = Maintenance(name="winter", nodes=frozenset({"n0"}), start=NOW - 1, end=NOW + 1)
    policy = Policy(maintenance=(Maintenance(name="other", nodes=frozenset({"n9"}), start=0.0, end=1e9), window))
    made = guards()
    fail(made, *range(4))
    assert held(made, 0, policy=policy) == "maintenance/winter"
    assert held(made, 1, policy=policy) == "leaf/leaf0"
    assert planned(NodeState(name="n0"), NOW + 1, policy) is None


def test_a_node_that_moved_is_behind_its_new_parent() -> None:
    made = guards()
    before = NodeState(name="n9", stage=Stage.READY, place={"leaf": "leaf1"})
    made.moved(before, NodeState(name="n9", stage=Stage.READY, place={"leaf": "leaf0"}))
    assert made.places.parents("n9") == ("leaf/leaf0",)
    gone = NodeState(name="n9", stage=Stage.REMOVED, place={"leaf": "leaf0"})
    made.moved(NodeState(name="n9", stage=Stage.READY, place={"leaf": "leaf0"}), gone)
    assert made.places.parents("n9") == ()
    made.moved(gone, NodeState(name="n9", stage=Stage.TESTING, place={"leaf": "leaf0"}))
    assert made.places.parents("n9") == ("leaf/leaf0",)


def test_a_pools_count_follows_its_nodes() -> None:
    made = guards(4)
    before = NodeState(name="n0", stage=Stage.READY, place={"leaf": "leaf0"})
    made.moved(before, NodeState(name="n0", pool="other", stage=Stage.QUARANTINED, place={"leaf": "leaf0"}))
    assert (made.tallies["default"].here, made.tallies["default"].out) == (3, 0)
    assert (made.tallies["other"].here, made.tallies["other"].out) == (1, 1)


@pytest.mark.parametrize("explained_first", [True, False])
def test_a_look_happens_once_for_what_is_new(explained_first: bool) -> None:
    made = guards(64, leaf=8, room=64)
    fail(made, *range(3))
    if explained_first:
        made.explain_failures(NOW, POLICY)
    made.remember("n3", "gpu.xid", NOW)
    ended(made, {"n0", "n1", "n2", "n3"}, NOW + 1)
    assert bool(made.incidents.open) is not explained_first


def test_a_wait_says_whether_others_fail_already() -> None:
    made = guards()
    fail(made, 0)
    alone = made.hold(NodeState(name="n0"), NOW, POLICY, out=True)
    assert alone is not None
    assert alone.reason == "takes no new work; waiting to see whether others behind leaf/leaf0 fail too"
    fail(made, 1)
    together = made.hold(NodeState(name="n0"), NOW, POLICY, out=True)
    assert together is not None
    assert together.reason == "1 more behind leaf/leaf0 fail: waiting to see whether it is the cause"
    guessed = NodeState(name="n0", held="rack/r1?", reason="as it was")
    kept = made.hold(guessed, NOW, POLICY, out=True)
    assert kept is not None
    assert (kept.holder, kept.reason) == ("rack/r1?", "as it was")


def test_a_fleet_that_fails_together_looks_at_each_parent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look for every node and parent took so long with 12,500 nodes that the leader lost its lease."""
    made, asked = guards(64, leaf=8, feed=32), []
    may_explain = made._may_explain

    def noted(parent: str, policy: Policy) -> bool:
        asked.append(parent)
        return may_explain(parent, policy)

    monkeypatch.setattr(made, "_may_explain", noted)
    made.failed_together([f"n{number}" for number in range(64)], "node.silent", NOW, POLICY)
    assert sorted(asked) == sorted([*(f"leaf/leaf{one}" for one in range(8)), "feed/feed0", "feed/feed1"])
    assert set(made.incidents.open) == {"feed/feed0", "feed/feed1"}


def test_failures_of_one_moment_are_looked_up_once() -> None:
    made = guards()
    assert made._lately(NOW, POLICY) is made._lately(NOW, POLICY)
    assert made._lately(NOW, POLICY) is not made._lately(NOW + 1.0, POLICY)


def test_a_victim_that_fails_by_a_symptom_joins_no_other_incident() -> None:
    made = guards()
    cooling = Account(kind="cooling.flow_low", confidence=0.9, since=0.0, lasted_seconds=60.0)
    made.incidents.found("cdu/c2", cooling, "flow is low", NOW, ("n1", "n2"))
    made.incidents.raise_("leaf/leaf0", "gpu.xid", "why", NOW, ("n4", "n5", "n6", "n7"))
    fail(made, 1, cause="gpu.temperature")
    fail(made, 2, cause="gpu.xid")
    assert made.incidents.members("leaf/leaf0") == {"n2", "n4", "n5", "n6", "n7"}


def test_who_failed_lately_and_was_of_a_cause_that_is_over_is_no_evidence() -> None:
    made = guards()
    fail(made, 0, 1, 2, 3)
    for number in range(3):
        made.recovered(f"n{number}")
    fails = {"n3", "n4"}
    made.end_what_is_over(NOW + 100, POLICY, fails.__contains__)
    fail(made, 4, at=NOW + 150)
    assert made.incidents.members("leaf/leaf0") >= {"n4"}
    made.end_what_is_over(NOW + 220, POLICY, fails.__contains__)
    assert "leaf/leaf0" not in made.incidents.open
    assert made._lately(NOW + 221, POLICY) == set()
    assert made.failing_by("n4") == "gpu.xid"
