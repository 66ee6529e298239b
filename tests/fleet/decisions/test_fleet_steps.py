"""The fleet's judgement: a node heals, nobody is quarantined en masse, late reports undo nothing."""

from dataclasses import replace

import pytest

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.verdict_state import SchedulerView
from holdfast.model.account import Account
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange
from tests.fleet.decisions.simulated_fleet import POLICY, SimulatedFleet


def test_a_failed_node_is_drained_reset_tested_and_returned() -> None:
    site = SimulatedFleet()
    site.says("n3", "gpu.xid", "fail")
    assert site.stage("n3") is Stage.DRAINING
    site.passes()
    site.passes()
    assert site.stage("n3") is Stage.RESETTING
    site.reset("n3")
    site.says("n3", "gpu.xid", "pass")
    site.test("n3")
    assert site.stage("n3") is Stage.READY
    expected = [Verb.DRAIN, Verb.RESET_GPU, Verb.RETEST, Verb.UNCORDON]
    assert site.verbs("n3")[-4:] == expected


def test_without_a_scheduler_a_node_whose_drain_failed_stays_draining_until_an_operator_drains_it() -> None:
    site = SimulatedFleet()
    site.says("n3", "gpu.xid", "fail")
    site.fleet.acted("n3", Verb.DRAIN, False, "no permission", site.now)
    site.passes()
    site.passes()
    assert site.stage("n3") is Stage.DRAINING, "work may still start on it"
    assert not site.fleet.may_reset("n3", site.now)
    again = site.fleet.operator("n3", EventKind.QUARANTINE, "permission given", "ann", site.now)
    assert [one.verb for step in again for one in step.actions] == [Verb.DRAIN]
    assert again[0].actions[0].reason == "permission given"
    site.fleet.acted("n3", Verb.DRAIN, True, "drained", site.now)
    site.passes()
    assert site.stage("n3") is Stage.QUARANTINED
    once_more = site.fleet.operator("n3", EventKind.QUARANTINE, "ticket 7", "ann", site.now)
    assert not [one for step in once_more for one in step.actions], "it is closed"


@pytest.mark.parametrize(("scheduled", "expected"), [(False, [Verb.DRAIN]), (True, [Verb.CORDON])])
def test_an_operator_who_takes_over_a_node_that_could_not_be_closed_drains_it_once(
    scheduled: bool, expected: list[Verb]
) -> None:
    """An observer of the scheduler repeats the drain by itself."""
    fleet = Fleet(
        POLICY, [NodeState(name="n1", stage=Stage.RESETTING, cause="gpu.xid", failed=True)], scheduled=scheduled
    )
    fleet.acted("n1", Verb.CORDON, False, "no permission", 5.0)
    steps = fleet.operator("n1", EventKind.QUARANTINE, "ticket 7", "ann", 6.0)
    assert [one.verb for step in steps for one in step.actions] == expected


def test_a_node_that_keeps_failing_takes_every_repair_step_and_ends_with_one_ticket() -> None:
    site = SimulatedFleet()
    site.says("n3", "gpu.xid", "fail")
    for verb in ("reset_gpu", "reboot"):
        site.passes()
        site.passes()
        site.reset("n3", verb)
        site.test("n3", "fail", "gpu.xid")
    for _ in range(5):
        site.passes()
    verbs = [v for v in site.verbs("n3") if v in (Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT, Verb.TICKET)]
    assert verbs == [Verb.RESET_GPU, Verb.REBOOT, Verb.TICKET]
    assert site.stage("n3") is Stage.QUARANTINED


def test_fifty_nodes_behind_one_leaf_are_one_incident_and_no_quarantine_beyond_the_cap() -> None:
    site = SimulatedFleet(128, per_leaf=64)
    for index in range(50):
        site.now += 1
        site.says(f"n{index}", "fabric.port_down", "fail")
        site.passes(0.1)
    assert list(site.fleet.incidents.open) == ["leaf/l0"]
    assert "50 of 64 nodes behind leaf/l0" in site.fleet.incidents.open["leaf/l0"].reason
    assert site.out() == ["n0"]
    assert site.fleet.nodes["n40"].reason == "part of the incident on leaf/l0, not quarantined separately"


