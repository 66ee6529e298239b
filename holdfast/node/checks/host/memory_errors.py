"""host.memory_errors: does the host's memory or processor report errors?"""

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import Grade, counted, node_verdict, since, total

BURST_MESSAGES = 3  # a single message may report errors of a long time


def judge(window: Window, limits: Limits) -> Verdict:
    """host.edac evaluates corrected errors if memory controllers count them; otherwise this check uses the messages."""
    events = since(window, limits["forget_seconds"], "mce", "edac")
    uncorrected = [event for event in events if event.severity == "fatal"]
    deferred = [event for event in events if event.severity == "warning"]  # bad data that nothing has used yet
    corrected = [event for event in events if event.severity not in ("fatal", "warning")]
    limit = limits["corrected_errors"]
    counted_elsewhere = window.number(window.node, "host_edac_correctable_total") is not None
    burst = _burst(corrected, limits["burst_seconds"], limits["burst_errors"])
    many = (corrected if total(corrected) > limit else burst) if not counted_elsewhere else []
    return node_verdict(
        window,
        events,
        Grade(Health.FAIL, uncorrected, _uncorrected),
        Grade(Health.DEGRADED, deferred, lambda them: f"data that is lost when it is used [{them[-1].text}]"),
        Grade(
            Health.DEGRADED,
            many,
            lambda them: f"{total(them)} corrected errors of memory or processor [{them[-1].text}]",
        ),
    )


def _burst(events: list[Event], seconds: float, least: float) -> list[Event]:
    """Bursts: errors so close together that the daily limit would be exceeded long before the end of the day."""
    for number, first in enumerate(events):
        near = [one for one in events[number:] if one.at - first.at <= seconds]
        if len(near) >= BURST_MESSAGES and total(near) >= least:
            return near
    return []


def _uncorrected(events: list[Event]) -> str:
    return f"{counted(total(events), 'uncorrected error')} of memory or processor [{events[-1].text}]"


CHECK = Check(
    name="host.memory_errors",
    asks="Does the host's memory or processor report errors?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    event_kinds=("mce", "edac"),
    judge=judge,
    failure_class=FailureClass.CORRUPTION,
    remedy="drain the node and replace the memory module or processor that the kernel log names",
    owner="hardware",
    span=86400.0,
    limits={"forget_seconds": 86400.0, "corrected_errors": 100.0, "burst_seconds": 60.0, "burst_errors": 10.0},
)
