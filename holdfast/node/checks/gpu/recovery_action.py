"""Does the driver itself ask for a GPU to be reset, or for the node to be rebooted?"""

from dataclasses import replace

from holdfast.catalog.gpus import recovery_action_since
from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, gpus

ACTION = "gpu_recovery_action"
RESET_REQUIRED = "gpu_reset_required"
NONE = 0
_ACTIONS = {
    1: (Health.FAIL, "a GPU reset", "stop its processes, then reset the GPU (nvidia-smi -r)"),
    2: (Health.FAIL, "a reboot of the node", "drain and reboot the node"),
    3: (Health.DEGRADED, "peer-to-peer traffic to be drained", "let the jobs on this GPU end, then run them elsewhere"),
    4: (Health.FAIL, "a drain and a GPU reset", "drain the node, then reset the GPU (nvidia-smi -r)"),
    5: (Health.FAIL, "a recovery of the IMEX domain", "drain the nodes of the NVLink domain and restart IMEX"),
    6: (Health.FAIL, "a reset of the GPU's PCIe bus", "drain the node and reset the GPU's PCIe bus, or reboot"),
    7: (Health.FAIL, "a reboot of the system", "drain and reboot the whole system"),
}
_REBOOTS = frozenset({2.0, 5.0, 6.0, 7.0})  # the driver requests more than a reset of this GPU


def judge(window: Window, limits: Limits) -> Verdict:
    verdict = conclude(_judge_gpu(window, gpu) for gpu in gpus(window, ACTION))
    reboots = any(row.health is Health.FAIL and row.value in _REBOOTS for row in verdict.rows)
    return replace(verdict, repair=Verb.REBOOT if reboots else "")


def _judge_gpu(window: Window, gpu: Subject) -> GpuFinding | None:
    if window.number(gpu, RESET_REQUIRED):
        return GpuFinding(Row(gpu, Health.FAIL, 1.0, 0.0, "the GPU answers only that it must be reset"), _ACTIONS[1][2])
    action = window.number(gpu, ACTION)
    if action is None:
        return _too_old(window, gpu)
    if action == NONE:
        return GpuFinding(Row(gpu, Health.PASS, action, 0.0))
    health, asked, remedy = _ACTIONS.get(int(action), (Health.FAIL, f"recovery action {action:.0f}", ""))
    return GpuFinding(Row(gpu, health, action, 0.0, f"the driver requests {asked}"), remedy)


def _too_old(window: Window, gpu: Subject) -> GpuFinding | None:
    """A driver that is too old for this field is recognised by its version; any other missing value is unknown."""
    version, since = window.value(window.node, "driver_version"), recovery_action_since()
    branch = str(version).split(".", 1)[0]
    if not branch.isdecimal() or int(branch) >= since or window.number(gpu, "gpu_lost") != 0.0:
        return None
    text = f"catalog: driver {version} does not report a recovery action (since R{since})"
    return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason=text))


CHECK = Check(
    name="gpu.recovery_action",
    asks="Does the driver request a reset or a reboot to recover a GPU?",
    about="gpu",
    part="nvidia_driver",
    reads=(ACTION,),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="drain the node and carry out the action that the driver requests",
    owner="platform",
    repair=Verb.RESET_GPU,
    span=60.0,
)
