"""Whom time does not concern, and what it does not end: each exclusion with the case beside it."""

from dataclasses import replace

import pytest

from holdfast.fleet.decisions.guards import SILENT
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.timers import Timers
from holdfast.fleet.decisions.unsaved_state import Unsaved
from holdfast.fleet.decisions.verdict_state import SchedulerView, VerdictState
from holdfast.model.account import Account
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import NodeState, Stage, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.wire.report import VerdictChange

NOW = 100_000.0
AT_ONCE = Policy(shared_first_seconds=0.0)
LOOSE = Policy(shared_nodes=1, shared_share=0.0, shared_first_seconds=0.0)
COOLING = Account(kind="cooling.flow_low", confidence=0.9, since=0.0, lasted_seconds=60.0)


def node(number: int = 0, stage: Stage = Stage.READY, **more: object) -> NodeState:
    known: dict[str, object] = {"place": {"leaf": f"l{number // 8}"}, "tested_at": 1.0, "tested_suite": "1", **more}
    return NodeState(name=f"n{number}", stage=stage, **known)  # type: ignore[arg-type]


def incident(subject: str, cause: str = "x", nodes: tuple[str, ...] = ()) -> Incident:
    return Incident(id=subject, opened=0.0, subject=subject, cause=cause, evidence=nodes)


def state_of(*first: NodeState, policy: Policy = LOOSE, **more: object) -> VerdictState:
    rest = [node(number) for number in range(len(first), 40)]
    return VerdictState(policy, [*first, *rest], **more)  # type: ignore[arg-type]


def fails(state: VerdictState, number: int = 0, check: str = "gpu.xid") -> None:
    change = VerdictChange(at=NOW - 1000, check=check, before="pass", after="fail")
    state.current.take(f"n{number}", change)


def tick(
    state: VerdictState, at: float = NOW, quiet: tuple[str, ...] = (), timers: Timers | None = None
) -> dict[str, list[Verb]]:
    state.last_report_at.update({name: at for name in state.nodes if name not in quiet})
    steps = (timers or Timers(state, Unsaved())).tick(at)
    return {step.node.name: [action.verb for action in step.actions] for step in steps}


@pytest.mark.parametrize(("silent_for", "reported"), [(120.0, False), (120.5, True)])
def test_silence_counts_from_the_last_report_of_a_node_that_was_heard(silent_for: float, reported: bool) -> None:
    state = state_of(policy=AT_ONCE)
    timers = Timers(state, Unsaved())
    tick(state, NOW - 500, timers=timers)
    tick(state, NOW, timers=timers)
    tick(state, NOW + silent_for, quiet=("n0",), timers=timers)
    assert ("node/n0" in state.incidents.open) is reported


@pytest.mark.parametrize(
    ("subject", "cause", "stage", "stays"),
    [
        ("node/n0", SILENT, Stage.REMOVED, False),
        ("node/n0", SILENT, Stage.DRAINING, True),
        ("node/n0", "gpu.xid", Stage.REMOVED, True),  # another incident of the same node
        ("node/gone", SILENT, Stage.REMOVED, True),
        ("leaf/n0", SILENT, Stage.REMOVED, True),  # of a leaf that has the name of a node
    ],
)
def test_only_the_silence_of_a_removed_node_ends_with_it(subject: str, cause: str, stage: Stage, stays: bool) -> None:
    behind = node(1, place={"leaf": "n0"})
    state = state_of(node(stage=stage), behind, incidents=[incident(subject, cause, ("n1",))])
    fails(state, 1)
    state.guards.remember("n1", "gpu.xid", NOW)
    tick(state)
    assert (subject in state.incidents.open) is stays


def test_a_node_out_of_service_is_held_for_what_took_it_out_and_for_no_other_check() -> None:
    seam = Incident(id="s", opened=0.0, subject="cdu/c2", cause=COOLING.kind, evidence=("n0", "n1"), account=COOLING)
    by_xid, by_heat = (
        node(number, Stage.QUARANTINED, cause=cause, failed=True)
        for number, cause in enumerate(("gpu.xid", "gpu.throttle"))
    )
    state = state_of(by_xid, by_heat, incidents=[seam])
    for number in (0, 1):
        fails(state, number, "gpu.throttle")
    assert tick(state) == {"n0": [Verb.RESET_GPU], "n1": []}
    assert [state.nodes[name].held for name in ("n0", "n1")] == ["", "cdu/c2"]


def test_a_held_node_under_test_is_freed_although_a_check_of_it_fails() -> None:
    """Whether it fails is for its test to find. In service the failure goes on instead."""
    under_test, in_service = node(0, Stage.TESTING), node(1, place={"leaf": "l8"})
    held = [replace(one, held="leaf/l9", held_since=NOW - 50) for one in (under_test, in_service)]
    state = state_of(*held, policy=AT_ONCE)
    for number in (0, 1):
        fails(state, number)
    assert tick(state) == {"n0": [Verb.RETEST], "n1": [Verb.DRAIN]}


@pytest.mark.parametrize("subject", ["fabric/n0/test", "fabric/n0/drain", "node/n0/gpu"])
def test_what_is_no_incident_of_a_stage_does_not_end_with_a_stage(subject: str) -> None:
    state = state_of(incidents=[incident(subject)])
    tick(state)
    assert subject in state.incidents.open


@pytest.mark.parametrize(("began", "empty"), [(NOW - 10, False), (NOW - 9.9, True)])
def test_only_a_view_that_began_after_the_node_left_service_confirms_that_it_is_empty(
    began: float, empty: bool
) -> None:
    left = node(stage=Stage.QUARANTINED, since=NOW - 10)
    state = state_of(left, policy=replace(LOOSE, dry_run=False), scheduled=True)
    drained = NodeStatus(node="n0", accepts_work=False, cordoned=True, down=False, busy=False)
    state.views["n0"] = SchedulerView(began, drained)
    assert state.confirmed_empty(left, NOW) is empty


@pytest.mark.parametrize(("jobs", "empty"), [(frozenset(), True), (frozenset({"7"}), False)])
def test_a_job_that_is_known_here_is_there_although_the_scheduler_sees_none(jobs: frozenset[str], empty: bool) -> None:
    left = node(stage=Stage.QUARANTINED, since=NOW - 10, jobs=jobs)
    state = state_of(left, policy=replace(LOOSE, dry_run=False), scheduled=True)
    drained = NodeStatus(node="n0", accepts_work=False, cordoned=True, down=False, busy=False)
    state.views["n0"] = SchedulerView(NOW - 1, drained)
    assert state.confirmed_empty(left, NOW) is empty


def test_a_node_under_test_that_does_not_fail_is_not_held_by_the_shared_cause_of_its_neighbours() -> None:
    names = tuple(f"n{number}" for number in range(8))
    state = state_of(
        node(0, Stage.TESTING, asked_at=NOW - 1), policy=LOOSE, incidents=[incident("leaf/l0", nodes=names)]
    )
    for number in range(1, 8):
        fails(state, number)
        state.guards.remember(f"n{number}", "gpu.xid", NOW - 1000)
    tick(state)
    assert "leaf/l0" in state.incidents.open
    assert [state.nodes[name].held for name in ("n0", "n1")] == ["", "leaf/l0"]
