"""A preview replays what was seen through another policy, and touches nothing."""

from dataclasses import replace

from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.policy.preview import preview
from holdfast.model.lifecycle import EventKind, NodeState, Stage
from holdfast.model.wire.report import VerdictChange

NODES = [NodeState(name=f"n{number}", place={"rack": f"r{number}"}) for number in range(20)]


def failing(node: str, at: float, after: str = "fail") -> tuple[str, VerdictChange]:
    return node, VerdictChange(at=at, check="gpu.ecc", before="", after=after, reason="2 errors")


def test_a_failure_that_lasts_takes_every_repair_step_to_an_operator() -> None:
    found = preview(Policy(), NODES, [failing("n1", 100.0)], 0.0)
    assert found.nodes == {"n1": 1}
    assert found.actions["drain"] == 1
    assert found.actions["reset_gpu"] == found.actions["reboot"] == found.actions["ticket"] == 1


def test_a_check_in_shadow_mode_would_have_done_nothing() -> None:
    found = preview(Policy(shadow_checks=frozenset({"gpu.ecc"})), NODES, [failing("n1", 100.0)], 0.0)
    assert not found.nodes
    assert not found.actions


def test_a_tighter_breaker_would_have_kept_nodes_in_service() -> None:
    many = [failing(f"n{number}", 100.0 + number) for number in range(6)]
    wide = preview(Policy(breaker_share=1.0, breaker_nodes=20), NODES, many, 0.0)
    tight = preview(Policy(breaker_share=0.1, breaker_nodes=2), NODES, many, 0.0)
    assert len(wide.nodes) == 6
    assert len(tight.nodes) == 2
    assert [one.subject for one in tight.incidents][-1] == "pool/default"
    assert tight.held == {"pool/default": 4}


def test_a_shared_cause_would_have_kept_its_nodes() -> None:
    nodes = [NodeState(name=f"n{number}", place={"leaf": f"l{number // 8}"}) for number in range(32)]
    found = preview(Policy(), nodes, [failing(f"n{number}", 100.0 + number) for number in range(8)], 0.0)
    assert [one.subject for one in found.incidents] == ["leaf/l0"]
    assert not found.nodes
    assert found.held["leaf/l0"] == 8


def test_planned_work_would_have_been_left_alone_and_tested_at_its_end() -> None:
    work = Maintenance(name="winter", pool="default", start=50.0, end=500.0)
    found = preview(Policy(maintenance=(work,)), NODES, [failing("n1", 100.0), failing("n1", 200.0, "pass")], 0.0)
    assert not found.nodes
    assert found.held["maintenance/winter"] >= 20
    assert found.actions["uncordon"] == 21  # all are tested at its end; n1 also when it was well again


def test_a_node_that_degrades_by_two_checks_would_have_left_service_once() -> None:
    work = Maintenance(name="winter", pool="default", start=50.0, end=500.0)
    policy = Policy(maintenance=(work,), degraded_repeats=1)
    ecc, heat = (replace(failing("n1", 100.0, "degraded")[1], check=check) for check in ("gpu.ecc", "gpu.temperature"))
    assert preview(policy, NODES, [("n1", ecc), ("n1", heat)], 0.0).nodes == {"n1": 1}


def test_spares_would_have_stood_in_and_a_pool_has_its_own_limits() -> None:
    nodes = [NodeState(name=f"n{number}", pool="ab"[number % 2]) for number in range(20)]
    policy = Policy(spares=2, pools={"a": Policy(shadow_checks=frozenset({"gpu.ecc"}))})
    found = preview(policy, nodes, [failing("n4", 100.0), failing("n5", 100.0)], 0.0)
    assert found.nodes == {"n5": 1}
    assert found.promoted == 1


def test_two_failures_wait_for_the_pattern_and_are_then_taken_out() -> None:
    nodes = [NodeState(name=f"n{number}", place={"leaf": f"l{number // 8}"}) for number in range(64)]
    found = preview(Policy(), nodes, [failing("n1", 100.0), failing("n2", 101.0)], 0.0)
    assert found.held == {"leaf/l0?": 2}
    assert found.nodes == {"n1": 1, "n2": 1}
    taken = next(step for step in found.steps if step.node.name == "n2" and step.transition.after is Stage.DRAINING)
    assert 160.0 < taken.transition.at <= 162.0  # a minute after it failed


def test_an_incident_that_a_better_one_absorbed_is_not_reported() -> None:
    nodes = [NodeState(name=f"n{i}", place={"leaf": f"l{i // 8}", "loop": f"c{i // 16}"}) for i in range(64)]
    found = preview(Policy(), nodes, [failing(f"n{number}", 100.0 + number) for number in range(14)], 0.0)
    assert [one.subject for one in found.incidents] == ["loop/c0"]


def test_a_failure_that_ends_returns_the_node_after_one_reset_and_one_test() -> None:
    found = preview(Policy(), NODES, [failing("n1", 100.0), failing("n1", 100.5, "pass")], 0.0)
    assert (found.changes, found.nodes) == (2, {"n1": 1})
    lasting = preview(Policy(), NODES, [failing("n1", 100.0)], 0.0)
    failed = [step for step in lasting.steps if step.transition.event.kind is EventKind.TEST_FAILED]
    assert {step.transition.event.reason for step in failed} == {"2 errors"}
    assert {step.transition.event.cause for step in failed} == {"gpu.ecc"}


def test_changes_of_one_moment_and_out_of_order_are_taken_as_they_come() -> None:
    found = preview(Policy(), NODES, [failing("n1", 100.0), failing("n2", 50.0)], 0.0)
    assert found.nodes == {"n1": 1, "n2": 1}
    assert min(step.transition.at for step in found.steps if step.node.name == "n2") >= 100.0


def test_nodes_start_tested_and_as_many_spares_as_the_policy_asks_for() -> None:
    nodes = [NodeState(name=f"n{number}", pool="ab"[number % 2]) for number in range(8)]
    policy = Policy(spares=1, pools={"a": Policy(spares=2)})
    found = preview(policy, nodes, [failing("n6", 10.0), failing("n7", 10.0)], 0.0)
    assert found.promoted == 2
    assert {step.node.name for step in found.steps if step.transition.event.kind is EventKind.PROMOTED} == {"n0", "n1"}
