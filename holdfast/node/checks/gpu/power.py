"""Does a GPU get the power it should? Capped below its default, or far below its peers in the same job."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.subject import gpu as gpu_subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import (
    GpuFinding,
    average,
    conclude,
    expected_number,
    gpus,
    history_seconds,
    peer_median,
)

LIMIT = "gpu_power_limit_watts"
POWER = "gpu_power_watts"
LOAD = "gpu_utilization_ratio"
JOB_GPUS = "job_gpus"
UNCAP = "restore the default power limit (nvidia-smi -pl), or write the intended cap into the node's manifest"


def judge(window: Window, limits: Limits) -> Verdict:
    everyone = gpus(window, LIMIT)
    span = limits["settle_seconds"]
    busy: dict[Subject, float] = {}
    for gpu in everyone:
        load, power = average(window, gpu, LOAD, span), average(window, gpu, POWER, span)
        settled = min(history_seconds(window, gpu, LOAD), history_seconds(window, gpu, POWER)) >= span
        if settled and load is not None and power is not None and load >= limits["busy_ratio"]:
            busy[gpu] = power
    peers = _peers(window, busy, span)
    return conclude(_judge_gpu(window, gpu, peers.get(gpu, {}), limits) for gpu in everyone)


def _peers(window: Window, busy: dict[Subject, float], span: float) -> dict[Subject, dict[Subject, float]]:
    """Compare each busy GPU with the others of its job. Different jobs, shared GPUs and GPUs whose job is unknown are
    not compared."""
    holders: dict[Subject, list[Subject]] = {}
    for job in window.values("job_processes"):
        for gpu in _held_by(window, job):
            holders.setdefault(gpu, []).append(job)
    job_of = {gpu: jobs[0] for gpu, jobs in holders.items() if len(jobs) == 1 and _holds_since(window, jobs[0]) >= span}
    return {
        gpu: {other: watts for other, watts in busy.items() if job_of.get(other) == job_of[gpu]}
        for gpu in busy
        if gpu in job_of
    }


def _held_by(window: Window, job: Subject) -> list[Subject]:
    numbers = str(window.value(job, JOB_GPUS) or "").split(",")
    return [gpu_subject(window.inventory.node, int(number)) for number in numbers if number.isdecimal()]


def _holds_since(window: Window, job: Subject) -> float:
    """For how many seconds the job has held exactly its current GPUs."""
    runs = window.runs(job, JOB_GPUS)
    return window.now - runs[-1].start if runs else 0.0


def _judge_gpu(window: Window, gpu: Subject, busy: dict[Subject, float], limits: Limits) -> GpuFinding | None:
    cap = window.number(gpu, LIMIT)
    if cap is None:
        return None
    intended = expected_number(window, gpu, LIMIT) or window.number(gpu, "gpu_power_default_limit_watts")
    if intended and cap < limits["cap_ratio"] * intended:
        text = f"power is capped at {cap:.0f} W, below the {intended:.0f} W this GPU should have"
        return GpuFinding(Row(gpu, Health.DEGRADED, cap, intended, text), UNCAP)
    middle = peer_median(busy, gpu, int(limits["least_peers"]))
    if middle and busy[gpu] < limits["peer_ratio"] * middle:
        text = f"draws {busy[gpu]:.0f} W where its equally busy peers in the same job draw {middle:.0f} W"
        return GpuFinding(Row(gpu, Health.DEGRADED, busy[gpu], limits["peer_ratio"] * middle, text))
    return GpuFinding(Row(gpu, Health.PASS, cap, intended))


CHECK = Check(
    name="gpu.power",
    asks="Is a GPU capped below its power limit, or starved compared with its peers in the same job?",
    about="gpu",
    part="gpu",
    reads=(LIMIT,),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="check the power feed and power supplies of this tray; swap the GPU with a neighbour: does the fault move?",
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=600.0,
    limits={"cap_ratio": 0.98, "peer_ratio": 0.6, "busy_ratio": 0.9, "settle_seconds": 300.0, "least_peers": 3.0},
)
