"""pcie.replay: packets that a GPU's link repeated, compared with the bit error rate that its speed allows."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window, increase
from holdfast.node.checks import single_reading
from holdfast.node.checks.check import Check, Limits

_REPLAYS, _GENERATION, _WIDTH = "gpu_pcie_replay_total", "gpu_pcie_generation", "gpu_pcie_width_lanes"
_LEAST_HISTORY_SECONDS = 60.0
# Errors a minute on one lane at the bit error rate of 1e-12 that the PCI Express specification allows, by generation.
_PER_LANE_MINUTE = {1: 0.15, 2: 0.30, 3: 0.48, 4: 0.96, 5: 1.92, 6: 3.84}


def judge(window: Window, limits: Limits) -> Verdict:
    rows = []
    for gpu in window.values(_REPLAYS):
        runs = window.runs(gpu, _REPLAYS)
        allowed = _allowed_per_minute(window, gpu)
        if allowed is None:
            continue
        seconds = single_reading.seconds_seen(runs)
        if seconds < _LEAST_HISTORY_SECONDS:
            rows.append(single_reading.not_judged(Row(gpu, Health.PASS, None, allowed)))
            continue
        rows.append(_judge_gpu(gpu, increase(runs) * 60 / seconds, allowed, limits))
    return Verdict(rows=tuple(rows), evidence=single_reading.evidence_of_one_reading(rows))


def _allowed_per_minute(window: Window, gpu: Subject) -> float | None:
    """The limit for the link's highest speed and width in the window, because an idle GPU lowers its speed."""
    generations = [int(float(run.value)) for run in window.runs(gpu, _GENERATION)]
    widths = [float(run.value) for run in window.runs(gpu, _WIDTH)]
    if not generations or not widths:
        return None
    fastest = min(max(generations), max(_PER_LANE_MINUTE))
    return _PER_LANE_MINUTE.get(fastest, _PER_LANE_MINUTE[1]) * max(widths)


def _judge_gpu(gpu: Subject, rate: float, allowed: float, limits: Limits) -> Row:
    if rate <= allowed * limits["degraded_times_allowed"]:
        return Row(gpu, Health.PASS, round(rate, 2), allowed)
    health = Health.FAIL if rate > allowed * limits["fail_times_allowed"] else Health.DEGRADED
    reason = f"{rate:.1f} PCIe replays a minute, a good link of its speed and width has at most {allowed:.1f}"
    return Row(gpu, health, round(rate, 2), allowed, reason)


CHECK = Check(
    name="pcie.replay",
    asks="Does any GPU's PCI Express link resend more than its speed and width explain?",
    about="gpu",
    part="gpu",
    reads=(_REPLAYS, _GENERATION, _WIDTH),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="reseat the GPU, its riser or cable; replace it if the rate stays",
    owner="hardware",
    limits={"degraded_times_allowed": 1.0, "fail_times_allowed": 10.0},
)
