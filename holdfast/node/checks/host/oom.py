"""host.oom: has the kernel killed processes because memory ran out?"""

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import Grade, counted, node_verdict, since, total


def judge(window: Window, limits: Limits) -> Verdict:
    """A job over its own limit is the job's problem and only evidence. A host without memory is the node's problem."""
    events = since(window, limits["forget_seconds"], "oom")
    return node_verdict(
        window, events, Grade(Health.DEGRADED, [event for event in events if event.code == "host"], _killed)
    )


def _killed(events: list[Event]) -> str:
    victims = ", ".join(dict.fromkeys(str(event.detail.get("process", "?")) for event in events))
    return f"the host ran out of memory and the kernel killed {counted(total(events), 'process')} ({victims})"


CHECK = Check(
    name="host.oom",
    asks="Has the kernel killed processes because the host ran out of memory?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    event_kinds=("oom",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="find the process that used the memory; set memory limits for jobs, so that one job cannot exhaust the host",
    owner="platform",
    span=86400.0,
    limits={"forget_seconds": 3600.0},
)
