"""Right answers to the faults: one for each fault and check, in words that exist, read from the remedy's sentence."""

from dataclasses import replace

import pytest

from holdfast.lab import twin
from holdfast.lab.twin.answers import right as answers
from holdfast.lab.twin.hardware import load_model
from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict

MODELS = ("h100", "mi300x", "gb200", "h100_roce", "h100_efa", "h200_bnxt", "mi300x_ionic")
PARTS = {"gpu", "every_gpu", "gpu_pci", "port", "port_pci", "nvswitch", "mount", "node"}


@pytest.mark.parametrize("name", MODELS)
def test_each_check_of_each_fault_has_an_answer(name: str) -> None:
    model = load_model(name)
    asked = [(fault, check) for fault, found in twin.faults_of(model).items() for check in found.expects]
    assert asked
    for fault, check in asked:
        right = answers.answer(fault, check, model)
        assert right is not None, (fault, check)
        assert right.part in PARTS
        assert FailureClass(right.failure_class)
        assert right.source
        assert set(right.actions) <= set(answers.ACTIONS)


def test_no_answer_is_to_a_question_that_no_fault_asks() -> None:
    faults = twin.all_faults()
    for fault, check, _ in answers._rows():
        assert check in faults[fault].expects, (fault, check)


def test_the_actions_of_a_remedy_are_read_in_their_order() -> None:
    assert answers.actions_in("drain the node and reboot it; if the error returns, inspect the hardware") == (
        "drain",
        "reboot",
        "inspect",
    )
    assert answers.actions_in("reboot the node, then drain it") == ("reboot", "drain")
    assert answers.actions_in("wait") == ()


def _verdict(remedy: str, failure_class: FailureClass | None = FailureClass.CRASH) -> Verdict:
    rows = (Row("node/n01/gpu/3", Health.FAIL),)
    return Verdict(check="gpu.lost", rows=rows, remedy=remedy, failure_class=failure_class, repair="reboot")


RIGHT = "drain and reboot the node; reseat or replace it"


def test_a_verdict_differs_by_class_action_or_order() -> None:
    model = load_model("h100")
    assert answers.differences("gpu_lost", _verdict(RIGHT), model) == []
    assert answers.differences("gpu_lost", _verdict(RIGHT, FailureClass.SLOWDOWN), model) != []
    assert answers.differences("gpu_lost", _verdict(RIGHT, None), model) != []
    assert answers.differences("gpu_lost", _verdict("reboot and drain the node; reseat or replace it"), model) != []
    assert answers.differences("gpu_lost", _verdict(f"{RIGHT}; check the fans"), model) != []
    assert answers.differences("gpu_lost", replace(_verdict(RIGHT), repair="reset_gpu"), model) != []
    assert answers.differences("oom", _verdict(RIGHT), model) == ["gpu.lost: no answer is known"]


def test_a_rented_node_moves_to_other_hardware_and_a_rack_has_switch_trays() -> None:
    lost = answers.answer("gpu_lost", "gpu.lost", load_model("h100_efa"))
    assert lost is not None and lost.actions == ("drain", "reboot", "new_instance")
    lane = answers.answer("nvlink_lane_down", "nvlink.lanes", load_model("gb200"))
    assert lane is not None and lane.actions[-1] == "switch_tray"


def test_the_first_repair_step_follows_from_the_actions() -> None:
    assert answers.first_step(("drain", "reset_gpu", "reboot")) == "reset_gpu"
    assert answers.first_step(("drain", "power_cycle")) == "reboot"
    assert answers.first_step(("drain", "replace")) == "inspect"
    assert answers.first_step(("drain", "cooling")) == ""
    assert answers.first_step(("drain", "reseat", "replace")) == ""