def test_scattered_failures_stop_at_the_breaker_and_nothing_stale_is_replayed_when_it_closes() -> None:
    site = SimulatedFleet(40, policy=Policy(breaker_nodes=2, shared_nodes=99))
    for index in range(6):
        site.now += 500
        site.says(f"n{index * 6}", "gpu.xid", "fail")
    out = [name for name, node in site.fleet.nodes.items() if node.stage is not Stage.READY]
    assert len(out) == 2
    assert "breaker open" in site.fleet.incidents.open["pool/default"].reason
    site.says("n24", "gpu.xid", "pass")
    site.says("n30", "gpu.xid", "pass")
    for name in out:
        site.steps += site.fleet.operator(name, EventKind.REMOVE, "sent for repair", "ann", site.now)
    site.passes()
    assert site.stage("n24") is Stage.TESTING  # well again: tested before it takes work
    assert site.stage("n12") is Stage.DRAINING


def test_a_late_report_does_not_undo_a_newer_one() -> None:
    site = SimulatedFleet()
    site.now = 100
    site.says("n1", "gpu.xid", "pass", at=90)
    site.says("n1", "gpu.xid", "fail", at=50, session="an earlier one")
    assert site.stage("n1") is Stage.READY
    assert site.fleet.health("n1", site.now) == "pass"


def test_a_silent_agent_is_unknown_and_an_incident_but_not_a_quarantine() -> None:
    site = SimulatedFleet()
    site.quiet.add("n5")
    site.passes(POLICY.silent_seconds + 60)
    assert site.fleet.health("n5", site.now) == "unknown"
    assert "node/n5" in site.fleet.incidents.open
    assert site.stages() == {Stage.READY}
    site.says("n5", "gpu.xid", "pass")
    assert "node/n5" not in site.fleet.incidents.open


def test_the_scheduler_s_word_moves_a_node_through_a_workload() -> None:
    site = SimulatedFleet()
    status = NodeStatus(node="n2", accepts_work=True, cordoned=False, down=False, busy=True, jobs=frozenset({"7"}))
    site.steps += site.fleet.observe([status], site.now)
    assert site.stage("n2") is Stage.ALLOCATED
    idle = NodeStatus(node="n2", accepts_work=True, cordoned=False, down=False, busy=False)
    site.now += 10
    site.steps += site.fleet.observe([idle], site.now)
    assert site.stage("n2") is Stage.CLEANING
    site.passes()
    site.test("n2")
    assert site.stage("n2") is Stage.READY
    assert site.fleet.nodes["n2"].freshly_tested


def test_a_pass_of_another_suite_does_not_count_and_soon_an_operator_decides() -> None:
    """What an agent runs is its own configuration's, whatever the policy asks of it."""
    site = SimulatedFleet()
    site.fleet.policy = replace(site.fleet.policy, suite="2026-11")
    site.passes()
    assert site.stage("n1") is Stage.TESTING
    for _ in range(site.fleet.policy.inconclusive_tests):
        assert site.stage("n1") is Stage.TESTING
        site.test("n1")
    assert site.stage("n1") is Stage.QUARANTINED and site.verbs("n1")[-1] is Verb.TICKET
    assert "suite 1 ran, suite 2026-11 is required" in site.fleet.nodes["n1"].reason


def test_an_operators_quarantine_is_not_climbed_out_of_by_the_machine() -> None:
    site = SimulatedFleet()
    site.steps += site.fleet.operator("n4", EventKind.QUARANTINE, "noisy fan", "ann", site.now)
    for _ in range(4):
        site.passes()
    assert site.stage("n4") is Stage.QUARANTINED
    assert Verb.RESET_GPU not in site.verbs("n4")


def test_an_unknown_node_and_an_unknown_verb_change_nothing() -> None:
    site = SimulatedFleet()
    before = dict(site.fleet.nodes)
    site.says("stranger", "gpu.xid", "fail")
    site.says("n1", "", "", outcome=OrderOutcome(order=9, verb="dance", ok=True))
    assert site.fleet.nodes == before


