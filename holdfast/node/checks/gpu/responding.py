"""gpu.responding: a GPU that is listed and answers no call, or never returns from one, is sick."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, gpus

RESPONDING = "gpu_responding"
TROUBLE = "gpu_trouble"


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_gpu(window, gpu, limits) for gpu in gpus(window, RESPONDING))


def _judge_gpu(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    if window.number(gpu, "gpu_lost"):
        return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason="the GPU is lost: see gpu.lost"))
    responding = window.number(gpu, RESPONDING)
    if responding is None:
        return None
    trouble = str(window.value(gpu, TROUBLE) or "")
    if not responding:
        return GpuFinding(Row(gpu, Health.FAIL, 0.0, 1.0, f"the GPU answers no call of the driver: {trouble}"))
    seconds = _seconds_in_trouble(window, gpu) if trouble else 0.0
    if seconds < limits["some_calls_seconds"]:
        return GpuFinding(Row(gpu, Health.PASS, 1.0, 1.0))
    text = f"some calls have failed for {seconds:.0f} s: {trouble}"
    return GpuFinding(Row(gpu, Health.DEGRADED, seconds, limits["some_calls_seconds"], text))


def _seconds_in_trouble(window: Window, gpu: Subject) -> float:
    """For how long every read of this GPU has failed."""
    since = window.now
    for run in reversed(window.runs(gpu, TROUBLE)):
        if not run.value:
            break
        since = run.start
    return window.now - since


CHECK = Check(
    name="gpu.responding",
    asks="Does every GPU that the driver lists answer it?",
    about="gpu",
    part="gpu",
    reads=(RESPONDING,),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="drain the node and reboot it: a GPU that does not answer cannot be reset; if it happens again, replace it",
    owner="hardware",
    span=600.0,
    limits={"some_calls_seconds": 60.0},
)
