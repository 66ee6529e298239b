"""probe.burn_in: sustained products are right, and as fast as the model, its past and its peers say."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, model_of
from holdfast.node.checks.probe.facts import FALL, RETRY, SPAN, speed, with_signal, wrong

WRONG = "probe_burn_in_wrong_steps"
BF16 = "probe_burn_in_bf16_flops_per_second"
SPEEDS = (BF16, "probe_burn_in_fp16_flops_per_second", "probe_burn_in_fp32_flops_per_second")


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_one(window, subject, limits) for subject in with_signal(window, WRONG))


def _judge_one(window: Window, subject: Subject, limits: Limits) -> GpuFinding:
    if bad := window.number(subject, WRONG):
        return wrong(subject, bad, f"{bad:.0f} matrix products were wrong")
    model = model_of(window, subject)
    floor = limits["min_share_of_peak"] * model.confirmed_flops_per_second if model else 0.0
    findings = [
        speed(window, subject, name, floor if name == BF16 else 0.0, limits)
        for name in SPEEDS
        if window.number(subject, name) is not None
    ]
    bad_ones = [found for found in findings if found.row.health is not Health.PASS]
    if not bad_ones:
        return max(findings, key=lambda found: float(found.row.value or 0.0))
    return min(bad_ones, key=lambda found: found.row.health is not Health.FAIL)


CHECK = Check(
    name="probe.burn_in",
    asks="Does every device compute right and at its full speed under sustained load?",
    about="gpu",
    part="probes",
    reads=(WRONG, BF16),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy=RETRY,
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=SPAN,
    limits={**FALL, "min_share_of_peak": 0.45},
)
