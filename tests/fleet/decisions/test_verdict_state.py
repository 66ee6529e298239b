"""Guarded steps: which failures move a node, which are held, and what a full test leads to."""

from dataclasses import replace

import pytest

from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import OnDegraded, Policy
from holdfast.fleet.decisions.verdict_state import VerdictState
from holdfast.model.account import Account
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Offence, Stage, Verb
from holdfast.model.wire.report import OrderOutcome, VerdictChange

NOW = 1000.0
AT_ONCE = Policy(shared_first_seconds=0.0)
COOLING = Account(kind="cooling.flow_low", confidence=0.9, since=0.0, lasted_seconds=60.0)


def node(number: int = 0, stage: Stage = Stage.READY, **more: object) -> NodeState:
    return NodeState(name=f"n{number}", stage=stage, place={"leaf": f"l{number // 8}"}, **more)  # type: ignore[arg-type]


def state_of(*first: NodeState, policy: Policy | None = None, count: int = 40, **more: object) -> VerdictState:
    """These nodes, and others that are ready."""
    rest = [node(number) for number in range(len(first), count)]
    return VerdictState(policy or AT_ONCE, [*first, *rest], **more)  # type: ignore[arg-type]


def failure(check: str = "gpu.xid", after: str = "fail", at: float = NOW) -> VerdictChange:
    return VerdictChange(at=at, check=check, before="pass", after=after, reason=f"{check} {after}")


def fails(made: VerdictState, number: int = 0, check: str = "gpu.xid", at: float = NOW) -> list[Verb]:
    change = failure(check, at=at)
    made.current.take(f"n{number}", change)
    steps = made.failed(f"n{number}", change, at)
    return [action.verb for step in steps for action in step.actions]


def after_test(made: VerdictState, number: int = 0, health: str = "pass", **more: object) -> Stage:
    outcome = OrderOutcome(order=1, verb="retest", ok=True, health=health, **more)  # type: ignore[arg-type]
    made.tested(f"n{number}", outcome, NOW)
    return made.nodes[f"n{number}"].stage


@pytest.mark.parametrize(
    ("stage", "after"),
    [
        (Stage.READY, Stage.DRAINING),
        (Stage.SPARE, Stage.DRAINING),
        (Stage.ALLOCATED, Stage.DRAINING),
        (Stage.CLEANING, Stage.QUARANTINED),
        (Stage.TESTING, Stage.TESTING),  # the test's to find
        (Stage.PROVISIONING, Stage.PROVISIONING),
        (Stage.QUARANTINED, Stage.QUARANTINED),
    ],
)
def test_a_failure_counts_in_service(stage: Stage, after: Stage) -> None:
    made = state_of(node(stage=stage))
    fails(made)
    assert made.nodes["n0"].stage is after


def test_a_check_in_shadow_mode_neither_moves_a_node_nor_makes_it_ill() -> None:
    made = state_of(policy=replace(AT_ONCE, shadow_checks=frozenset({"gpu.xid"})))
    assert fails(made) == []
    assert made.guards.failing_by("n0") is None
    assert made.failing("n0") is None
    assert fails(made, check="gpu.ecc") == [Verb.DRAIN]


def test_a_failed_test_passes_the_breaker_also_where_its_check_is_in_shadow_mode() -> None:
    shadow = replace(AT_ONCE, shadow_checks=frozenset({"gpu.xid"}), breaker_nodes=1)
    made = state_of(node(stage=Stage.TESTING), node(1, stage=Stage.TESTING), policy=shadow)
    assert after_test(made, 0, "fail", cause="gpu.xid") is Stage.QUARANTINED
    assert after_test(made, 1, "fail", cause="gpu.xid") is Stage.TESTING
    assert made.nodes["n1"].held == "pool/default"


def test_in_planned_work_a_failure_is_recorded_and_is_no_evidence_for_a_shared_cause() -> None:
    window = Maintenance(name="winter", start=0.0, end=1e9)
    made = state_of(policy=Policy(maintenance=(window,)))
    assert fails(made) == []
    assert made.nodes["n0"].held == "maintenance/winter"
    assert made.guards.failing_by("n0") is None


