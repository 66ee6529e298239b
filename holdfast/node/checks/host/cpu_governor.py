"""host.cpu_governor: a CPU that clocks down between kernel launches starves its GPU."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits

_FAST = "performance"
_NONE = "none"  # the kernel does not scale the CPU's clock at all


def judge(window: Window, limits: Limits) -> Verdict:
    governor = window.value(window.node, "host_cpu_governor")
    if governor is None:
        return Verdict(rows=())
    wanted = window.inventory.expect.get(window.node, {}).get("host_cpu_governor", _FAST)
    if governor in (wanted, _FAST, _NONE):
        evidence = ("the kernel does not scale the CPU's clock here",) if governor == _NONE else ()
        return Verdict(rows=(Row(window.node, Health.PASS, governor, wanted),), evidence=evidence)
    reason = f"CPU frequency governor is {governor}, not {wanted}"
    return Verdict(rows=(Row(window.node, Health.DEGRADED, governor, wanted, reason),))


CHECK = Check(
    name="host.cpu_governor",
    asks="Do the CPUs run at full clock?",
    about="node",
    part="host",
    reads=("host_cpu_governor",),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="cpupower frequency-set -g performance, or set the intended governor in the manifest",
    owner="platform",
)
