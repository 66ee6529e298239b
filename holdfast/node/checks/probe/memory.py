"""probe.memory: GPU memory returns the written data, at the speed of its model."""

from holdfast.model.health import FailureClass
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, model_of
from holdfast.node.checks.probe.facts import FALL, RETRY, SPAN, speed, with_signal, worn, wrong

WRONG = "probe_memory_wrong_words"
SPEED = "probe_memory_bytes_per_second"


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_one(window, subject, limits) for subject in with_signal(window, WRONG))


def _judge_one(window: Window, subject: Subject, limits: Limits) -> GpuFinding:
    if bad := window.number(subject, WRONG):
        tested = window.number(subject, "probe_memory_tested_bytes") or 0.0
        text = f"{bad:.0f} words of {tested / 1e9:.1f} GB did not hold their pattern{worn(window, subject)}"
        return wrong(subject, bad, text)
    model = model_of(window, subject)
    floor = limits["min_share_of_peak"] * model.confirmed_memory_bytes_per_second if model else 0.0
    return speed(window, subject, SPEED, floor, limits)


CHECK = Check(
    name="probe.memory",
    asks="Does device memory hold every pattern, and is it as fast as its model says?",
    about="gpu",
    part="probes",
    reads=(WRONG, SPEED),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy=RETRY,
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=SPAN,
    limits={**FALL, "min_share_of_peak": 0.75},
)
