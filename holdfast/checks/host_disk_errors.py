"""host.disk_errors: do local disks or file systems fail?"""

from holdfast.checks.check import Check, Limits
from holdfast.checks.event_rows import counted, since, tell, total
from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window


def judge(window: Window, limits: Limits) -> Verdict:
    events = [event for event in since(window, limits["forget_seconds"], "disk") if event.severity != "info"]
    fatal = [event for event in events if event.severity == "fatal"]
    devices = ", ".join(dict.fromkeys(event.device or "a disk" for event in fatal or events))
    if fatal:
        reason = f"{devices}: {str(fatal[-1].code).replace('_', ' ')} [{fatal[-1].text}]"
        row = Row(window.node, Health.FAIL, total(fatal), 0, reason)
    elif events:
        reason = f"{devices}: {counted(total(events), 'error or timeout')} [{events[-1].text}]"
        row = Row(window.node, Health.DEGRADED, total(events), 0, reason)
    else:
        row = Row(window.node, Health.PASS, 0, 0)
    return Verdict(rows=(row,), evidence=tell(events, window.now))


CHECK = Check(
    name="host.disk_errors",
    asks="Do local disks or file systems report errors?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    hears=("disk",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="drain the node; check the disk (smartctl, nvme smart-log); replace it or repair its file system",
    owner="hardware",
    span=86400.0,
    limits={"forget_seconds": 86400.0},
)