def test_in_planned_work_a_degradation_is_recorded_and_holds_nobody() -> None:
    window = Maintenance(name="winter", start=0.0, end=1e9)
    made = state_of(policy=Policy(maintenance=(window,)))
    assert degrade(made, 0) == [Verb.CHOOSE_LAST]
    assert (made.nodes["n0"].held, made.nodes["n0"].degraded_by) == ("", "fabric.errors")


def test_an_open_breaker_is_one_incident_with_all_that_it_holds() -> None:
    out = [node(number, Stage.QUARANTINED) for number in range(4)]
    made = state_of(*out)
    fails(made, 10)
    fails(made, 30)
    assert made.incidents.members("pool/default") == {"n10", "n30"}
    assert made.incidents.open["pool/default"].cause == "breaker"
    assert made.nodes["n10"].stage is Stage.READY
    assert made.nodes["n10"].held == "pool/default"


def test_a_degradation_passes_an_open_breaker_for_it_takes_no_one_out() -> None:
    made = state_of(*[node(number, Stage.QUARANTINED) for number in range(4)])
    steps = made.step("n10", NodeEvent(kind=EventKind.DEGRADED, cause="gpu.ecc"), NOW)
    assert [action.verb for action in steps[0].actions] == [Verb.CHOOSE_LAST]


def seam(*victims: str) -> Incident:
    return Incident(id="s", opened=0.0, subject="cdu/c2", cause=COOLING.kind, evidence=victims, account=COOLING)


def test_a_victim_of_a_seam_is_neither_drained_nor_chosen_last_for_its_symptoms() -> None:
    made = state_of(incidents=[seam("n0")])
    assert fails(made, check="gpu.throttle") == []
    assert made.nodes["n0"].held == "cdu/c2"
    made.step("n0", NodeEvent(kind=EventKind.DEGRADED, cause="gpu.clocks"), NOW)
    assert made.nodes["n0"].degraded_by == ""
    made.step("n0", NodeEvent(kind=EventKind.DEGRADED, cause="gpu.ecc"), NOW)
    assert made.nodes["n0"].degraded_by == "gpu.ecc"
    assert fails(made, check="gpu.ecc") == [Verb.DRAIN]


def test_a_node_of_a_shared_cause_is_neither_drained_nor_chosen_last_for_it() -> None:
    shared = Incident(id="s", opened=0.0, subject="leaf/l0", evidence=("n0",))
    made = state_of(node(tested_at=1.0), incidents=[shared])
    made.step("n0", NodeEvent(kind=EventKind.DEGRADED, cause="gpu.clocks"), NOW)
    assert (made.nodes["n0"].degraded_by, made.nodes["n0"].held) == ("", "leaf/l0")
    assert made.nodes["n0"].takes_work  # it does not fail
    assert made.nodes["n0"].degradations == ()  # and it is not counted


def degrade(made: VerdictState, number: int, at: float = NOW) -> list[Verb]:
    change = failure("fabric.errors", "degraded", at)
    made.current.take(f"n{number}", change)
    steps = made.step(f"n{number}", NodeEvent(kind=EventKind.DEGRADED, cause=change.check), at)
    return [action.verb for step in steps for action in step.actions]


def test_a_degradation_too_many_passes_the_same_guards_as_a_failure() -> None:
    often = tuple(Offence(at=NOW - 60, cause="fabric.errors") for _ in range(2))
    made = state_of(*(node(number, degradations=often, tested_at=1.0) for number in range(4)), policy=Policy())
    for number in range(4):
        assert degrade(made, number) == [Verb.CORDON]
    assert list(made.incidents.open) == ["leaf/l0"]
    assert {made.nodes[f"n{number}"].stage for number in range(4)} == {Stage.READY}
    failing = made.failing("n0")
    assert failing is not None
    assert failing.reason.startswith("degraded 3 times")
    made.current.take("n0", failure("fabric.errors", "pass", NOW + 1))
    assert made.failing("n0") is None


