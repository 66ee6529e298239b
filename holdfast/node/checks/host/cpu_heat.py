"""host.cpu_heat: do processors of the host slow down for their own heat?"""

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import Grade, counted, node_verdict, since, total


def judge(window: Window, limits: Limits) -> Verdict:
    events = since(window, limits["forget_seconds"], "cpu_thermal")
    return node_verdict(
        window,
        events,
        Grade(Health.FAIL, [event for event in events if event.code == "shutdown"], _stopping),
        Grade(Health.DEGRADED, events, _throttled),
    )


def _stopping(events: list[Event]) -> str:
    return f"the host shuts down because of heat [{events[-1].text}]"


def _throttled(events: list[Event]) -> str:
    processors = len({event.detail.get("cpu") for event in events})
    return f"{counted(total(events), 'report')} of heat that slowed {counted(processors, 'processor')}"


CHECK = Check(
    name="host.cpu_heat",
    asks="Do the host's processors throttle because of heat?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    event_kinds=("cpu_thermal",),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="check the host's fans, inlet and heat sinks: slow processors delay data loading and kernel launches",
    owner="facilities",
    span=86400.0,
    limits={"forget_seconds": 3600.0},
)
