"""probe.peer_copy: every ordered pair of devices passes data on unchanged and as fast as the other pairs."""

from holdfast.model.health import FailureClass
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude
from holdfast.node.checks.probe.facts import FALL, SPAN, speed, with_signal, wrong

WRONG = "probe_peer_copy_wrong"
SPEED = "probe_peer_copy_bytes_per_second"


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_one(window, path, limits) for path in with_signal(window, WRONG))


def _judge_one(window: Window, path: Subject, limits: Limits) -> GpuFinding:
    if bad := window.number(path, WRONG):
        return wrong(path, bad, "the received data differs from the sent data")
    return speed(window, path, SPEED, 0.0, limits)


CHECK = Check(
    name="probe.peer_copy",
    asks="Does data between every ordered pair of devices arrive unchanged and as fast as between the others?",
    about="peer",
    part="probes",
    reads=(WRONG, SPEED),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="check the NVLink lanes and the PCIe link of the two GPUs; reset them and test again",
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=SPAN,
    limits={**FALL, "fall_ratio": 0.1},
)
