"""host.clock: a wrong clock makes logs of nodes incomparable and lets credentials expire early.

It degrades and never fails a node: a job that runs does not stop for it. The kernel's largest possible error grows by
half a millisecond a second until the next poll, so a daemon that polls every 2048 s reaches 1.024 s in good health.
"""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits

STEP = "correct it at once (chronyc makestep), and check the time source: it is wrong, or too far away"


def judge(window: Window, limits: Limits) -> Verdict:
    node = window.node
    synchronised = window.number(node, "clock_synchronised")
    offset, error = window.number(node, "clock_offset_seconds"), window.number(node, "clock_max_error_seconds")
    if synchronised is None or offset is None or error is None:
        return Verdict(rows=())
    evidence = (f"offset {offset:+.6f} s, largest possible error {error:.3f} s by the kernel's own estimate",)
    remedy = ""
    if not synchronised:
        reason = "the kernel says that nothing synchronises its clock"
        row = Row(node, Health.DEGRADED, "not synchronised", "synchronised", reason)
    elif abs(offset) > limits["max_offset_seconds"]:
        limit = limits["max_offset_seconds"]
        reason = f"the clock is {offset:+.3f} s off, at most {limit:g} s allowed"
        row, remedy = Row(node, Health.DEGRADED, abs(offset), limit, reason), STEP
    elif error > limits["max_error_seconds"]:
        limit = limits["max_error_seconds"]
        reason = f"the clock may be {error:.1f} s off, at most {limit:g} s allowed: it was not corrected for long"
        row = Row(node, Health.DEGRADED, error, limit, reason)
    else:
        row = Row(node, Health.PASS, abs(offset), limits["max_offset_seconds"])
    return Verdict(rows=(row,), evidence=evidence, remedy=remedy)


CHECK = Check(
    name="host.clock",
    asks="Is the clock synchronised, and close to true time?",
    about="node",
    part="clock",
    reads=("clock_synchronised",),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,  # jobs do not crash; wrong times only make logs hard to compare
    remedy="start chronyd (with rtcsync), ntpd or phc2sys, and make sure that it reaches its time source",
    owner="platform",
    limits={"max_offset_seconds": 0.1, "max_error_seconds": 2.0},
)
