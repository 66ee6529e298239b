"""host.lockup: do processors or tasks hang in the kernel?"""

from holdfast.checks.check import Check, Limits
from holdfast.checks.event_rows import counted, since, tell, total
from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window

_PROCESSOR = ("soft_lockup", "hard_lockup")
_TASK = ("hung_task", "rcu_stall")


def judge(window: Window, limits: Limits) -> Verdict:
    locked = since(window, limits["forget_seconds"], *_PROCESSOR)
    hung = since(window, limits["forget_seconds"], *_TASK)
    events = sorted(locked + hung, key=lambda event: event.at)
    if locked:
        reason = f"{counted(total(locked), 'processor lock-up')} in the kernel [{locked[-1].text}]"
        row = Row(window.node, Health.FAIL, total(locked), 0, reason)
    elif hung:
        reason = f"{counted(total(hung), 'report')} of tasks that hang in the kernel [{hung[-1].text}]"
        row = Row(window.node, Health.DEGRADED, total(hung), 0, reason)
    else:
        row = Row(window.node, Health.PASS, 0, 0)
    return Verdict(rows=(row,), evidence=tell(events, window.now))


CHECK = Check(
    name="host.lockup",
    asks="Do processors or tasks hang in the kernel?",
    about="node",
    part="host",
    reads=("kmsg_records_total",),
    hears=(*_PROCESSOR, *_TASK),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="look at what the stack in the kernel log waits for (storage, driver); restart the node if it does not end",
    owner="platform",
    span=86400.0,
    limits={"forget_seconds": 3600.0},
)
