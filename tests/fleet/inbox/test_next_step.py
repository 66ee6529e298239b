"""The next step of a node: what happens by itself, and what an operator must do, with remedy, owner and runbook."""

import pytest

from holdfast.fleet.api.views.show import verdict_views
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.inbox.next_step import WaitsFor, explaining, of_node, of_symptom, of_verdict
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.wire.report import VerdictChange
from holdfast.node import checks

POLICY = Policy()


def verdict(check: str = "gpu.ecc", after: str = "fail", at: float = 5.0, **more: str) -> VerdictChange:
    return VerdictChange(at=at, check=check, before="pass", after=after, subjects=("node/n1/gpu/3",), **more)


@pytest.mark.parametrize("check", [one.name for one in checks.ALL])
@pytest.mark.parametrize("after", ["fail", "degraded"])
def test_every_bad_verdict_has_remedy_owner_runbook_and_commands(check: str, after: str) -> None:
    """Also of an agent that sends no remedy."""
    found = of_verdict(verdict(check, after), "n1")
    assert found.text and found.owner and found.runbook == check and found.commands


def test_the_agents_own_remedy_wins_over_the_checks() -> None:
    found = of_verdict(verdict("gpu.xid", remedy="replace the GPU", owner="vendor"))
    assert (found.text, found.owner) == ("replace the GPU", "vendor")


@pytest.mark.parametrize("after", ["pass", "unknown", "not_applicable", "disabled"])
def test_a_verdict_that_is_not_bad_asks_for_nothing(after: str) -> None:
    assert of_verdict(verdict(after=after)).text == ""


def test_a_healthy_node_in_service_has_no_next_step() -> None:
    assert of_node(NodeState(name="n1", stage=Stage.READY), [verdict(after="pass")], POLICY) is None


def test_a_failing_node_in_service_shows_the_remedy_with_its_gpu() -> None:
    found = of_node(NodeState(name="n1", stage=Stage.ALLOCATED), [verdict()], POLICY)
    assert found is not None and found.waits_for is WaitsFor.OPERATOR
    assert found.runbook == "gpu.ecc" and found.owner == "hardware"
    assert any("-i 3" in one for one in found.commands)


def incident(subject: str, *nodes: str) -> Incident:
    return Incident(id=f"{subject}@1", opened=1.0, subject=subject, cause="cooling.flow_low", evidence=nodes)


@pytest.mark.parametrize(
    ("after", "reached", "waits_for"),
    [
        ("degraded", "n1", WaitsFor.INCIDENT),
        ("degraded", "n2", WaitsFor.OPERATOR),
        ("fail", "n1", WaitsFor.OPERATOR),
    ],
)
def test_a_node_that_an_incident_degrades_is_left_in_service(after: str, reached: str, waits_for: WaitsFor) -> None:
    """The runbook of the incident says not to quarantine it; its own check would say to drain it."""
    node = NodeState(name="n1", stage=Stage.ALLOCATED)
    found = of_node(node, [verdict("gpu.throttle", after)], POLICY, [incident("cdu/cdu1", reached)])
    assert found is not None and found.waits_for is waits_for
    assert (found.remedy == "") == (waits_for is WaitsFor.INCIDENT)
    if waits_for is WaitsFor.INCIDENT:
        assert (found.runbook, found.owner) == ("cooling.flow_low", "facilities")
        assert found.commands == ("holdfast incident show cdu/cdu1",)


def test_an_incident_on_the_node_itself_does_not_hide_its_remedy() -> None:
    node = NodeState(name="n1", stage=Stage.ALLOCATED)
    found = of_node(node, [verdict(after="degraded")], POLICY, [incident("node/n1/gpu/3", "n1")])
    assert found is not None and found.waits_for is WaitsFor.OPERATOR and found.remedy


@pytest.mark.parametrize(
    ("held", "waits_for", "owner", "runbook", "words"),
    [
        ("leaf/leaf3", WaitsFor.INCIDENT, "network", "fleet.shared_cause", "part of leaf/leaf3"),
        ("cdu/cdu1", WaitsFor.INCIDENT, "facilities", "cooling.flow_low", "part of cdu/cdu1 (coolant flow is low)"),
        ("loop/c2", WaitsFor.INCIDENT, "facilities", "fleet.shared_cause", "part of loop/c2"),
        ("rack/r1?", WaitsFor.HOLDFAST, "fleet", "", "others behind rack/r1 fail too"),
        ("maintenance/winter", WaitsFor.NOTHING, "fleet", "", "Planned work (winter)"),
        ("pool/train", WaitsFor.OPERATOR, "platform", "fleet.breaker_open", "breaker of pool train is open"),
    ],
)
def test_a_held_node_shows_no_remedy_of_its_own(
    held: str, waits_for: WaitsFor, owner: str, runbook: str, words: str
) -> None:
    """Only an incident that exists is one to follow: no suspicion, no planned work, no breaker."""
    node = NodeState(name="n1", stage=Stage.READY, held=held)
    found = of_node(node, [verdict()], POLICY, [incident("cdu/cdu1", "n1")])
    assert found is not None and found.waits_for is waits_for and words in found.text
    assert (found.owner, found.runbook) == (owner, runbook)
    assert "drain" not in found.remedy and "GPU" not in found.remedy
    assert (found.commands == (f"holdfast incident show {held}",)) is (waits_for is WaitsFor.INCIDENT)


