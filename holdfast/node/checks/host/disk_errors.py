"""host.disk_errors: do local disks or file systems fail?"""

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import Grade, code_and_text, counted, node_verdict, on_devices, since, total


def judge(window: Window, limits: Limits) -> Verdict:
    events = [event for event in since(window, limits["forget_seconds"], "disk") if event.severity != "info"]
    fatal = [event for event in events if event.severity == "fatal"]
    return node_verdict(
        window,
        events,
        Grade(Health.FAIL, fatal, lambda them: code_and_text(them, "a disk")),
        Grade(Health.DEGRADED, events, _errors),
    )


def _errors(events: list[Event]) -> str:
    return f"{on_devices(events, 'a disk')}: {counted(total(events), 'error or timeout')} [{events[-1].text}]"


CHECK = Check(
    name="host.disk_errors",
    asks="Do local disks or file systems report errors?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    event_kinds=("disk",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="drain the node; check the disk (smartctl, nvme smart-log); replace it or repair its file system",
    owner="hardware",
    span=86400.0,
    limits={"forget_seconds": 86400.0},
)
