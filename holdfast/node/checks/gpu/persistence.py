"""Does the driver stay loaded between jobs? Without persistence each first use of a GPU waits seconds for it."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits


def judge(window: Window, limits: Limits) -> Verdict:
    rows = []
    for gpu, mode in window.values("gpu_persistence_mode").items():
        why = "" if mode else "persistence mode is off: the driver unloads when no process uses it"
        rows.append(Row(gpu, Health.DEGRADED if why else Health.PASS, mode, 1.0, why))
    return Verdict(rows=tuple(rows))


CHECK = Check(
    name="gpu.persistence",
    asks="Does the driver keep this GPU initialised between jobs?",
    about="gpu",
    part="nvidia_driver",
    reads=("gpu_persistence_mode",),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="start nvidia-persistenced, or run nvidia-smi -pm 1",
    owner="platform",
)
