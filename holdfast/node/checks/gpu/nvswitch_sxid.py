"""nvswitch.sxid: has an NVSwitch reported an error that stops its traffic?"""

from holdfast.model import subject
from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import describe_all, since, total
from holdfast.node.checks.kernel_gap import GAP, lost_messages


def judge(window: Window, limits: Limits) -> Verdict:
    events = since(window, limits["forget_seconds"], "sxid")
    by_switch: dict[Subject, list[Event]] = {switch: [] for switch in window.inventory.expected("nvswitch")}
    for event in events:
        switch = event.subject or subject.nvswitch(window.inventory.node, event.device or "unnamed")
        by_switch.setdefault(switch, []).append(event)
    if not by_switch and "nvswitch" not in window.inventory.lacks:
        if not window.inventory.expected("gpu"):
            return Verdict(rows=(Row(window.node, Health.UNKNOWN, reason="no GPU or NVSwitch is known on this node"),))
        by_switch[window.node] = []  # no event names a switch: the answer is about the node
    rows = tuple(_row(switch, its, limits["nonfatal_events"]) for switch, its in by_switch.items())
    lost = lost_messages(window, limits["forget_seconds"], "an SXid")
    return Verdict(rows=rows, evidence=(*lost, *describe_all(events, window.now)))


def _row(switch: Subject, events: list[Event], most_nonfatal: float) -> Row:
    fatal = [event for event in events if event.severity == "fatal"]
    if fatal:
        last = fatal[-1]
        reason = f"fatal SXid {last.code} ({last.detail.get('name', '')}), {total(fatal)} in all [{last.text}]"
        return Row(switch, Health.FAIL, total(fatal), 0, reason)
    count = total(events)
    if count > most_nonfatal:
        codes = ", ".join(dict.fromkeys(str(event.code) for event in events))
        reason = f"{count} non-fatal SXid errors (codes {codes}), more than {most_nonfatal:.0f}"
        return Row(switch, Health.DEGRADED, count, most_nonfatal, reason)
    return Row(switch, Health.PASS, count, most_nonfatal)


CHECK = Check(
    name="nvswitch.sxid",
    asks="Has an NVSwitch reported an error that stops or disturbs NVLink traffic?",
    about="nvswitch",
    part="nvswitch",
    reads=("kmsg_records_total",),
    event_kinds=("sxid", GAP),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="drain the node and reboot it to reset GPUs and NVSwitches; if the error returns, inspect the hardware",
    owner="hardware",
    span=86400.0,
    limits={"forget_seconds": 86400.0, "nonfatal_events": 10.0},
)
