"""The first repair step is one that can help: a GPU that left the bus cannot be reset, a reset mends no cable."""

from dataclasses import replace

import pytest

from holdfast.fleet.decisions.lifecycle.machine import needs_operator, step
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.verdict_state import event_of, first_repair
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.wire.report import VerdictChange
from holdfast.node.checks import ALL

POLICY = Policy()
RESET, REBOOT, INSPECT = Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT


def failed(repair: str, policy: Policy = POLICY, node: NodeState | None = None, **more: object) -> NodeState:
    event = NodeEvent(kind=EventKind.FAILED, cause="gpu.xid", repair=repair, **more)  # type: ignore[arg-type]
    return step(node or NodeState(name="n1", stage=Stage.READY, tested_at=1.0), event, 10.0, policy)[0]


def first_verb(node: NodeState, policy: Policy = POLICY) -> Verb:
    waiting = replace(node, stage=Stage.QUARANTINED)
    (action,) = step(waiting, NodeEvent(kind=EventKind.NEXT_REPAIR, cause=node.cause), 20.0, policy)[1]
    return action.verb


@pytest.mark.parametrize(
    ("repair", "steps", "automatic", "verb"),
    [
        ("", (RESET, REBOOT, INSPECT), 2, RESET),
        ("anything", (RESET, REBOOT, INSPECT), 2, RESET),
        ("reset_gpu", (RESET, REBOOT, INSPECT), 2, RESET),
        ("reboot", (RESET, REBOOT, INSPECT), 2, REBOOT),
        ("reboot", (RESET, INSPECT), 2, INSPECT),
        ("reboot", (RESET,), 1, Verb.TICKET),
        ("reset_gpu", (REBOOT,), 1, REBOOT),
        ("inspect", (RESET, REBOOT, INSPECT), 3, INSPECT),
        ("inspect", (RESET, REBOOT, INSPECT), 2, Verb.TICKET),
    ],
)
def test_steps_that_cannot_help_are_skipped(repair: str, steps: tuple[Verb, ...], automatic: int, verb: Verb) -> None:
    policy = Policy(repair_steps=steps, automatic_repair_steps=automatic)
    node = failed(repair, policy)
    assert first_verb(node, policy) is verb
    assert needs_operator(replace(node, stage=Stage.QUARANTINED), policy) is (verb is Verb.TICKET)


def test_a_repeat_offender_skips_one_step_and_not_one_more_than_it_must() -> None:
    assert first_verb(failed("reset_gpu", repeat_offender="often")) is REBOOT
    assert first_verb(failed("reboot", repeat_offender="often")) is REBOOT


def test_the_same_cause_goes_on_where_it_was_and_never_goes_back() -> None:
    again = replace(failed("reset_gpu"), stage=Stage.READY, repair_step=2)
    assert failed("reset_gpu", node=again).repair_step == 2
    once = replace(failed("reset_gpu"), stage=Stage.READY, repair_step=0)
    assert failed("reboot", node=once).repair_step == 1


def test_what_the_agent_says_comes_before_what_the_check_says() -> None:
    assert first_repair("gpu.xid", "reboot") == "reboot"
    assert first_repair("gpu.xid", "") == "reset_gpu" and first_repair("gpu.lost", "") == "reboot"
    assert first_repair("suite", "") == ""
    change = VerdictChange(at=1.0, check="fabric.port_down", before="", after="fail")
    assert event_of(EventKind.FAILED, change).repair == "reboot"


def test_no_check_of_something_else_than_a_gpu_begins_with_a_gpu_reset() -> None:
    wrong = {
        one.name for one in ALL if one.repair is RESET and one.name.split(".")[0] in ("fabric", "host", "pcie", "node")
    }
    assert not wrong
    assert {one.name: one.repair for one in ALL if one.name in ("gpu.lost", "gpu.responding", "nvswitch.sxid")} == {
        "gpu.lost": REBOOT,
        "gpu.responding": REBOOT,
        "nvswitch.sxid": REBOOT,
    }
