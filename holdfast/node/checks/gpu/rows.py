"""Can a GPU still repair its memory? Rows waiting for a reset, repairs that failed, spares that are used up."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, gpus, unknown

PENDING = "gpu_remapped_rows_pending"
FAILURE = "gpu_remapped_rows_failure"
RETIRED_PENDING = "gpu_retired_pages_pending"
RESET = "when its work has ended, reset the GPU, so that the spare row takes over"
RETIRE = "when its work has ended, reset the GPU, so that the driver takes the bad page out of use"
RETIRE_AGAIN = "drain the node and reset the GPU, so that the driver can retire the page; if it fails again, replace it"
REPLACE = "drain the node and replace the GPU: its memory can no longer be repaired"
WATCH = "run the memory test at the next free moment and plan a replacement"


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_gpu(window, gpu, limits) for gpu in gpus(window, PENDING))


def _judge_gpu(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    if any(window.number(gpu, name) is not None for name in (PENDING, FAILURE)):
        return _remapped(window, gpu, limits)
    if window.number(gpu, RETIRED_PENDING) is not None:
        return _retired(window, gpu, limits)
    return unknown(window, gpu, PENDING)


def _remapped(window: Window, gpu: Subject, limits: Limits) -> GpuFinding:
    rows = window.number(gpu, "gpu_remapped_rows_uncorrectable") or 0.0
    limit = limits["uncorrectable_rows"]
    if window.number(gpu, FAILURE):
        return GpuFinding(
            Row(gpu, Health.FAIL, 1.0, 0.0, "a row could not be remapped: no spare was left"),
            REPLACE,
            repair=Verb.INSPECT,
        )
    if window.number(gpu, PENDING):
        return GpuFinding(Row(gpu, Health.DEGRADED, 1.0, 0.0, "a bad row waits for a reset to be remapped"), RESET)
    exhausted = window.number(gpu, "gpu_remap_none_banks") or 0.0
    if exhausted >= limits["exhausted_banks"]:
        text = f"{exhausted:.0f} memory banks have no spare row left: the next bad row there cannot be repaired"
        return GpuFinding(Row(gpu, Health.DEGRADED, exhausted, limits["exhausted_banks"], text), WATCH)
    if rows >= limit:
        text = f"{rows:.0f} rows remapped because of uncorrectable errors"
        return GpuFinding(Row(gpu, Health.DEGRADED, rows, limit, text), WATCH)
    if window.number(gpu, PENDING) is None:
        return unknown(window, gpu, PENDING)
    return GpuFinding(Row(gpu, Health.PASS, rows, limit))


def _retired(window: Window, gpu: Subject, limits: Limits) -> GpuFinding:
    """GPUs before the A100 retire pages instead of remapping rows."""
    pages = sum(window.number(gpu, f"gpu_retired_pages_{kind}_bit") or 0.0 for kind in ("single", "double"))
    limit = limits["retired_pages"]
    if failed := window.number(gpu, "gpu_retired_pages_failed"):
        text = f"{failed:.0f} bad memory pages could not be retired"
        return GpuFinding(Row(gpu, Health.FAIL, failed, 0.0, text), RETIRE_AGAIN)
    if pages >= limit:
        text = f"{pages:.0f} memory pages are retired"
        return GpuFinding(Row(gpu, Health.FAIL, pages, limit, text), REPLACE, repair=Verb.INSPECT)
    if window.number(gpu, RETIRED_PENDING):
        return GpuFinding(Row(gpu, Health.DEGRADED, 1.0, 0.0, "a bad page waits for a reset to be retired"), RETIRE)
    return GpuFinding(Row(gpu, Health.PASS, pages, limit))


CHECK = Check(
    name="gpu.rows",
    asks="Does a GPU have memory rows that wait for repair, failed repairs, or no spares left?",
    about="gpu",
    part="gpu",
    reads=("gpu_model",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy=RESET,
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=60.0,
    limits={"uncorrectable_rows": 512.0, "exhausted_banks": 1.0, "retired_pages": 63.0},
)