def test_a_drain_that_fails_for_good_is_an_incident_until_one_succeeds() -> None:
    site = SimulatedFleet()
    site.fleet.acted("n0", Verb.DRAIN, False, "scontrol: permission denied", 10.0)
    (incident,) = site.fleet.incidents.open.values()
    assert incident.subject == "node/n0/scheduler"
    assert "permission denied" in incident.reason
    site.fleet.acted("n0", Verb.UNCORDON, True, "done", 20.0)
    assert not site.fleet.incidents.open


def test_without_a_scheduler_the_agent_receives_that_its_node_is_closed() -> None:
    site = SimulatedFleet()
    assert site.fleet.closed("n3") == ""
    site.says("n3", "gpu.xid", "fail")
    assert site.fleet.closed("n3").startswith("draining: ")
    site.fleet.policy = Policy(dry_run=True)
    assert site.fleet.closed("n3") == ""


def status(node: str, *jobs: str) -> NodeStatus:
    return NodeStatus(node=node, accepts_work=True, cordoned=False, down=False, busy=bool(jobs), jobs=frozenset(jobs))


def test_a_passed_test_opens_no_node_while_a_check_of_it_fails() -> None:
    site = SimulatedFleet()
    site.says("n3", "gpu.xid", "fail")
    site.passes()
    site.passes()
    site.reset("n3")
    site.test("n3")
    assert site.stage("n3") is Stage.QUARANTINED
    assert site.fleet.nodes["n3"].cause == "gpu.xid"
    assert Verb.UNCORDON not in site.verbs("n3")[3:]


def test_an_allocated_node_that_is_removed_leaves_when_its_work_has_ended() -> None:
    site = SimulatedFleet()
    site.steps += site.fleet.observe([status("n2", "7")], site.now)
    site.steps += site.fleet.operator("n2", EventKind.REMOVE, "sold", "ann", site.now)
    site.passes(600)
    assert site.stage("n2") is Stage.DRAINING
    site.steps += site.fleet.observe([status("n2")], site.now)
    assert site.stage("n2") is Stage.REMOVED
    assert site.fleet.nodes["n2"].reason == "sold"


def test_an_operator_takes_over_a_node_that_the_machine_has() -> None:
    site = SimulatedFleet()
    site.says("n3", "gpu.xid", "fail")
    site.passes()
    site.passes()
    assert site.stage("n3") is Stage.RESETTING
    site.steps += site.fleet.operator("n3", EventKind.QUARANTINE, "I look at it", "ann", site.now)
    site.reset("n3")
    site.passes(700)
    life = site.fleet.nodes["n3"]
    assert (life.stage, life.cause, life.reason) == (Stage.QUARANTINED, "operator", "I look at it")


def test_an_operator_takes_over_a_drain_and_gives_it_back() -> None:
    site = SimulatedFleet()
    site.steps += site.fleet.observe([status("n3", "7")], site.now)
    site.says("n3", "gpu.xid", "fail")
    site.steps += site.fleet.operator("n3", EventKind.QUARANTINE, "I look at it", "ann", site.now)
    assert (site.stage("n3"), site.fleet.nodes["n3"].cause) == (Stage.DRAINING, "operator")
    site.says("n3", "gpu.xid", "pass")
    site.steps += site.fleet.operator("n3", EventKind.RELEASE, "all well", "ann", site.now)
    assert site.stage("n3") is Stage.ALLOCATED
    site.steps += site.fleet.observe([status("n3")], site.now)
    site.passes()
    assert site.stage("n3") is Stage.TESTING


def test_a_failure_held_by_the_breaker_says_so_also_on_trial() -> None:
    site = SimulatedFleet(40, policy=Policy(breaker_nodes=1, shared_nodes=99))
    site.steps += site.fleet.observe([status("n9", "7")], site.now)
    site.says("n3", "gpu.xid", "fail")
    site.says("n9", "gpu.xid", "fail")
    site.steps += site.fleet.observe([status("n9")], site.now)
    site.passes()
    assert site.stage("n9") is Stage.TESTING
    assert "breaker open" in site.fleet.nodes["n9"].reason