def test_a_degradation_too_many_of_one_node_drains_it_after_the_wait() -> None:
    often = tuple(Offence(at=NOW - 60, cause="fabric.errors") for _ in range(2))
    made = state_of(node(degradations=often, tested_at=1.0), policy=Policy())
    assert degrade(made, 0) == [Verb.CORDON]
    failing = made.failing("n0")
    assert failing is not None
    assert made.failed("n0", failing, NOW + 29.9) == []
    (step,) = made.failed("n0", failing, NOW + 30)
    assert [action.verb for action in step.actions] == [Verb.DRAIN]
    assert made.failing("n0") is None  # it has left service


def test_degradations_of_neighbours_add_to_a_failure_and_are_none_by_themselves() -> None:
    made = state_of(policy=Policy())
    for number in range(3):
        degrade(made, number)
    assert not made.incidents.open
    fails(made, 3)
    assert made.incidents.members("leaf/l0") == {"n0", "n1", "n2", "n3"}
    assert "4 of 8 nodes behind leaf/l0 failed or degraded together" in made.incidents.open["leaf/l0"].reason
    alone = state_of(policy=Policy())
    for number in range(8):
        degrade(alone, number)
    assert not alone.incidents.open


def test_its_own_failure_is_reported_before_a_seams_symptom() -> None:
    made = state_of(incidents=[seam("n0")])
    for check in ("gpu.throttle", "gpu.ecc"):
        made.current.take("n0", failure(check))
    own = made.failing("n0")
    assert own is not None
    assert own.check == "gpu.ecc"
    alone = state_of(incidents=[seam("n0")])
    alone.current.take("n0", failure("gpu.throttle"))
    only = alone.failing("n0")
    assert only is not None
    assert only.check == "gpu.throttle"
    assert alone.failing("stranger") is None


@pytest.mark.parametrize(
    ("health", "more", "stage"),
    [
        ("pass", {}, Stage.READY),
        ("fail", {}, Stage.QUARANTINED),
        ("unknown", {}, Stage.TESTING),
        ("", {}, Stage.TESTING),
        ("degraded", {}, Stage.READY),
        ("pass", {"suite": "1"}, Stage.READY),
        ("pass", {"suite": "0"}, Stage.TESTING),
        ("fail", {"suite": "0"}, Stage.QUARANTINED),
    ],
)
def test_what_a_full_test_leads_to(health: str, more: dict[str, object], stage: Stage) -> None:
    assert after_test(state_of(node(stage=Stage.TESTING)), health=health, **more) is stage


@pytest.mark.parametrize(
    ("choice", "stage", "degraded_by"),
    [
        (OnDegraded.CHOOSE_LAST, Stage.READY, "gpu.ecc"),
        (OnDegraded.NOTHING, Stage.READY, ""),
        (OnDegraded.FAIL, Stage.QUARANTINED, ""),
    ],
)
def test_what_a_degraded_test_leads_to_is_the_operators_choice(
    choice: OnDegraded, stage: Stage, degraded_by: str
) -> None:
    made = state_of(node(stage=Stage.TESTING), policy=replace(AT_ONCE, bootstrap_degraded=choice))
    assert after_test(made, health="degraded", cause="gpu.ecc") is stage
    assert made.nodes["n0"].degraded_by == degraded_by
    clean = state_of(node(stage=Stage.TESTING), policy=replace(AT_ONCE, bootstrap_degraded=choice))
    assert after_test(clean) is Stage.READY
    assert clean.nodes["n0"].degraded_by == ""


def test_a_degraded_test_that_does_not_count_degrades_nothing() -> None:
    made = state_of(node(stage=Stage.TESTING), policy=replace(AT_ONCE, bootstrap_degraded=OnDegraded.CHOOSE_LAST))
    assert after_test(made, health="degraded", cause="gpu.ecc", suite="0") is Stage.TESTING
    assert made.nodes["n0"].degraded_by == ""


@pytest.mark.parametrize("shadow", [False, True])
def test_a_degradation_too_many_of_a_check_in_shadow_mode_is_no_failure(shadow: bool) -> None:
    often = tuple(Offence(at=NOW - 60, cause="fabric.errors") for _ in range(2))
    checks = frozenset({"fabric.errors"}) if shadow else frozenset()
    made = state_of(node(degradations=often, tested_at=1.0), policy=Policy(shadow_checks=checks))
    made.current.take("n0", failure("fabric.errors", "degraded"))
    made.step("n0", NodeEvent(kind=EventKind.DEGRADED, cause="fabric.errors", reason="again"), NOW)
    assert (made.failing("n0") is None) is shadow


