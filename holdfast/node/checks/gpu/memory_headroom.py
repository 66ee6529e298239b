"""Is all of a GPU's memory there and free before work starts?"""

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GIBIBYTE, GpuFinding, conclude, gpus, model_of

TOTAL = "gpu_memory_total_bytes"
USED = "gpu_memory_used_bytes"
PROCESSES = "gpu_processes"
FREE_IT = "find leftover processes of the last job (fuser /dev/nvidia*) and end them, or reset the GPU"


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_gpu(window, gpu, limits) for gpu in gpus(window, TOTAL))


def _judge_gpu(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    total, used = window.number(gpu, TOTAL), window.number(gpu, USED)
    if total is None or used is None:
        return None
    model = model_of(window, gpu)
    least = model.memory_bytes * limits["total_ratio"] if model else 0.0
    if total < least:
        text = f"shows {total / GIBIBYTE:.1f} GiB of memory, a {model.name if model else 'GPU'} has more"
        return GpuFinding(Row(gpu, Health.DEGRADED, total, least, text))
    limit = limits["left_over_gibibytes"] * GIBIBYTE
    if used > limit and window.number(gpu, PROCESSES) == 0.0:
        text = f"{used / GIBIBYTE:.1f} GiB are in use although no process runs on it"
        return GpuFinding(Row(gpu, Health.DEGRADED, used, limit, text), FREE_IT)
    return GpuFinding(Row(gpu, Health.PASS, used, limit))


CHECK = Check(
    name="gpu.memory_headroom",
    asks="Is all of a GPU's memory present, and not in use by leftovers of earlier jobs?",
    about="gpu",
    part="gpu",
    reads=(TOTAL, USED, PROCESSES),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="reset the GPU; if memory stays missing, replace it",
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=60.0,
    limits={"total_ratio": 0.95, "left_over_gibibytes": 2.0},
)
