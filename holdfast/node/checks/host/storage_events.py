"""host.storage_events: is a file server not answering, by the kernel's own account?"""

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import Grade, counted, node_verdict, on_devices, since, total


def judge(window: Window, limits: Limits) -> Verdict:
    """A server that answers again is not a fault; the number of its outages is evidence."""
    events = since(window, limits["forget_seconds"], "storage")
    last = {event.device: event for event in events}
    silent = [event for event in last.values() if event.code == "not_responding"]
    evicted = [event for event in events if event.code == "evicted"]

    def unanswered(events: list[Event]) -> str:
        names = ", ".join(f"{event.device} for {max(window.now - event.at, 0):.0f} s" for event in events)
        return f"file servers do not answer: {names}"

    return node_verdict(
        window, events, Grade(Health.DEGRADED, silent, unanswered), Grade(Health.DEGRADED, evicted, _evictions)
    )


def _evictions(events: list[Event]) -> str:
    return f"{counted(total(events), 'eviction')} by {on_devices(events)}"


CHECK = Check(
    name="host.storage_events",
    asks="Does the kernel report that a file server does not answer?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    event_kinds=("storage",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="check the file server and the network to it; programs that wait for it hang until it answers",
    owner="storage",
    span=86400.0,
    limits={"forget_seconds": 21600.0},
)
