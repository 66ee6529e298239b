"""host.storage_events: is a file server not answering, by the kernel's own account?"""

from holdfast.checks.check import Check, Limits
from holdfast.checks.event_rows import counted, since, tell, total
from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window


def judge(window: Window, limits: Limits) -> Verdict:
    """A server that answered again is no fault any more; how often it went away is evidence."""
    events = since(window, limits["forget_seconds"], "storage")
    last: dict[str, Event] = {}
    for event in events:
        last[event.device] = event
    silent = [event for event in last.values() if event.code == "not_responding"]
    evicted = [event for event in events if event.code == "evicted"]
    if silent:
        names = ", ".join(f"{event.device} for {max(window.now - event.at, 0):.0f} s" for event in silent)
        row = Row(window.node, Health.DEGRADED, len(silent), 0, f"file servers do not answer: {names}")
    elif evicted:
        reason = (
            f"{counted(total(evicted), 'eviction')} by {', '.join(dict.fromkeys(event.device for event in evicted))}"
        )
        row = Row(window.node, Health.DEGRADED, total(evicted), 0, reason)
    else:
        row = Row(window.node, Health.PASS, 0, 0)
    return Verdict(rows=(row,), evidence=tell(events, window.now))


CHECK = Check(
    name="host.storage_events",
    asks="Is a file server not answering, by the kernel's own account?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    hears=("storage",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="check the file server and the network to it; programs that wait for it hang until it answers",
    owner="storage",
    span=86400.0,
    limits={"forget_seconds": 21600.0},
)