def test_a_node_that_enrols_from_elsewhere_is_there_from_now_on() -> None:
    site = SimulatedFleet()
    steps = site.fleet.enrol("n3", "decode", {"leaf": "l9"}, site.now)
    assert [step.node.pool for step in steps] == ["decode"]
    assert "it was in pool default" in steps[0].transition.reason
    life = site.fleet.nodes["n3"]
    assert (life.pool, life.place, life.stage) == ("decode", {"leaf": "l9"}, Stage.READY)


@pytest.mark.parametrize("quiet", [True, False])
def test_a_reset_that_never_ends_is_followed_by_the_next_repair_step_and_then_a_person(quiet: bool) -> None:
    site = SimulatedFleet()
    site.says("n3", "gpu.xid", "fail")
    site.passes()
    site.passes()
    assert site.stage("n3") is Stage.RESETTING
    site.quiet |= {"n3"} if quiet else set()
    for _ in range(10):
        site.passes(POLICY.reset_seconds + 1)
    verbs = [v for v in site.verbs("n3") if v in (Verb.RESET_GPU, Verb.REBOOT, Verb.TICKET)]
    assert verbs == [Verb.RESET_GPU, Verb.REBOOT, Verb.TICKET]
    assert site.stage("n3") is Stage.QUARANTINED


def test_a_node_that_is_silent_after_its_reset_does_not_stay_on_trial() -> None:
    site = SimulatedFleet()
    site.says("n3", "gpu.xid", "fail")
    site.passes()
    site.passes()
    site.steps += site.fleet.acted("n3", Verb.RESET_GPU, True, "the BMC said so", site.now)
    site.quiet.add("n3")
    for _ in range(20):
        site.passes(POLICY.reset_seconds + 1)
    assert site.stage("n3") is Stage.QUARANTINED
    assert Verb.TICKET in site.verbs("n3")


def test_a_verdict_dated_in_the_future_gives_way_to_the_next() -> None:
    site = SimulatedFleet()
    site.says("n1", "gpu.xid", "fail", at=site.now + 9_999)
    assert site.fleet.verdicts("n1")[0].at == site.now
    site.now += 1
    site.says("n1", "gpu.xid", "pass", session="a later one")
    assert site.fleet.health("n1", site.now) == "pass"


def test_within_a_session_the_numbers_say_which_is_later() -> None:
    site = SimulatedFleet()
    site.says("n1", "gpu.xid", "fail")
    site.says("n1", "gpu.xid", "pass", at=site.now - 5)  # its clock was set back
    assert site.fleet.health("n1", site.now) == "pass"


def alone(stage: Stage = Stage.READY, **more: object) -> Fleet:
    node = NodeState(name="n0", stage=stage, tested_suite="1", **more)  # type: ignore[arg-type]
    return Fleet(
        POLICY, [node, *(NodeState(name=f"n{number}", stage=Stage.READY, tested_suite="1") for number in range(1, 20))]
    )


@pytest.mark.parametrize(("ago", "health"), [(120.0, "pass"), (120.1, "unknown")])
def test_a_node_is_unknown_after_two_minutes_of_silence(ago: float, health: str) -> None:
    fleet = alone()
    fleet.take(changed("pass", at=1000.0), 1000.0)
    assert fleet.health("n0", 1000.0 + ago) == health


def test_a_node_without_a_verdict_is_unknown_though_its_agent_reports() -> None:
    fleet = alone()
    fleet.take(Report(node="n0", session="s", seq=1, at=1000.0, heartbeat=True), 1000.0)
    assert fleet.health("n0", 1000.0) == "unknown"


def test_a_late_report_does_not_make_a_node_silent() -> None:
    fleet = alone()
    fleet.last_report_at["n0"] = 1000.0
    fleet.take(Report(node="n0", session="s", seq=1, at=900.0), 900.0)
    assert fleet.last_report_at["n0"] == 1000.0


