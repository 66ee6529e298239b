"""host.modules: drivers that must be loaded, and a way for the NICs to reach GPU memory."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits


def judge(window: Window, limits: Limits) -> Verdict:
    node = window.node
    missing = window.number(node, "host_modules_missing")
    if missing is None:
        return Verdict(rows=())
    if missing:
        names = window.value(node, "host_modules_missing_names")
        return Verdict(rows=(Row(node, Health.FAIL, missing, 0.0, f"kernel modules not loaded: {names}"),))
    way = window.value(node, "host_gpudirect")
    if way == "none" and window.inventory.expected("nic") and window.inventory.expected("gpu"):
        reason = "no GPUDirect RDMA: nvidia_peermem is not loaded, and this driver and kernel offer no dma_buf"
        return Verdict(
            rows=(Row(node, Health.DEGRADED, "none", "dma_buf or nvidia_peermem", reason),),
            failure_class=FailureClass.SLOWDOWN,
            remedy="install the open kernel module (with Linux 5.12 or later), or load nvidia_peermem",
        )
    evidence = (f"NICs reach GPU memory by {way}",) if isinstance(way, str) and way != "none" else ()
    return Verdict(rows=(Row(node, Health.PASS, 0.0, 0.0),), evidence=evidence)


CHECK = Check(
    name="host.modules",
    asks="Are all kernel modules loaded that this node needs?",
    about="node",
    part="host",
    reads=("host_modules_missing",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="load the module (modprobe); the kernel log says why it was not loaded, often a kernel without its driver",
    owner="platform",
)
