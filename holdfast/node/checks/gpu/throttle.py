"""Is a GPU slowed down by its own protection? One sample is reported, not judged; most minutes of ten are a fault."""

import functools
import operator

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window, minutes_where
from holdfast.node.checks import single_reading
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import MEGAHERTZ, GpuFinding, conclude, events_named, evidence_line, gpus

REASONS = "gpu_clock_event_reasons"
HARDWARE = 0x08 | 0x40 | 0x80
SOFTWARE_THERMAL = 0x20
HEAT, BRAKE = 0x20 | 0x40, 0x80
COOL = "drain the node; check airflow or coolant flow, and the heat sink of this GPU"
FEED = "drain the node; check the power supplies and the power brake signal of the tray"
MINUTE = 60.0


def judge(window: Window, limits: Limits) -> Verdict:
    findings = [_judge_gpu(window, gpu, limits) for gpu in gpus(window, REASONS)]
    rows = [finding.row for finding in findings if finding]
    slowed = [row for row in rows if row.reason and row.reason != single_reading.ONE_READING]
    reported = [evidence_line(row.subject, f"{row.reason}; {_clocks(window, row.subject)}") for row in slowed]
    return conclude(findings, (*reported, *single_reading.evidence_of_one_reading(rows)))


def _judge_gpu(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    if window.number(gpu, REASONS) is None:
        return None
    runs = window.runs(gpu, REASONS)
    hardware, seen = minutes_where(runs, HARDWARE)
    software, _ = minutes_where(runs, SOFTWARE_THERMAL)
    masks = [int(float(run.value)) for run in runs]
    which = functools.reduce(operator.or_, masks, 0)
    last = next((mask for mask in reversed(masks) if mask & HARDWARE), 0)  # the present reason
    limit = limits["throttled_minutes"]
    text = f"{events_named(which & HARDWARE)} in {hardware} of {seen} minutes seen"
    early = f"{text}, too few to call it a fault"
    warm = f"{events_named(SOFTWARE_THERMAL)} in {software} of {seen} minutes seen"
    if hardware >= limit:
        return GpuFinding(Row(gpu, Health.FAIL, float(hardware), limit, text), _remedy(last))
    if hardware == seen >= limits["early_minutes"]:
        return GpuFinding(Row(gpu, Health.DEGRADED, float(hardware), limit, early), _remedy(last))
    if software >= limit:
        return GpuFinding(Row(gpu, Health.DEGRADED, float(software), limit, warm), COOL)
    reason = early if hardware else f"{warm}, too few to call it a fault" if software else ""
    row = Row(gpu, Health.PASS, float(hardware), limit, reason)
    return GpuFinding(single_reading.not_judged(row) if single_reading.seconds_seen(runs) < MINUTE else row)


def _remedy(which: int) -> str:
    """The remedy if the reasons are only heat or only power; "" if they are mixed."""
    heat, brake = bool(which & HEAT), bool(which & BRAKE)
    return "" if heat == brake else COOL if heat else FEED


def _clocks(window: Window, gpu: Subject) -> str:
    now, most = window.number(gpu, "gpu_clock_sm_hertz"), window.number(gpu, "gpu_clock_sm_max_hertz")
    heat = window.number(gpu, "gpu_temperature_celsius")
    clock = f"SM clock {now / MEGAHERTZ:.0f} MHz" if now is not None else "SM clock not known"
    return (
        clock
        + (f" of {most / MEGAHERTZ:.0f} MHz" if most else "")
        + (f", core at {heat:.0f} C" if heat is not None else "")
    )


CHECK = Check(
    name="gpu.throttle",
    asks="Is a GPU held back by its own protection (heat, power brake)?",
    about="gpu",
    part="gpu",
    reads=(REASONS,),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="drain the node; check airflow or coolant flow, power supplies and the power brake signal of the tray",
    owner="facilities",
    repair=Verb.RESET_GPU,
    span=600.0,
    limits={"throttled_minutes": 6.0, "early_minutes": 3.0},
)