@pytest.mark.parametrize(
    ("stage", "policy", "why"),
    [
        (Stage.READY, POLICY, ""),
        (Stage.ALLOCATED, POLICY, ""),
        (Stage.TESTING, POLICY, "testing: not yet"),
        (Stage.TESTING, replace(POLICY, dry_run=True), ""),
    ],
)
def test_why_nothing_may_start_on_a_node(stage: Stage, policy: Policy, why: str) -> None:
    node = NodeState(name="n0", stage=stage, reason="not yet", tested_at=1.0)
    assert Fleet(policy, [node]).closed("n0") == why
    assert Fleet(policy, [node], scheduled=True).closed("n0") == why
    withdrawn = "" if policy.dry_run else why or "takes no new work before a test: not yet"
    assert Fleet(policy, [replace(node, tested_at=None)]).closed("n0") == withdrawn
    by_cause = Fleet(POLICY, [NodeState(name="n0", stage=Stage.QUARANTINED, cause="gpu.xid")])
    assert by_cause.closed("n0") == "quarantined: gpu.xid"


def test_a_pool_may_have_its_own_dry_run_and_others_follow_the_fleet() -> None:
    policy = Policy(dry_run=True, pools={"train": Policy(dry_run=False)})
    fleet = Fleet(policy, [NodeState(name="n0", pool="train"), NodeState(name="n1")])
    assert [fleet.dry_run(name) for name in ("n0", "n1", "stranger")] == [False, True, True]


def test_a_person_is_warned_when_the_pool_cannot_spare_a_node() -> None:
    nodes = [NodeState(name=f"n{i}", stage=Stage.QUARANTINED if i < 2 else Stage.READY) for i in range(20)]
    fleet = Fleet(POLICY, [*nodes, NodeState(name="gone", stage=Stage.REMOVED)])
    assert fleet.brake("n5").startswith("2 of 20 nodes of pool default are out of service")
    assert fleet.brake("n0") == ""
    assert fleet.brake("gone") == ""
    assert alone().brake("n0") == ""


def test_only_resets_move_a_node_and_only_walls_raise_an_incident() -> None:
    fleet = alone(Stage.RESETTING, cause="gpu.xid", repair_step=1, failed=True)
    assert fleet.acted("n0", Verb.TICKET, False, "x", 1.0) == []
    assert fleet.acted("stranger", Verb.DRAIN, False, "x", 1.0) == []
    assert not fleet.incidents.open
    assert fleet.acted("n0", Verb.DRAIN, False, "x", 1.0) == []
    assert list(fleet.incidents.open) == ["node/n0/scheduler"]
    (failed,) = fleet.acted("n0", Verb.RESET_GPU, False, "x", 2.0)
    assert failed.node.stage is Stage.QUARANTINED
    (done,) = alone(Stage.RESETTING).acted("n0", Verb.REBOOT, True, "x", 2.0)
    assert done.node.stage is Stage.TESTING


def outcome(verb: str, ok: bool = True) -> Report:
    return Report(node="n0", session="s", seq=1, at=5.0, outcomes=(OrderOutcome(order=1, verb=verb, ok=ok),))


@pytest.mark.parametrize(
    ("verb", "ok", "stage"),
    [
        ("reset_gpu", True, Stage.TESTING),
        ("reboot", True, Stage.TESTING),
        ("inspect", False, Stage.QUARANTINED),
        ("cordon", True, Stage.RESETTING),
        ("dance", True, Stage.RESETTING),
    ],
)
def test_what_an_agent_did(verb: str, ok: bool, stage: Stage) -> None:
    fleet = alone(Stage.RESETTING)
    fleet.take(outcome(verb, ok), 5.0)
    assert fleet.nodes["n0"].stage is stage


def changed(after: str, check: str = "gpu.ecc", at: float = 5.0) -> Report:
    change = VerdictChange(at=at, check=check, before="", after=after)
    return Report(node="n0", session="s", seq=int(at), at=at, changes=(change,))


