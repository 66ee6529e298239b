"""A preview replays what was seen through another policy, and touches nothing."""

from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.policy.preview import preview
from holdfast.model.lifecycle import NodeState
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
    assert found.nodes == {"n0": 1}
    assert found.held["leaf/l0"] == 7  # the first was a person's case by then


def test_planned_work_would_have_been_left_alone_and_tested_at_its_end() -> None:
    work = Maintenance(name="winter", pool="default", start=50.0, end=500.0)
    found = preview(Policy(maintenance=(work,)), NODES, [failing("n1", 100.0), failing("n1", 200.0, "pass")], 0.0)
    assert not found.nodes
    assert found.held == {"maintenance/winter": 20}
    assert found.actions == {"cordon": 20, "retest": 20, "uncordon": 20}


def test_spares_would_have_stood_in_and_a_pool_has_its_own_limits() -> None:
    nodes = [NodeState(name=f"n{number}", pool="ab"[number % 2]) for number in range(20)]
    policy = Policy(spares=2, pools={"a": Policy(shadow_checks=frozenset({"gpu.ecc"}))})
    found = preview(policy, nodes, [failing("n4", 100.0), failing("n5", 100.0)], 0.0)
    assert found.nodes == {"n5": 1}
    assert found.promoted == 1