@pytest.mark.parametrize(
    ("held", "check", "after", "explained"),
    [
        ("cdu/cdu1", "gpu.throttle", "fail", True),
        ("", "gpu.throttle", "degraded", True),
        ("", "gpu.throttle", "fail", False),
        ("cdu/cdu1", "gpu.ecc", "fail", False),
        ("cdu/cdu1", "gpu.throttle", "pass", False),
        ("cdu/cdu2", "gpu.throttle", "fail", False),
    ],
)
def test_a_verdict_that_an_incident_explains_asks_for_nothing_on_the_node(
    held: str, check: str, after: str, explained: bool
) -> None:
    """Beside "leave the node in service", a verdict must not say "drain the node"."""
    node = NodeState(name="n1", stage=Stage.ALLOCATED, held=held)
    found = incident("cdu/cdu1", "n1")
    assert (explaining(node, verdict(check, after), [found]) is found) is explained
    remedy = of_symptom(found)
    assert remedy.text == "nothing on this node: it is part of cdu/cdu1 (coolant flow is low)"
    assert (remedy.owner, remedy.runbook) == ("facilities", "cooling.flow_low")
    (shown,) = verdict_views(node, [verdict(check, after)], [found])
    assert (shown.remedy == remedy.text) is explained and shown.check == check


@pytest.mark.parametrize(
    ("repair_step", "cause", "waits_for"),
    [
        (0, "gpu.ecc", WaitsFor.HOLDFAST),
        (1, "gpu.ecc", WaitsFor.HOLDFAST),
        (2, "gpu.ecc", WaitsFor.OPERATOR),
        (0, "operator", WaitsFor.OPERATOR),
    ],
)
def test_a_quarantined_node_waits_for_an_operator_when_no_step_is_left(
    repair_step: int, cause: str, waits_for: WaitsFor
) -> None:
    node = NodeState(name="n1", stage=Stage.QUARANTINED, cause=cause, repair_step=repair_step)
    found = of_node(node, [], POLICY)
    assert found is not None and found.waits_for is waits_for and found.runbook and found.owner
    released = any("holdfast node release n1" in one for one in found.commands)
    assert released is (waits_for is WaitsFor.OPERATOR)


def test_the_verdict_that_took_the_node_out_comes_before_a_worse_one() -> None:
    node = NodeState(name="n1", stage=Stage.QUARANTINED, cause="gpu.clocks", repair_step=2)
    found = of_node(node, [verdict("gpu.ecc"), verdict("gpu.clocks", "degraded")], POLICY)
    assert found is not None and found.check == "gpu.clocks"


def test_a_held_node_points_to_the_incident_and_not_to_itself() -> None:
    node = NodeState(name="n1", stage=Stage.READY, held="leaf/l1", failed=True)
    found = of_node(node, [verdict("fabric.port_down")], POLICY)
    assert found is not None and found.waits_for is WaitsFor.INCIDENT and "leaf/l1" in found.text


def test_a_node_under_test_waits_for_its_test_and_not_for_a_person() -> None:
    found = of_node(NodeState(name="n1", stage=Stage.TESTING), [verdict()], POLICY)
    assert found is not None and found.waits_for is WaitsFor.HOLDFAST
    assert of_node(NodeState(name="n1", stage=Stage.TESTING), [], POLICY) is None


def test_a_remedy_is_a_sentence_without_the_marks_of_commands() -> None:
    found = of_verdict(verdict("agent.silent"), "n1")
    assert found.text and "`" not in found.text


@pytest.mark.parametrize(
    ("cause", "stage", "waits"),
    [
        ("action.drain", Stage.DRAINING, True),
        ("action.cordon", Stage.QUARANTINED, True),
        ("action.uncordon", Stage.QUARANTINED, False),
        ("action.drain", Stage.TESTING, False),
    ],
)
def test_a_node_that_could_not_be_drained_waits_for_an_operator(cause: str, stage: Stage, waits: bool) -> None:
    failed = Incident(id="i", opened=1.0, subject="node/n1/scheduler", cause=cause)
    found = of_node(NodeState(name="n1", stage=stage, cause="gpu.ecc", failed=True), [verdict()], POLICY, [failed])
    assert found is not None
    assert (found.check == cause, found.commands[0].startswith("holdfast node quarantine n1")) == (waits, waits)