def test_a_degradation_ends_with_the_check_that_reported_it() -> None:
    fleet = alone()
    fleet.take(changed("degraded"), 5.0)
    assert fleet.nodes["n0"].degraded_by == "gpu.ecc"
    fleet.take(changed("pass", "gpu.xid", 6.0), 6.0)
    assert fleet.nodes["n0"].degraded_by == "gpu.ecc"
    fleet.take(changed("pass", "gpu.ecc", 7.0), 7.0)
    assert fleet.nodes["n0"].degraded_by == ""


def test_a_node_held_on_trial_is_tried_when_its_last_failing_check_passes() -> None:
    fleet = alone(Stage.TESTING, held="leaf/l0", held_since=1.0)
    fleet._state.guards.recovered("n0")  # what it was held for when we began is over
    fleet.take(changed("fail", "gpu.ecc", 2.0), 2.0)
    fleet.take(changed("fail", "gpu.xid", 3.0), 3.0)
    assert fleet.take(changed("pass", "gpu.xid", 4.0), 4.0) == []
    steps = fleet.take(changed("pass", "gpu.ecc", 5.0), 5.0)
    assert [action.verb for step in steps for action in step.actions] == [Verb.RETEST]


def account(*victims: str) -> Account:
    return Account(
        kind="cooling.flow_low", confidence=0.9, since=0.0, lasted_seconds=1.0, sentence="flow", victims=victims
    )


def test_a_seams_victims_recover_from_its_symptoms_and_from_nothing_else() -> None:
    fleet = alone(degraded_by="gpu.clocks")
    steps = fleet.found("cdu/c2", account("node/n0", "node/n1/gpu/3", "job/n2", "node/stranger"), 5.0)
    assert [step.node.name for step in steps] == ["n0"]
    assert fleet.nodes["n0"].degraded_by == ""
    assert fleet.incidents.members("cdu/c2") == {"n0", "n1"}
    other = alone(degraded_by="gpu.ecc")
    assert other.found("cdu/c2", account("node/n0"), 5.0) == []
    assert other.nodes["n0"].degraded_by == "gpu.ecc"


def sees(*jobs: str, node: str = "n0", busy: bool | None = None) -> NodeStatus:
    used = bool(jobs) if busy is None else busy
    return NodeStatus(node=node, accepts_work=True, cordoned=False, down=False, busy=used, jobs=frozenset(jobs))


def test_a_scheduler_that_names_an_unknown_node_is_ignored() -> None:
    assert alone().observe([sees("7", node="stranger")], 5.0) == []


def passing(*jobs: str) -> NodeStatus:
    return replace(sees(busy=True), passing=frozenset(jobs))


def test_a_job_that_the_gate_refuses_has_not_used_a_node_under_test() -> None:
    """Slurm shows it in its prolog, then in its epilog, then no more. The test goes on."""
    fleet = alone(Stage.TESTING, asked_at=1.0)
    for status in (passing("7"), passing("7"), sees()):
        assert fleet.observe([status], 5.0) == []
    assert fleet.nodes["n0"].used_until is None


def test_a_job_that_runs_on_a_node_under_test_all_the_same_is_noticed() -> None:
    fleet = alone(Stage.TESTING, asked_at=1.0)
    fleet.observe([sees("7")], 5.0)
    assert fleet.nodes["n0"].stage is Stage.ALLOCATED
    fleet.observe([passing("7")], 6.0)
    assert fleet.nodes["n0"].jobs == {"7"}, "its epilog runs: it has not left yet"
    fleet.observe([sees()], 7.0)
    assert fleet.nodes["n0"].used_until == 7.0


@pytest.mark.parametrize("stage", [one for one in Stage if one not in (Stage.READY, Stage.ALLOCATED)])
def test_a_job_that_came_to_a_closed_node_does_not_open_it(stage: Stage) -> None:
    """The scheduler shows it while its prolog has yet to ask: the answer must still be no."""
    fleet = alone(stage, tested_at=1.0)
    assert fleet.closed("n0")
    fleet.observe([sees("7")], 5.0)
    assert fleet.closed("n0")


