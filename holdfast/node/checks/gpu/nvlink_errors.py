"""Do NVLink links retrain or replay? They still carry data, but slower, and may soon fail."""

import itertools

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window, increase
from holdfast.node.checks import single_reading
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, gpus, model_of, unknown
from holdfast.node.checks.gpu.nvlink_lanes import unreported

RECOVERY = "gpu_nvlink_recovery_errors_total"
CRC = "gpu_nvlink_crc_errors_total"
REPLAY = "gpu_nvlink_replay_errors_total"
DRAIN, LATER = "drain the node and ", "when the job has ended, "
BOARD = "reset all GPUs together; if errors return, inspect baseboard, bridge and switch"
RACK = "reset its GPUs; if errors return, check the NVLink switch trays and the cable cartridge"
SOURCE_SECONDS = 60.0  # how often the counters are read: a jump after a quiet hour happened within this time


def judge(window: Window, limits: Limits) -> Verdict:
    findings = [_judge_gpu(window, gpu, limits) for gpu in gpus(window, "gpu_nvlink_active_lanes")]
    findings = [_with_remedy(window, finding) for finding in findings]
    return conclude(findings, single_reading.evidence_of_one_reading(finding.row for finding in findings if finding))


def _with_remedy(window: Window, finding: GpuFinding | None) -> GpuFinding | None:
    """Links that fail now do not wait for the job to end, and the links of a rack go through its switch trays."""
    if finding is None:
        return None
    model = model_of(window, finding.row.subject)
    work = DRAIN if finding.row.health is Health.FAIL else LATER
    return finding._replace(remedy=work + (RACK if model and model.spans_trays else BOARD))


def _judge_gpu(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    model = model_of(window, gpu)
    if window.number(gpu, "gpu_nvlink_active_lanes") is None:
        return unreported(window, gpu, model)
    make = "XGMI" if model and model.vendor == "AMD" else "NVLink"
    if all(window.number(gpu, name) is None for name in (RECOVERY, CRC, REPLAY)):
        return unknown(window, gpu, RECOVERY)
    crc, replay = _fastest(window, gpu, CRC), _fastest(window, gpu, REPLAY)
    links = window.value(gpu, "gpu_nvlink_error_links")
    where = f" (links with errors: {links})" if links else ""
    limit = limits["crc_fail_per_second"]
    if crc >= limit:
        return GpuFinding(Row(gpu, Health.FAIL, crc, limit, f"{crc:.0f} {make} CRC errors a second{where}"))
    recoveries = increase(window.runs(gpu, RECOVERY))
    if recoveries > limits["recoveries"]:
        text = f"{recoveries:.0f} {make} recoveries in the last {window.span / 60:.0f} minutes{where}"
        return GpuFinding(Row(gpu, Health.DEGRADED, recoveries, limits["recoveries"], text))
    limit = limits["repeats_per_second"]
    if max(crc, replay) >= limit:
        text = f"{crc:.1f} {make} CRC errors and {replay:.1f} replays a second{where}"
        return GpuFinding(Row(gpu, Health.DEGRADED, max(crc, replay), limit, text))
    return _by_rate(window, gpu, limits) or GpuFinding(_passing(window, gpu, recoveries, limits))


def _passing(window: Window, gpu: Subject, recoveries: float, limits: Limits) -> Row:
    row = Row(gpu, Health.PASS, recoveries, limits["recoveries"])
    seen = max(single_reading.seconds_seen(window.runs(gpu, name)) for name in (RECOVERY, CRC, REPLAY))
    return single_reading.not_judged(row) if seen < SOURCE_SECONDS else row


def _fastest(window: Window, gpu: Subject, name: str) -> float:
    """The highest rate between two readings, per second; a counter that fell was reset."""
    rates = [0.0]
    for before, after in itertools.pairwise(window.runs(gpu, name)):
        step = float(after.value) - float(before.value)
        seconds = min(after.start - before.start, SOURCE_SECONDS)
        rates.append(max(step, 0.0) / seconds if seconds > 0 else 0.0)
    return max(rates)


def _by_rate(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    for kind in ("effective", "symbol"):
        rate, limit = window.number(gpu, f"gpu_nvlink_{kind}_ber_ratio"), limits[f"{kind}_ber_ratio"]
        if rate is not None and rate > limit:
            text = f"{kind} bit error rate of the worst NVLink link is {rate:.1e}"
            return GpuFinding(Row(gpu, Health.DEGRADED, rate, limit, text))
    return None


CHECK = Check(
    name="nvlink.errors",
    asks="Do NVLink links recover, repeat or receive damaged data?",
    about="gpu",
    part="nvlink",
    reads=("gpu_nvlink_active_lanes",),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy=LATER + BOARD,
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=600.0,
    limits={
        "recoveries": 0.0,
        "crc_fail_per_second": 100.0,
        "repeats_per_second": 1.0,
        "effective_ber_ratio": 1e-6,
        "symbol_ber_ratio": 1e-12,
    },
)
