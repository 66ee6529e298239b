"""gpu.fabric_manager: on a board with NVSwitches no new CUDA program starts without the fabric manager."""

from holdfast.catalog.gpus import gpu_model
from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits


def judge(window: Window, limits: Limits) -> Verdict:
    running = window.number(window.node, "fabric_manager_running")
    if running is None or "fabric_manager" in window.inventory.lacks:
        return Verdict(rows=())
    if running:
        return Verdict(rows=(Row(window.node, Health.PASS, 1.0, 1.0),))
    if why := _needed(window):
        reason = f"nv-fabricmanager does not run, and {why}"
        return Verdict(rows=(Row(window.node, Health.FAIL, 0.0, 1.0, reason),))
    reason = (
        "nv-fabricmanager does not run, and it is unknown whether this node needs it (no GPU of a known model seen)"
    )
    return Verdict(rows=(Row(window.node, Health.UNKNOWN, 0.0, None, reason),))


def _needed(window: Window) -> str:
    if count := window.number(window.node, "nvswitch_devices"):
        return f"this node has {count:.0f} NVSwitches"
    for gpu in window.inventory.expected("gpu"):
        name = window.value(gpu, "gpu_model")
        model = gpu_model(name) if isinstance(name, str) else None
        if model is not None and model.fabric_manager:
            return f"nodes of {model.name} need it"
    return ""


CHECK = Check(
    name="gpu.fabric_manager",
    asks="Does the NVSwitch fabric manager run where it is needed?",
    about="node",
    part="fabric_manager",
    reads=("fabric_manager_running",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="restart nvidia-fabricmanager; its version must equal the driver's; read /var/log/fabricmanager.log",
    owner="platform",
)
