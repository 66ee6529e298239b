"""host.lockup: do processors or tasks hang in the kernel, or did the kernel report an internal error?"""

from dataclasses import replace

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import Grade, counted, node_verdict, since, total

_PROCESSOR = ("soft_lockup", "hard_lockup")
_KERNEL = "panic"  # it continued after an oops, possibly with locks that are never released
_TASK = ("hung_task", "rcu_stall")


REBOOT = "drain the node and reboot it: the kernel may hold locks forever; report the stack in the kernel log"


def judge(window: Window, limits: Limits) -> Verdict:
    events = since(window, limits["forget_seconds"], *_PROCESSOR, _KERNEL, *_TASK)
    verdict = node_verdict(
        window,
        events,
        Grade(Health.FAIL, [event for event in events if event.kind == _KERNEL], _tripped),
        Grade(Health.FAIL, [event for event in events if event.kind in _PROCESSOR], _locked),
        Grade(Health.DEGRADED, events, _hung),
    )
    return replace(verdict, remedy=REBOOT) if any(event.kind == _KERNEL for event in events) else verdict


def _tripped(events: list[Event]) -> str:
    return f"{counted(total(events), 'error')} inside the kernel itself [{events[-1].text}]"


def _locked(events: list[Event]) -> str:
    return f"{counted(total(events), 'processor lock-up')} in the kernel [{events[-1].text}]"


def _hung(events: list[Event]) -> str:
    return f"{counted(total(events), 'report')} of tasks that hang in the kernel [{events[-1].text}]"


CHECK = Check(
    name="host.lockup",
    asks="Do processors or tasks hang in the kernel, or did the kernel report an internal error?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    event_kinds=(*_PROCESSOR, _KERNEL, *_TASK),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="the stack in the kernel log shows the wait (storage, driver): repair that; reboot if the hang does not end",
    owner="platform",
    span=86400.0,
    limits={"forget_seconds": 3600.0},
)