def test_a_pass_beside_a_failing_check_is_none() -> None:
    made = state_of(node(stage=Stage.TESTING))
    made.current.take("n0", failure())
    assert after_test(made) is Stage.QUARANTINED
    assert made.nodes["n0"].cause == "gpu.xid"
    other = state_of(node(stage=Stage.TESTING))
    other.current.take("n0", failure())
    after_test(other, health="fail", cause="dcgm.diag")
    assert other.nodes["n0"].cause == "dcgm.diag"


def test_a_failed_test_makes_a_node_ill_and_a_passed_one_well() -> None:
    made = state_of(node(stage=Stage.TESTING))
    after_test(made, health="fail", cause="dcgm.diag")
    assert made.guards.failing_by("n0") == "dcgm.diag"
    well = state_of(node(stage=Stage.TESTING))
    well.guards.remember("n0", "dcgm.diag", NOW)
    after_test(well)
    assert well.guards.failing_by("n0") is None
    unknown = state_of(node(stage=Stage.TESTING))
    unknown.guards.remember("n0", "dcgm.diag", NOW)
    after_test(unknown, health="unknown")
    assert unknown.guards.failing_by("n0") == "dcgm.diag"
    elsewhere = state_of(node(stage=Stage.READY))
    after_test(elsewhere, health="fail", cause="dcgm.diag")
    assert elsewhere.guards.failing_by("n0") is None


def test_a_failed_test_behind_a_shared_cause_is_held_on_trial() -> None:
    shared = Incident(id="s", opened=0.0, subject="leaf/l0", evidence=("n0",))
    made = state_of(node(stage=Stage.TESTING), incidents=[shared])
    assert after_test(made, health="fail", cause="host.shared_storage") is Stage.TESTING
    assert made.nodes["n0"].held == "leaf/l0"
    failed_before = state_of(node(stage=Stage.TESTING, failed=True), incidents=[shared])
    assert after_test(failed_before, health="fail", cause="host.shared_storage") is Stage.TESTING
    unknown = state_of(node(stage=Stage.TESTING), incidents=[shared])
    assert after_test(unknown, health="unknown") is Stage.TESTING
    assert unknown.nodes["n0"].held == "", "tried again, and held for nothing"
    passes = state_of(node(stage=Stage.TESTING), incidents=[shared])
    assert after_test(passes) is Stage.READY


def test_a_pool_that_lacks_spares_holds_the_next_one_back() -> None:
    policy = Policy(spares=1)
    made = state_of(node(stage=Stage.TESTING), policy=policy)
    assert after_test(made) is Stage.SPARE
    enough = state_of(node(0, Stage.TESTING), node(1, Stage.SPARE), policy=policy)
    assert after_test(enough) is Stage.READY
    returns = state_of(node(stage=Stage.TESTING, failed=True), policy=policy)
    assert after_test(returns) is Stage.SPARE, "counted as if it had returned"
    two_out = state_of(node(0, Stage.TESTING, failed=True), node(1, Stage.QUARANTINED), policy=policy)
    assert after_test(two_out) is Stage.READY


def test_a_repeat_offenders_failure_says_so() -> None:
    bad = tuple(Offence(at=NOW - 86_400.0 * day, cause="gpu.xid") for day in range(2, 12, 2))
    made = state_of(node(offences=bad))
    step = made.failed("n0", failure(), NOW)[0]
    assert "repeat offender" in step.transition.event.repeat_offender
    assert step.transition.event.evidence[-1] == step.transition.event.repeat_offender
    clean = state_of().failed("n0", failure(), NOW)[0]
    assert (clean.transition.event.repeat_offender, clean.transition.event.evidence) == ("", ())
    passed = state_of(node(stage=Stage.TESTING, offences=bad))
    outcome = OrderOutcome(order=1, verb="retest", ok=True, health="pass")
    assert passed.tested("n0", outcome, NOW)[0].transition.event.repeat_offender == ""