def test_a_node_that_takes_work_is_in_use_from_the_prolog_on() -> None:
    fleet = alone(tested_at=1.0)
    fleet.observe([passing("7")], 5.0)
    assert (fleet.nodes["n0"].stage, fleet.nodes["n0"].jobs) == (Stage.ALLOCATED, {"7"})


def test_a_draining_node_is_empty_when_its_scheduler_says_so() -> None:
    fleet = alone(Stage.DRAINING, cause="gpu.xid", failed=True, jobs=frozenset({"7"}))
    fleet.observe([sees("7")], 5.0)
    assert fleet.nodes["n0"].stage is Stage.DRAINING
    fleet.observe([sees(busy=True)], 6.0)
    assert fleet.nodes["n0"].stage is Stage.DRAINING
    fleet.observe([sees()], 7.0)
    assert fleet.nodes["n0"].stage is Stage.QUARANTINED


def test_a_node_is_cleaned_not_in_the_look_that_showed_its_work_gone() -> None:
    node = NodeState(name="n0", stage=Stage.ALLOCATED, jobs=frozenset({"7"}), tested_suite="1")
    for scheduled, after in ((True, Stage.TESTING), (False, Stage.CLEANING)):
        fleet = Fleet(POLICY, [node], scheduled=scheduled)
        fleet.observe([sees()], 5.0)
        assert fleet.nodes["n0"].stage is Stage.CLEANING
        fleet.observe([sees()], 6.0)
        assert fleet.nodes["n0"].stage is after


def test_a_node_that_its_scheduler_has_lost_is_not_healthy_and_an_incident() -> None:
    fleet = Fleet(POLICY, [NodeState(name="n0", stage=Stage.READY, tested_at=1.0, tested_suite="1")], scheduled=True)
    fleet.take(changed("pass"), 5.0)
    lost = replace(sees(), down=True, accepts_work=False, state="DOWN+NOT_RESPONDING", note="Not responding")
    assert fleet.health("n0", 5.0) == "pass"
    fleet.observe([lost], 5.0)
    assert fleet.health("n0", 5.0) == "fail"
    reason = fleet.incidents.open["node/n0/down"].reason
    assert reason == "the scheduler shows n0 as DOWN+NOT_RESPONDING: Not responding"
    fleet.observe([sees()], 6.0)
    assert fleet.health("n0", 6.0) == "pass"
    assert "node/n0/down" not in fleet.incidents.open
    resetting = Fleet(POLICY, [NodeState(name="n0", stage=Stage.RESETTING)], scheduled=True)
    resetting.take(changed("pass"), 5.0)
    resetting.observe([lost], 5.0)
    assert resetting.health("n0", 5.0) == "pass"
    assert not resetting.incidents.open  # it reboots


def test_a_removed_node_that_enrols_again_stays_removed() -> None:
    fleet = Fleet(POLICY, [NodeState(name="n0", stage=Stage.REMOVED, cause="operator")])
    assert fleet.enrol("n0", "default", {}, 5.0) == []
    assert fleet.nodes["n0"].stage is Stage.REMOVED
    assert fleet.closed("n0") == "removed: operator"
    fleet.operator("n0", EventKind.RELEASE, "back from repair", "ann", 6.0)
    assert fleet.nodes["n0"].stage is Stage.TESTING


def test_a_node_was_last_seen_when_it_last_reported() -> None:
    fleet = Fleet(POLICY, new_key=lambda: "key")
    fleet.enrol("n1", "default", {}, 0.0)
    for seq, (now, last_report_at) in enumerate(((0.25, 0.25), (9.0, 9.0), (5.0, 9.0)), 1):
        fleet.take(Report(node="n1", session="s", seq=seq, at=now), now)
        assert fleet.last_report_at["n1"] == last_report_at


@pytest.mark.parametrize(("began", "at"), [(None, 50.0), (40.0, 40.0)])
def test_what_a_scheduler_shows_is_as_old_as_the_look_that_found_it(began: float | None, at: float) -> None:
    fleet = Fleet(POLICY, new_key=lambda: "key")
    fleet.enrol("n1", "default", {}, 0.0)
    status = NodeStatus(node="n1", accepts_work=True, cordoned=False, down=False, busy=False)
    fleet.observe([status], 50.0, began)
    assert fleet._state.views["n1"] == SchedulerView(at, status)


