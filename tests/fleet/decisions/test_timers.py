"""What time alone brings, each deadline on both sides."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.timers import Timers
from holdfast.fleet.decisions.unsaved_state import Unsaved
from holdfast.fleet.decisions.verdict_state import SchedulerView, VerdictState
from holdfast.model.account import Account
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.report import VerdictChange

NOW = 100_000.0
# One node behind a parent is enough for a shared cause: so that a single node can be held by it.
AT_ONCE = Policy(shared_first_seconds=0.0)
LOOSE = Policy(shared_nodes=1, shared_share=0.0, shared_first_seconds=0.0)
TESTED = {"tested_at": 1.0, "tested_suite": "1"}


def node(number: int = 0, stage: Stage = Stage.READY, **more: object) -> NodeState:
    known: dict[str, object] = {"place": {"leaf": f"l{number // 8}"}, **TESTED, **more}
    return NodeState(name=f"n{number}", stage=stage, **known)  # type: ignore[arg-type]


class Clock:
    """The state of these nodes and of others that are ready, and what a tick brings."""

    def __init__(self, *first: NodeState, policy: Policy | None = None, count: int = 40, **more: object) -> None:
        rest = [node(number) for number in range(len(first), count)]
        self.state = VerdictState(policy or AT_ONCE, [*first, *rest], **more)  # type: ignore[arg-type]
        self.pace = Timers(self.state, Unsaved())

    def tick(self, at: float = NOW, quiet: tuple[str, ...] = ()) -> dict[str, list[Verb]]:
        """What is done to whom."""
        self.state.last_report_at.update({name: at for name in self.state.nodes if name not in quiet})
        done: dict[str, list[Verb]] = {}
        for step in self.pace.tick(at):
            done.setdefault(step.node.name, []).extend(action.verb for action in step.actions)
        return done

    def stage(self, number: int = 0) -> Stage:
        return self.state.nodes[f"n{number}"].stage

    def says(self, after: str, check: str = "gpu.xid", number: int = 0, at: float = NOW) -> None:
        self.state.current.take(f"n{number}", VerdictChange(at=at, check=check, before="pass", after=after))


def test_a_fleet_that_is_well_is_left_alone() -> None:
    assert Clock().tick() == {}


@pytest.mark.parametrize(("quiet_for", "reported"), [(120.0, False), (121.0, True)])
def test_an_agent_is_silent_after_two_minutes(quiet_for: float, reported: bool) -> None:
    clock = Clock()
    clock.tick()
    clock.tick(NOW + quiet_for, quiet=("n0",))
    assert ("node/n0" in clock.state.incidents.open) is reported
    assert clock.stage() is Stage.READY
    assert clock.state.guards.failing_by("n0") == ("agent.silent" if reported else None)


def test_nobody_waits_for_a_node_that_was_removed() -> None:
    clock = Clock(node(stage=Stage.REMOVED))
    clock.tick()
    clock.tick(NOW + 500.0, quiet=("n0",))
    assert not clock.state.incidents.open


def test_an_incident_of_silence_ends_where_its_node_is_removed() -> None:
    clock = Clock()
    clock.tick()
    clock.tick(NOW + 500.0, quiet=("n0", "n9"))
    assert sorted(clock.state.incidents.open) == ["node/n0", "node/n9"]
    clock.state.put(replace(clock.state.nodes["n0"], stage=Stage.REMOVED))
    clock.tick(NOW + 505.0, quiet=("n0", "n9"))
    assert sorted(clock.state.incidents.open) == ["node/n9"]


def test_silence_counts_from_when_we_began_to_listen() -> None:
    clock = Clock()
    clock.state.last_report_at["n0"] = 1.0
    clock.tick(quiet=("n0",))
    clock.tick(NOW + 120.0, quiet=("n0",))
    assert not clock.state.incidents.open
    clock.tick(NOW + 121.0, quiet=("n0",))
    assert list(clock.state.incidents.open) == ["node/n0"]
    reason = clock.state.incidents.open["node/n0"].reason
    clock.tick(NOW + 200.0, quiet=("n0",))
    assert clock.state.incidents.open["node/n0"].reason == reason  # reported once


def test_silence_in_planned_work_is_not_reported() -> None:
    clock = Clock(policy=Policy(maintenance=(Maintenance(name="w", nodes=frozenset({"n0"}), start=0.0, end=1e9),)))
    clock.tick()
    clock.tick(NOW + 500.0, quiet=("n0", "n1"))
    assert list(clock.state.incidents.open) == ["node/n1"]


def test_the_silence_of_a_whole_leaf_is_the_leafs() -> None:
    clock = Clock()
    clock.tick()
    clock.tick(NOW + 121.0, quiet=("n0",))
    everyone = tuple(f"n{number}" for number in range(8))
    clock.tick(NOW + 130.0, quiet=("n0",))
    for name in everyone[1:]:
        clock.state.last_report_at[name] = NOW
    clock.tick(NOW + 140.0, quiet=everyone)
    assert list(clock.state.incidents.open) == ["leaf/l0"]
    closed = [one for one in clock.state.incidents.take_changed() if one.subject == "node/n0"]
    assert closed[-1].reason.endswith("; absorbed by leaf/l0")
    assert {one.partition("@")[0] for one in clock.state.incidents.absorbed} == {"node/n0"}


def test_the_silence_of_a_seams_victim_is_its_symptom() -> None:
    power = Account(kind="power.feed_lost", confidence=0.9, since=0.0, lasted_seconds=1.0)
    known = Incident(id="s", opened=0.0, subject="pdu/p1", cause=power.kind, evidence=("n0",), account=power)
    clock = Clock(incidents=[known])
    clock.tick()
    clock.tick(NOW + 200.0, quiet=("n0",))
    assert list(clock.state.incidents.open) == ["pdu/p1"]


def test_the_next_repair_step_is_taken_unless_an_operator_decides() -> None:
    assert Clock(node(stage=Stage.QUARANTINED, cause="gpu.xid", failed=True)).tick() == {"n0": [Verb.RESET_GPU]}
    assert Clock(node(stage=Stage.QUARANTINED, cause="operator")).tick() == {}
    assert Clock(node(stage=Stage.QUARANTINED, cause="gpu.xid", repair_step=3)).tick() == {}


def test_a_quarantined_node_waits_for_the_pattern_and_for_what_holds_it() -> None:
    clock = Clock(node(stage=Stage.QUARANTINED, cause="gpu.xid", failed=True))
    for name in ("n0", "n1"):
        clock.state.guards.remember(name, "gpu.xid", NOW - 10)
    clock.says("fail", number=1, at=NOW - 10)
    clock.tick()
    assert clock.stage() is Stage.QUARANTINED
    assert clock.state.nodes["n0"].held == "leaf/l0?"
    shared = Incident(id="s", opened=0.0, subject="leaf/l0", evidence=("n0",))
    held = Clock(node(stage=Stage.QUARANTINED, cause="gpu.xid", failed=True), policy=LOOSE, incidents=[shared])
    held.says("fail")
    held.tick()
    assert (held.stage(), held.state.nodes["n0"].held) == (Stage.QUARANTINED, "leaf/l0")


def test_a_person_is_not_reported_of_planned_work_on_what_is_theirs() -> None:
    window = Maintenance(name="w", start=0.0, end=1e9)
    nodes = (
        node(0, Stage.QUARANTINED, cause="operator", reason="mine"),
        node(1, Stage.REMOVED, reason="mine"),
        node(2, Stage.QUARANTINED, cause="gpu.xid", failed=True),
    )
    clock = Clock(*nodes, policy=Policy(maintenance=(window,)))
    clock.tick()
    held = {name: life.held for name, life in clock.state.nodes.items()}
    assert (held["n0"], held["n1"], held["n2"], held["n3"]) == ("", "", "maintenance/w", "maintenance/w")
    assert clock.stage(2) is Stage.QUARANTINED


@pytest.mark.parametrize(
    ("scheduled", "ago", "becomes"),
    [
        (False, 0.0, Stage.TESTING),
        (True, 29.0, Stage.CLEANING),  # not before its scheduler was looked at again
        (True, 30.0, Stage.TESTING),
    ],
)
def test_a_cleaned_node_is_tested(scheduled: bool, ago: float, becomes: Stage) -> None:
    clock = Clock(node(stage=Stage.CLEANING, since=NOW - ago), scheduled=scheduled)
    clock.tick()
    assert clock.stage() is becomes


@pytest.mark.parametrize(
    ("scheduled", "jobs", "becomes"),
    [
        (False, frozenset(), Stage.QUARANTINED),
        (False, frozenset({"a"}), Stage.DRAINING),
        (True, frozenset(), Stage.DRAINING),  # its scheduler says when it is empty
    ],
)
def test_without_a_scheduler_no_known_job_means_empty(scheduled: bool, jobs: frozenset[str], becomes: Stage) -> None:
    clock = Clock(node(stage=Stage.DRAINING, cause="gpu.xid", failed=True, jobs=jobs), scheduled=scheduled)
    clock.tick()
    assert clock.stage() is becomes


@pytest.mark.parametrize(
    ("ago", "repair_step", "becomes"),
    [
        (3600.0, 1, Stage.RESETTING),
        (3600.1, 1, Stage.QUARANTINED),
        (3600.1, 2, Stage.QUARANTINED),
        (1e5, 3, Stage.RESETTING),  # an inspection may last
    ],
)
def test_a_reset_gets_an_hour(ago: float, repair_step: int, becomes: Stage) -> None:
    clock = Clock(node(stage=Stage.RESETTING, cause="gpu.xid", failed=True, repair_step=repair_step, since=NOW - ago))
    clock.tick()
    assert clock.stage() is becomes


@pytest.mark.parametrize(
    ("repair_step", "becomes"), [(1, Stage.QUARANTINED), (2, Stage.RESETTING), (3, Stage.QUARANTINED)]
)
def test_only_the_inspection_may_last_wherever_it_stands(repair_step: int, becomes: Stage) -> None:
    policy = replace(AT_ONCE, repair_steps=(Verb.RESET_GPU, Verb.INSPECT, Verb.REBOOT))
    resetting = node(stage=Stage.RESETTING, cause="gpu.xid", failed=True, repair_step=repair_step, since=NOW - 1e5)
    clock = Clock(resetting, policy=policy)
    clock.tick()
    assert clock.stage() is becomes


DRAINED = NodeStatus(node="n0", accepts_work=False, cordoned=True, down=False, busy=False)


@pytest.mark.parametrize(
    ("view", "becomes"),
    [
        (None, Stage.QUARANTINED),
        (SchedulerView(NOW - 60, DRAINED), Stage.RESETTING),
        (SchedulerView(NOW - 9, DRAINED), Stage.RESETTING),
        (SchedulerView(NOW - 60.1, DRAINED), Stage.QUARANTINED),  # too old
        (SchedulerView(NOW - 100, DRAINED), Stage.QUARANTINED),  # from before it left service
        (SchedulerView(NOW - 1, replace(DRAINED, busy=True)), Stage.QUARANTINED),
        (SchedulerView(NOW - 1, replace(DRAINED, cordoned=False)), Stage.QUARANTINED),
        (SchedulerView(NOW - 1, replace(DRAINED, known=False)), Stage.QUARANTINED),
    ],
)
def test_no_repair_step_starts_before_the_scheduler_confirmed_an_empty_node(
    view: SchedulerView | None, becomes: Stage
) -> None:
    failed = node(stage=Stage.QUARANTINED, cause="gpu.xid", failed=True, since=NOW - 100)
    clock = Clock(failed, policy=replace(AT_ONCE, dry_run=False), scheduled=True)
    if view is not None:
        clock.state.views["n0"] = view
    clock.tick()
    assert clock.stage() is becomes


def test_a_repair_step_starts_as_soon_as_the_node_is_confirmed_empty() -> None:
    failed = node(stage=Stage.QUARANTINED, cause="gpu.xid", failed=True, since=NOW - 2)
    clock = Clock(failed, policy=replace(AT_ONCE, dry_run=False), scheduled=True)
    clock.state.views["n0"] = SchedulerView(NOW - 1, DRAINED)
    clock.tick()
    assert clock.stage() is Stage.RESETTING


def test_no_repair_step_of_a_node_whose_parent_has_an_incident() -> None:
    shared = Incident(id="s", opened=0.0, subject="leaf/l0", evidence=("n0",))
    clock = Clock(node(stage=Stage.QUARANTINED, cause="gpu.xid", failed=True), incidents=[shared])
    assert "part of the incident on leaf/l0" in clock.state.repair_waits(clock.state.nodes["n0"], NOW)
    assert clock.state.repair_waits(clock.state.nodes["n9"], NOW) == ""


@pytest.mark.parametrize(("jobs", "says"), [(frozenset(), "h"), (frozenset({"b", "a"}), ": a, b still runs")])
def test_a_drain_without_an_end_names_what_still_runs(jobs: frozenset[str], says: str) -> None:
    draining = node(stage=Stage.DRAINING, cause="gpu.xid", failed=True, jobs=jobs, since=1.0)
    clock = Clock(draining, scheduled=True)
    clock.tick()
    assert clock.state.incidents.open["node/n0/drain"].reason.endswith(says)


def test_a_shared_cause_whose_node_was_forgotten_ends() -> None:
    shared = Incident(id="s", opened=0.0, subject="leaf/l0", evidence=("n99",))
    clock = Clock(policy=LOOSE, incidents=[shared])
    clock.tick()
    assert not clock.state.incidents.open


def test_silence_after_a_reset_is_not_the_resets_where_a_parent_explains_it() -> None:
    shared = Incident(id="s", opened=0.0, subject="leaf/l0", evidence=("n0",))
    lost = node(stage=Stage.TESTING, failed=True, repair_step=1, held="leaf/l0", held_since=NOW, asked_at=NOW - 3401)
    clock = Clock(lost, policy=LOOSE, incidents=[shared])
    clock.tick(quiet=("n0",))
    clock.tick(NOW + 200.0, quiet=("n0",))
    assert clock.state.nodes["n0"].tests == 0


def test_only_incidents_of_nodes_end_with_a_nodes_stage() -> None:
    slow = Account(kind="storage.slow", confidence=0.9, since=0.0, lasted_seconds=1.0)
    storage = Incident(id="s", opened=0.0, subject="storage/n0/test", cause=slow.kind, evidence=(), account=slow)
    clock = Clock(incidents=[storage])
    clock.tick()
    assert "storage/n0/test" in clock.state.incidents.open


def test_a_failure_that_no_one_acted_on_is_judged_again() -> None:
    clock = Clock()
    clock.says("fail")
    assert clock.tick() == {"n0": [Verb.DRAIN]}
    on_trial = Clock(node(stage=Stage.TESTING, asked_at=NOW - 1))
    on_trial.says("fail")
    assert on_trial.tick() == {}


@pytest.mark.parametrize(
    ("stage", "suite", "done"),
    [
        (Stage.READY, "0", [Verb.CORDON, Verb.RETEST]),
        (Stage.SPARE, "0", [Verb.CORDON, Verb.RETEST]),
        (Stage.READY, "1", []),
        (Stage.ALLOCATED, "0", []),  # after its work
    ],
)
def test_an_idle_node_of_an_old_suite_is_tested_anew(stage: Stage, suite: str, done: list[Verb]) -> None:
    clock = Clock(node(stage=stage, tested_suite=suite), policy=Policy(spares=1))
    assert clock.tick().get("n0", []) == done


@pytest.mark.parametrize(("ago", "done"), [(3600.0, {}), (3600.1, {"n0": [Verb.RETEST]})])
def test_a_test_gets_an_hour(ago: float, done: dict[str, list[Verb]]) -> None:
    assert Clock(node(stage=Stage.TESTING, asked_at=NOW - ago)).tick() == done
    assert Clock(node(stage=Stage.TESTING, asked_at=None)).tick() == {}


@pytest.mark.parametrize(
    ("failed", "repair_step", "asked_ago", "counts"),
    [
        (True, 1, 3601.0, True),  # lost by a reset: unknown though it is silent
        (True, 0, 3601.0, False),
        (False, 1, 3601.0, False),
    ],
)
def test_a_silent_agent_was_not_even_asked_unless_a_reset_lost_it(
    failed: bool, repair_step: int, asked_ago: float, counts: bool
) -> None:
    clock = Clock(node(stage=Stage.TESTING, failed=failed, repair_step=repair_step, asked_at=NOW + 200 - asked_ago))
    clock.tick(quiet=("n0",))
    clock.tick(NOW + 200.0, quiet=("n0",))
    assert (clock.state.nodes["n0"].tests == 1) is counts


def test_a_node_is_lost_by_a_reset_only_after_what_the_reset_may_take() -> None:
    policy = Policy(suite_seconds=60.0, reset_seconds=300.0)
    clock = Clock(node(stage=Stage.TESTING, failed=True, repair_step=1, asked_at=NOW - 50), policy=policy)
    for at, tests in ((NOW, 0), (NOW + 250.0, 0), (NOW + 251.0, 1)):
        clock.tick(at, quiet=("n0",))
        assert clock.state.nodes["n0"].tests == tests


@pytest.mark.parametrize(("ago", "again"), [(599.0, False), (600.0, True)])
def test_a_node_held_on_trial_is_tried_again_every_ten_minutes(ago: float, again: bool) -> None:
    shared = Incident(id="s", opened=0.0, subject="leaf/l0", evidence=("n0",))
    trial = node(stage=Stage.TESTING, held="leaf/l0", held_since=NOW - ago)
    clock = Clock(trial, policy=LOOSE, incidents=[shared])
    assert clock.tick() == ({"n0": [Verb.RETEST]} if again else {})
    asked = Clock(replace(trial, asked_at=NOW - 5), policy=LOOSE, incidents=[shared])
    assert asked.tick() == {}


def test_a_node_on_trial_keeps_its_shared_cause_alive_until_a_test_says_otherwise() -> None:
    shared = Incident(id="s", opened=0.0, subject="leaf/l0", evidence=("n0",))
    clock = Clock(node(stage=Stage.TESTING, held="leaf/l0", held_since=NOW - 5), policy=LOOSE, incidents=[shared])
    clock.tick()
    assert "leaf/l0" in clock.state.incidents.open
    clock.state.guards.recovered("n0")
    clock.tick(NOW + 1)
    assert "leaf/l0" not in clock.state.incidents.open
    ready = Clock(node(stage=Stage.READY, held="leaf/l0"), policy=LOOSE, incidents=[shared])
    ready.tick()
    assert "leaf/l0" not in ready.state.incidents.open
    gone = Clock(count=1, policy=LOOSE, incidents=[Incident(id="s", opened=0.0, subject="leaf/l9", evidence=("n99",))])
    gone.tick()
    assert not gone.state.incidents.open


@pytest.mark.parametrize(
    ("stage", "more", "done", "after"),
    [
        (Stage.QUARANTINED, {"cause": "gpu.xid", "failed": True}, [Verb.RETEST], Stage.TESTING),
        (Stage.QUARANTINED, {"cause": "operator"}, [], Stage.QUARANTINED),
        (Stage.QUARANTINED, {"cause": "gpu.xid", "failed": True, "repair_step": 3}, [], Stage.QUARANTINED),
        (Stage.READY, {}, [Verb.CORDON, Verb.RETEST], Stage.TESTING),
        (Stage.ALLOCATED, {}, [], Stage.ALLOCATED),  # tested when its work has ended, as always
        (Stage.TESTING, {}, [Verb.RETEST], Stage.TESTING),
    ],
)
def test_what_is_freed_is_tested_where_it_was_kept_from_it(
    stage: Stage, more: dict[str, object], done: list[Verb], after: Stage
) -> None:
    clock = Clock(node(stage=stage, held="leaf/l0", held_since=NOW - 50, **more))
    assert clock.tick().get("n0", []) == done
    assert (clock.stage(), clock.state.nodes["n0"].held) == (after, "")


def test_after_planned_work_idle_nodes_are_tested_and_what_is_true_then_is_judged() -> None:
    clock = Clock(node(held="maintenance/w"), node(1, Stage.ALLOCATED, held="maintenance/w", jobs=frozenset({"a"})))
    done = clock.tick()
    assert done["n0"] == [Verb.CORDON, Verb.RETEST]
    assert done["n1"] == []
    bad = Clock(
        node(held="maintenance/w"), node(1, held="maintenance/w"), node(2, held="maintenance/w", degraded_by="gpu.ecc")
    )
    bad.says("fail")
    for number in (1, 2):
        bad.says("degraded", "gpu.ecc", number)
    found = bad.tick()
    assert Verb.CHOOSE_LAST in found["n1"]
    assert Verb.CHOOSE_LAST not in found["n2"]
    assert bad.state.nodes["n0"].held == ""


def test_a_failure_that_is_still_there_is_judged_and_freed_by_that() -> None:
    clock = Clock(node(held="leaf/l0", held_since=NOW - 50))
    clock.says("fail", at=NOW - 1000)
    assert clock.tick() == {"n0": [Verb.DRAIN]}
    assert clock.state.nodes["n0"].held == ""


def test_a_node_on_trial_is_not_freed_into_an_open_breaker() -> None:
    out = [node(number, Stage.QUARANTINED, cause="operator") for number in range(4)]
    trial = node(4, Stage.TESTING, held="leaf/l0", held_since=NOW - 50)
    clock = Clock(*out, trial)
    assert clock.tick() == {}
    assert clock.state.nodes["n4"].held == "leaf/l0"


@pytest.mark.parametrize(("ago", "reported"), [(600.0, False), (601.0, True)])
def test_ten_minutes_of_blindness_are_reported_once(ago: float, reported: bool) -> None:
    clock = Clock()
    clock.says("unknown", at=NOW - ago)
    assert clock.tick() == ({"n0": [Verb.TICKET]} if reported else {})
    assert clock.tick() == {}


def test_blindness_that_comes_back_is_reported_again() -> None:
    clock = Clock()
    clock.says("unknown", at=NOW - 700)
    clock.tick()
    clock.says("pass", at=NOW + 1)
    clock.tick(NOW + 2)
    clock.says("unknown", at=NOW + 3)
    assert clock.tick(NOW + 800) == {"n0": [Verb.TICKET]}


def test_a_spare_is_promoted_for_every_node_that_left() -> None:
    spares = [node(number, Stage.SPARE) for number in (3, 1, 2)]
    nodes = [node(0, Stage.READY), *spares]
    assert Clock(*nodes, policy=Policy(spares=3), count=4).tick() == {}
    out = [node(0, Stage.QUARANTINED, cause="operator"), *spares]
    assert Clock(*out, policy=Policy(spares=3), count=4).tick() == {"n1": [Verb.UNCORDON]}
    gone = [node(0, Stage.REMOVED), *spares]
    assert Clock(*gone, policy=Policy(spares=3), count=4).tick() == {}  # gone for good
    none = Clock(*nodes, policy=Policy(spares=0), count=4)
    assert set(none.tick()) == {"n1", "n2", "n3"}
    few = Clock(*nodes, policy=Policy(spares=9), count=4)
    assert few.tick() == {}


def held_by_the_breaker(*out: NodeState, held: bool = True) -> Clock:
    number = len(out)
    breaker = Incident(id="b", opened=0.0, subject="pool/default", cause="breaker", evidence=(f"n{number}",))
    clock = Clock(*out, node(number, held="pool/default" if held else ""), incidents=[breaker])
    clock.says("fail", number=number, at=NOW - 1000)
    return clock


def test_a_breakers_incident_ends_when_there_is_room_or_no_one_left() -> None:
    out = [node(number, Stage.QUARANTINED, cause="operator") for number in range(4)]
    kept = held_by_the_breaker(*out)
    kept.tick()
    assert "pool/default" in kept.state.incidents.open
    room = held_by_the_breaker()
    room.tick()
    assert "pool/default" not in room.state.incidents.open
    assert room.state.incidents.take_changed()[-1].reason.endswith("there is room again")
    unknown_node = Clock(*out, incidents=[Incident(id="b", opened=0.0, subject="pool/default", evidence=("n9",))])
    unknown_node.tick()
    (closed,) = unknown_node.state.incidents.take_changed()
    assert closed.reason.endswith("it no longer keeps a node in service")
    assert unknown_node.state.incidents.absorbed == set()


@pytest.mark.parametrize(("hours", "late"), [(23.9, False), (24.1, True)])
def test_a_drain_without_an_end_is_an_incident_until_it_ends(hours: float, late: bool) -> None:
    clock = Clock(node(stage=Stage.DRAINING, cause="gpu.xid", jobs=frozenset({"7"}), since=NOW), scheduled=True)
    clock.tick(NOW + hours * 3600)
    assert ("node/n0/drain" in clock.state.incidents.open) is late
    if late:
        assert clock.state.incidents.open["node/n0/drain"].reason == "n0 drains for more than 24 h: 7 still runs"
        clock.state.put(replace(clock.state.nodes["n0"], stage=Stage.QUARANTINED, jobs=frozenset(), cause="operator"))
        clock.tick(NOW + hours * 3600 + 1)
        assert "node/n0/drain" not in clock.state.incidents.open


@pytest.mark.parametrize(("seconds", "late"), [(3600.0, False), (3601.0, True)])
def test_a_test_without_an_answer_is_an_incident_until_it_is_answered(seconds: float, late: bool) -> None:
    clock = Clock(node(stage=Stage.TESTING, since=NOW, asked_at=NOW))
    clock.tick(NOW + seconds)
    assert ("node/n0/test" in clock.state.incidents.open) is late
    if late:
        clock.state.put(replace(clock.state.nodes["n0"], stage=Stage.READY, tests=0, asked_at=None))
        clock.tick(NOW + seconds + 1)
        assert "node/n0/test" not in clock.state.incidents.open


@pytest.mark.parametrize(("held", "fails"), [("leaf/l0", True), ("", False)])
def test_a_node_under_test_counts_as_failing_only_while_it_is_held(held: str, fails: bool) -> None:
    clock = Clock(node(stage=Stage.TESTING, held=held))
    clock.state.guards.remember("n0", "gpu.xid", NOW)
    assert clock.pace._fails("n0", NOW) is fails


def test_a_decision_that_raises_costs_one_node_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """One node in a state that nobody thought of, and no node would be tested, repaired or released any more."""
    nodes = [NodeState(name=name, stage=Stage.CLEANING, since=0.0) for name in ("n0", "odd", "n2")]
    fleet = Fleet(Policy(), nodes)
    known = type(fleet.timers)._next_for
    broken = True

    def next_for(timers: Any, node: NodeState, now: float) -> list[LifecycleStep]:
        steps = known(timers, node, now)  # its state has changed when it raises
        if node.name == "odd" and broken:
            raise ZeroDivisionError("a mistake")
        return steps

    monkeypatch.setattr(type(fleet.timers), "_next_for", next_for)
    moved = {step.node.name for now in (100.0, 101.0, 102.0) for step in fleet.tick(now)}
    assert moved == {"n0", "n2"}
    assert {fleet.nodes[name].stage for name in moved} == {Stage.TESTING}
    assert fleet.nodes["odd"] == nodes[1], "as it is stored"
    assert list(fleet.timers.take_raised()) == ["odd"] and fleet.timers.take_raised() == {}
    assert fleet.timers.failing
    assert fleet.tick(102.5) == [] and not fleet.timers.take_raised(), "it waits 1, 2, 4 and then up to 60 s"
    broken = False
    assert [step.node.name for step in fleet.tick(200.0)] == ["odd"]
    assert not fleet.timers.failing


def test_a_node_whose_decision_raises_is_tried_after_1_2_4_and_at_most_60_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(node(stage=Stage.CLEANING))
    tried = []

    def next_for(timers: Any, node: NodeState, now: float) -> list[LifecycleStep]:
        tried.append(now - NOW)
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(Timers, "_next_for", next_for)
    for second in range(250):
        clock.tick(NOW + second)
    assert tried == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]


def test_a_drain_that_ended_is_no_overdue_test_and_the_other_way_round() -> None:
    """Each incident ends with its own stage, also where the next stage is overdue by then."""
    clock = Clock(node(stage=Stage.DRAINING, cause="gpu.xid", jobs=frozenset({"7"}), since=NOW), scheduled=True)
    day = NOW + 25 * 3600
    clock.tick(day)
    for stage, overdue in ((Stage.TESTING, "test"), (Stage.DRAINING, "drain")):
        clock.state.put(node(stage=stage, since=NOW, asked_at=NOW, jobs=frozenset({"7"})))
        clock.tick(day)
        assert list(clock.state.incidents.open) == [f"node/n0/{overdue}"]


def test_no_repair_step_begins_while_neighbours_begin_to_fail() -> None:
    clock = Clock(node(stage=Stage.QUARANTINED, cause="gpu.xid", failed=True))
    failed = clock.state.nodes["n0"]
    assert clock.state.repair_waits(failed, NOW) == ""
    for name in ("n0", "n1"):
        clock.state.guards.remember(name, "gpu.xid", NOW - 10)
    assert "waiting to see whether it is the cause" in clock.state.repair_waits(failed, NOW)
    step = NodeEvent(kind=EventKind.NEXT_REPAIR, cause="gpu.xid")
    assert clock.state.step("n0", step, NOW) == []
    later = NOW + AT_ONCE.shared_wait_seconds
    assert [one.node.stage for one in clock.state.step("n0", step, later)] == [Stage.RESETTING]


@pytest.mark.parametrize(
    ("scheduled", "dry_run", "jobs", "empty"),
    [
        (True, True, frozenset(), True),  # in a dry run no drain is asked for, so none is confirmed
        (True, True, frozenset({"7"}), False),
        (True, False, frozenset(), False),  # the scheduler has confirmed nothing
        (False, False, frozenset(), True),
        (False, False, frozenset({"7"}), False),
    ],
)
def test_who_confirms_that_a_node_is_empty(scheduled: bool, dry_run: bool, jobs: frozenset[str], empty: bool) -> None:
    left = node(stage=Stage.QUARANTINED, cause="gpu.xid", failed=True, jobs=jobs)
    clock = Clock(left, policy=replace(AT_ONCE, dry_run=dry_run), scheduled=scheduled)
    assert clock.state.confirmed_empty(left, NOW) is empty
    fleet = Fleet(clock.state.policy, [left], scheduled=scheduled)
    assert fleet.may_reset("n0", NOW) is empty
