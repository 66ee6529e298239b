"""host.memory: when main memory runs out, the kernel kills the largest process, and that is the training job."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits


def judge(window: Window, limits: Limits) -> Verdict:
    available = window.number(window.node, "host_memory_available_ratio")
    total = window.number(window.node, "host_memory_total_bytes")
    if available is None or total is None:
        return Verdict(rows=())
    limit = limits["min_available_ratio"]
    evidence = (f"{available * total / 2**30:.1f} of {total / 2**30:.1f} GiB available",)
    if available < limit:
        reason = f"{100 * available:.1f} % of main memory is available, at least {100 * limit:.0f} % required"
        return Verdict(rows=(Row(window.node, Health.DEGRADED, available, limit, reason),), evidence=evidence)
    return Verdict(rows=(Row(window.node, Health.PASS, available, limit),), evidence=evidence)


CHECK = Check(
    name="host.memory",
    asks="Is there main memory left?",
    about="node",
    part="host",
    reads=("host_memory_available_ratio",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="find the process that uses it, often a data loader with many workers or a leak in checkpointing",
    owner="user",
    limits={"min_available_ratio": 0.02},
)