def test_a_forgotten_node_takes_its_own_incidents_along_and_no_others() -> None:
    sim = SimulatedFleet(16)
    for subject in ("node/n1", "node/n1/down", "node/n10", "node/n10/down"):
        sim.fleet.incidents.raise_(subject, "agent.silent", "silent", sim.now)
    sim.fleet.forget("n1", sim.now)
    assert sorted(sim.fleet.incidents.open) == ["node/n10", "node/n10/down"]


def test_a_node_counts_as_degraded_until_its_last_degraded_check_recovers() -> None:
    site = SimulatedFleet()
    site.says("n0", "fabric.errors", "degraded")
    site.says("n0", "gpu.ecc", "degraded")
    site.says("n0", "gpu.ecc", "pass")
    assert "n0" in site.fleet._state.guards._degraded
    site.says("n0", "fabric.errors", "pass")
    assert "n0" not in site.fleet._state.guards._degraded


def test_without_a_scheduler_a_repair_step_waits_for_known_jobs() -> None:
    site = SimulatedFleet()
    assert site.fleet.may_reset("n0", site.now)
    site.fleet.nodes["n0"] = replace(site.fleet.nodes["n0"], jobs=frozenset({"j1"}))
    assert not site.fleet.may_reset("n0", site.now)


@pytest.mark.parametrize(("note", "ends"), [("", "as DOWN"), ("no power", "as DOWN: no power")])
def test_a_node_that_its_scheduler_lost_is_an_incident_with_the_schedulers_note(note: str, ends: str) -> None:
    site = SimulatedFleet()
    lost = NodeStatus(node="n0", accepts_work=False, cordoned=False, down=True, busy=False, state="DOWN", note=note)
    site.steps += site.fleet.observe([lost], site.now)
    assert site.incidents()["node/n0/down"].reason.endswith(ends)


WORK = Maintenance(name="pump", nodes=frozenset({"n0"}), start=0.0, end=1e9)


def test_during_maintenance_a_late_result_of_a_test_changes_nothing() -> None:
    fleet = Fleet(replace(POLICY, maintenance=(WORK,)), [NodeState(name="n0", stage=Stage.READY, tested_suite="1")])
    assert fleet._state.step("n0", NodeEvent(kind=EventKind.TEST_FAILED, cause="gpu.xid", reason=""), 5.0) == []


def test_during_maintenance_an_inconclusive_test_is_run_again_and_the_node_is_not_held() -> None:
    fleet = Fleet(replace(POLICY, maintenance=(WORK,)), [NodeState(name="n0", stage=Stage.TESTING, asked_at=1.0)])
    (step,) = fleet._state.step("n0", NodeEvent(kind=EventKind.TEST_UNKNOWN, reason=""), 5.0)
    assert not step.node.held and [one.verb for one in step.actions] == [Verb.RETEST]


@pytest.mark.parametrize(("cordoned", "stage"), [(True, Stage.QUARANTINED), (False, Stage.DRAINING)])
def test_where_actions_are_taken_a_draining_node_is_empty_when_its_drain_is_confirmed(
    cordoned: bool, stage: Stage
) -> None:
    node = NodeState(name="n0", stage=Stage.DRAINING, cause="gpu.xid", failed=True, since=1.0)
    fleet = Fleet(replace(POLICY, dry_run=False), [node], scheduled=True)
    fleet.observe([NodeStatus(node="n0", accepts_work=False, cordoned=cordoned, down=False, busy=False)], 5.0)
    assert fleet.nodes["n0"].stage is stage


def test_an_operator_who_quarantines_a_removed_node_that_is_not_closed_changes_nothing() -> None:
    fleet = Fleet(POLICY, [NodeState(name="n1", stage=Stage.REMOVED)])
    fleet.incidents.raise_("node/n1/scheduler", "action.drain", "no permission", 5.0)
    assert fleet.operator("n1", EventKind.QUARANTINE, "ticket 7", "ann", 6.0) == []
