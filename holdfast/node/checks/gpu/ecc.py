"""gpu.ecc: does a GPU's memory have uncorrectable errors?"""

from dataclasses import replace

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window, increase
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, evidence_line, gpus, unknown

MODE = "gpu_ecc_mode"
UNCORRECTED = "gpu_ecc_volatile_uncorrected"
CORRECTED = "gpu_ecc_volatile_corrected"
AGGREGATE = "gpu_ecc_aggregate_uncorrected"
RESET = "drain the node, reset the GPU and run the full test; replace it if the errors come back"
REPLACE = "drain the node and replace the GPU: its SRAM error threshold for replacement is exceeded"
WORN = "when its work has ended, reset the GPU and run the memory test; replace it if the errors come back"
SWITCH_ON = "switch ECC on (nvidia-smi -e 1) and reset the GPU"


def judge(window: Window, limits: Limits) -> Verdict:
    everyone = gpus(window, MODE)
    return conclude((_judge_gpu(window, gpu, limits) for gpu in everyone), _lifetime(window, everyone))


def _judge_gpu(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    mode = window.number(gpu, MODE)
    if mode == 0.0:
        return GpuFinding(
            Row(gpu, Health.DEGRADED, mode, 1.0, "ECC is switched off: memory errors are not detected"), SWITCH_ON
        )
    uncorrected = _count(window, gpu, UNCORRECTED)
    if uncorrected is None:
        return unknown(window, gpu, f"{UNCORRECTED}_total", f"{UNCORRECTED}_dram_total")
    if uncorrected > limits["uncorrected_errors"]:
        text = f"{uncorrected:.0f} uncorrected memory errors since the driver was loaded ({_where(window, gpu)})"
        if (sram := _sram(window, gpu, limits)) and sram.remedy == REPLACE:  # a reset does not help such a GPU
            return sram._replace(row=replace(sram.row, reason=f"{sram.row.reason}; {text}"))
        return GpuFinding(Row(gpu, Health.FAIL, uncorrected, limits["uncorrected_errors"], text), RESET)
    return (
        _sram(window, gpu, limits) or _corrected(window, gpu, limits) or GpuFinding(Row(gpu, Health.PASS, uncorrected))
    )


def _sram(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    """The driver's own replacement threshold; drivers without it only count over the GPU's life."""
    exceeded = window.number(gpu, "gpu_ecc_sram_threshold_exceeded")
    life = window.number(gpu, f"{AGGREGATE}_sram_total") or 0.0
    limit = limits["sram_lifetime_errors"]
    if exceeded:
        text = f"SRAM error threshold exceeded ({life:.0f} uncorrected SRAM errors over its lifetime)"
        return GpuFinding(Row(gpu, Health.FAIL, life, limit, text), REPLACE, repair=Verb.INSPECT)
    if exceeded is None and life >= limit:
        text = f"{life:.0f} uncorrected SRAM errors over its lifetime"
        return GpuFinding(Row(gpu, Health.DEGRADED, life, limit, text), RESET)
    return None


def _corrected(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    """No data was lost: the memory wears out."""
    for place, words in (("sram", "SRAM"), ("dram", "DRAM")):
        count = window.number(gpu, f"{CORRECTED}_{place}_total") or 0.0
        limit = limits[f"{place}_corrected_errors"]
        if count > limit:
            text = f"{count:.0f} corrected {words} errors since the driver was loaded"
            return GpuFinding(Row(gpu, Health.DEGRADED, count, limit, text), WORN, FailureClass.SLOWDOWN)
    grown = increase(window.runs(gpu, f"{CORRECTED}_total"))
    rate = grown / (window.span / 60.0)
    limit = limits["corrected_per_minute"]
    if rate > limit:
        text = f"{rate:.0f} corrected memory errors a minute over the last {window.span / 60:.0f} minutes"
        return GpuFinding(Row(gpu, Health.DEGRADED, rate, limit, text), WORN, FailureClass.SLOWDOWN)
    return None


def _count(window: Window, gpu: Subject, name: str) -> float | None:
    """The larger of the total and the sum of the parts: not every GPU provides both."""
    parts = [window.number(gpu, f"{name}_{place}_total") for place in ("sram", "dram")]
    summed = sum(part for part in parts if part is not None)
    total = window.number(gpu, f"{name}_total")
    if total is None and all(part is None for part in parts):
        return None
    return max(total or 0.0, summed)


def _where(window: Window, gpu: Subject) -> str:
    places = [(word, window.number(gpu, f"{UNCORRECTED}_{word.lower()}_total")) for word in ("SRAM", "DRAM")]
    known = [f"{count:.0f} {word}" for word, count in places if count is not None]
    return ", ".join(known) or "place not reported"


def _lifetime(window: Window, everyone: tuple[Subject, ...]) -> list[str]:
    totals = [(gpu, _count(window, gpu, AGGREGATE)) for gpu in everyone]
    return [evidence_line(gpu, f"{total:.0f} uncorrected errors over its lifetime") for gpu, total in totals if total]


CHECK = Check(
    name="gpu.ecc",
    asks="Has a GPU's memory lost data, or does it have to correct too much?",
    about="gpu",
    part="gpu",
    reads=(MODE,),
    judge=judge,
    failure_class=FailureClass.CORRUPTION,
    remedy=RESET,
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=600.0,
    limits={
        "uncorrected_errors": 0.0,
        "sram_lifetime_errors": 4.0,
        "sram_corrected_errors": 10_000.0,
        "dram_corrected_errors": 20_000_000.0,
        "corrected_per_minute": 10_000.0,
    },
)
