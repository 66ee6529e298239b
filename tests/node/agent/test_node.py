"""The node: asks again what may have changed, tells what did, and nothing else."""

import pytest

pytest.importorskip("holdfast.catalog.gpus")

from dataclasses import replace

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event, Reading, Signal
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.agent.census import Census
from holdfast.node.agent.node import Node, Question
from holdfast.node.checks.check import Check, Limits

asked: list[float] = []


def judge(window: Window, limits: Limits) -> Verdict:
    asked.append(window.now)
    hot = window.values("temp")
    bad = {event.subject for event in window.events("xid")}
    return Verdict(
        rows=tuple(Row(s, Health.FAIL if v > 90 or s in bad else Health.PASS, v, reason=f"{v}") for s, v in hot.items())
    )


CHECK = Check(
    name="gpu.hot",
    asks="?",
    about="gpu",
    part="gpu",
    reads=("temp",),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    event_kinds=("xid",),
)
GPU = "node/n/gpu/0"


def node() -> Node:
    asked.clear()
    return Node(Census(node="n"), [Question(CHECK)])


def reading(at: float, value: float) -> Reading:
    return Reading(source="nvml", at=at, signals=[Signal(GPU, "temp", value)], present=[GPU])


def test_an_unchanged_reading_is_not_judged_again_before_its_time() -> None:
    n = node()
    for at in range(0, 30, 10):
        n.take(reading(at, 50.0))
        n.judge(at)
    assert asked == [0]
    n.take(reading(30, 50.0))
    n.judge(30)
    assert asked == [0, 30]


def test_a_new_value_is_judged_at_once_and_only_a_new_health_is_a_change() -> None:
    n = node()
    n.take(reading(0, 50.0))
    assert [(c.before, c.after) for c in n.judge(0)] == [("", "pass")]
    n.take(reading(1, 51.0))
    assert n.judge(1) == []
    n.take(reading(2, 95.0))
    (change,) = n.judge(2)
    assert (change.before, change.after, change.subjects) == ("pass", "fail", (GPU,))


def test_an_event_is_judged_at_once_and_reaches_its_gpu_by_pci_address() -> None:
    n = node()
    n.take(
        Reading(
            source="nvml",
            at=0,
            signals=[Signal(GPU, "temp", 50.0), Signal(GPU, "gpu_pci_address", "0000:9b:00.0")],
            present=[GPU],
        )
    )
    n.judge(0)
    n.take(Reading(source="kmsg", at=1, events=[Event(kind="xid", at=1, text="Xid 79", device="0000:9b:00")]))
    (change,) = n.judge(1)
    assert change.after == "fail"


def test_a_gpu_that_vanishes_is_missed_not_forgotten() -> None:
    n = node()
    n.take(reading(0, 50.0))
    n.judge(0)
    n.judge(500)
    assert n.health is Health.UNKNOWN
    assert "last read 500 s ago" in n.reason()


def test_a_switched_off_check_shows_as_disabled() -> None:
    n = Node(Census(node="n"), [Question(CHECK, off="switched off in the configuration")])
    n.judge(0)
    assert n.verdicts["gpu.hot"].state == "disabled"


def test_a_check_that_raises_is_unknown_and_the_others_go_on() -> None:
    def broken(window: Window, limits: Limits) -> Verdict:
        raise IndexError("no runs")

    bad = replace(CHECK, name="gpu.broken", judge=broken)
    n = Node(Census(node="n"), [Question(bad), Question(CHECK)])
    n.take(reading(0, 50.0))
    n.judge(0)
    assert n.verdicts["gpu.broken"].health is Health.UNKNOWN
    assert "the check itself failed: IndexError" in n.verdicts["gpu.broken"].summary()
    assert n.verdicts["gpu.hot"].health is Health.PASS


def test_a_repair_that_is_reported_is_judged_at_once() -> None:
    n = node()
    address = Signal(GPU, "gpu_pci_address", "0000:9b:00.0")
    n.take(Reading(source="nvml", at=0, signals=[Signal(GPU, "temp", 50.0), address], present=[GPU]))
    n.take(Reading(source="kmsg", at=1, events=[Event(kind="xid", at=1, text="Xid 79", device="0000:9b:00")]))
    n.judge(1)
    n.take(Reading(source="repairs", at=2, events=[Event(kind="cleared", at=2, text="reset", subject=GPU)]))
    assert [change.after for change in n.judge(2)] == ["pass"]