def test_a_node_held_on_trial_is_tried_at_once_when_its_checks_are_well() -> None:
    trial = node(stage=Stage.TESTING, held="leaf/l0", held_since=900.0)
    made = state_of(trial)
    made.current.take("n0", failure("gpu.xid", "pass"))
    made.guards.recovered("n0")
    (step,) = made.well_again("n0", NOW)
    assert [action.verb for action in step.actions] == [Verb.RETEST]
    assert state_of(replace(trial, asked_at=950.0)).well_again("n0", NOW) == []
    free = state_of(replace(trial, held=""))
    assert free.well_again("n0", NOW) == []
    ready = replace(trial, stage=Stage.READY)
    (step,) = state_of(ready).well_again("n0", NOW)
    assert [action.verb for action in step.actions] == [Verb.CORDON, Verb.RETEST]  # its test was withdrawn
    assert state_of(replace(ready, tested_at=1.0)).well_again("n0", NOW) == []
    assert state_of(replace(ready, stage=Stage.ALLOCATED)).well_again("n0", NOW) == []


def test_what_only_a_test_found_is_not_made_well_by_other_checks() -> None:
    made = state_of(node(stage=Stage.TESTING, held="leaf/l0", held_since=900.0))
    made.guards.remember("n0", "dcgm.diag", 900.0)
    made.current.take("n0", failure("gpu.xid", "pass"))
    assert made.well_again("n0", NOW) == []
    assert made.guards.failing_by("n0") == "dcgm.diag"
    made.current.take("n0", failure("dcgm.diag", "pass"))
    assert len(made.well_again("n0", NOW)) == 1
    assert made.guards.failing_by("n0") is None


def test_what_was_wrong_when_we_began_is_remembered() -> None:
    trial = node(0, Stage.TESTING, held="leaf/l0", held_since=900.0)
    held = node(1, Stage.READY, held="leaf/l0", held_since=900.0)
    tried = node(2, Stage.TESTING)
    made = state_of(trial, held, tried, node(3), verdicts={"n3": [failure()], "n4": [failure(after="pass")]})
    failing = {name: made.guards.failing_by(name) for name in ("n0", "n1", "n2", "n3", "n4")}
    assert failing == {"n0": "", "n1": None, "n2": None, "n3": "gpu.xid", "n4": None}
    shadowed = state_of(policy=replace(AT_ONCE, shadow_checks=frozenset({"gpu.xid"})), verdicts={"n3": [failure()]})
    assert shadowed.guards.failing_by("n3") is None


def test_a_step_that_changes_nothing_is_none_and_an_action_alone_is_one() -> None:
    made = state_of()
    assert made.step("n0", NodeEvent(kind=EventKind.RESET_DONE), NOW) == []
    assert made.step("stranger", NodeEvent(kind=EventKind.FAILED), NOW) == []
    (blind,) = made.step("n0", NodeEvent(kind=EventKind.BLIND, reason="x"), NOW)
    assert (blind.node, [action.verb for action in blind.actions]) == (made.nodes["n0"], [Verb.TICKET])
    assert (blind.transition.before, blind.transition.after, blind.transition.at) == (Stage.READY, Stage.READY, NOW)


def test_a_node_that_enrols_from_elsewhere_is_there_from_now_on() -> None:
    made = state_of()
    event = NodeEvent(kind=EventKind.ENROLLED)
    assert made.settle("n0", "default", {"leaf": "l0"}, event, NOW) == []
    (moved,) = made.settle("n0", "train", {"rack": "r1", "leaf": "l3"}, event, NOW)
    assert (moved.node.pool, moved.node.place, moved.actions) == ("train", {"rack": "r1", "leaf": "l3"}, ())
    assert moved.transition.reason == "enrolled in pool train, leaf l3, rack r1; it was in pool default"
    assert (made.guards.tallies["train"].here, made.guards.tallies["default"].here) == (1, 39)
    (nowhere,) = made.settle("n1", "train", {}, event, NOW)
    assert "no place named" in nowhere.transition.reason


def test_a_repeated_degradation_whose_verdict_is_gone_is_over() -> None:
    made = state_of()
    made._repeated["n0"] = ("fabric.errors", "degraded 3 times")
    assert made.failing("n0") is None
    assert "n0" not in made._repeated
