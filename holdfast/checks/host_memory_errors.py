"""host.memory_errors: does the host's memory or processor report errors?"""

from holdfast.checks.check import Check, Limits
from holdfast.checks.event_rows import counted, since, tell, total
from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window


def judge(window: Window, limits: Limits) -> Verdict:
    events = since(window, limits["forget_seconds"], "mce", "edac")
    uncorrected = [event for event in events if event.severity == "fatal"]
    corrected = total(events) - total(uncorrected)
    if uncorrected:
        reason = f"{counted(total(uncorrected), 'uncorrected error')} of memory or processor [{uncorrected[-1].text}]"
        row = Row(window.node, Health.FAIL, total(uncorrected), 0, reason)
    elif corrected > limits["corrected_errors"]:
        reason = f"{corrected} corrected errors of memory or processor, more than {limits['corrected_errors']:.0f}"
        row = Row(window.node, Health.DEGRADED, corrected, limits["corrected_errors"], reason)
    else:
        row = Row(window.node, Health.PASS, corrected, limits["corrected_errors"])
    return Verdict(rows=(row,), evidence=tell(events, window.now))


CHECK = Check(
    name="host.memory_errors",
    asks="Does the host's memory or processor report errors?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    hears=("mce", "edac"),
    judge=judge,
    failure_class=FailureClass.CORRUPTION,
    remedy="drain the node and replace the memory module or processor that the kernel log names",
    owner="hardware",
    span=86400.0,
    limits={"forget_seconds": 86400.0, "corrected_errors": 100.0},
)
