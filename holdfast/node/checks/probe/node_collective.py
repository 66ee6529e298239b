"""probe.node_collective: an all-reduce over the devices of a node adds up, at the speed it had before."""

from holdfast.model.health import FailureClass
from holdfast.model.lifecycle import Verb
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import conclude
from holdfast.node.checks.probe.facts import FALL, SPAN, speed, wrong

WRONG = "probe_collective_wrong_sizes"
SPEED = "probe_collective_busbw_bytes_per_second"


def judge(window: Window, limits: Limits) -> Verdict:
    bad = window.number(window.node, WRONG)
    if bad is None:
        return Verdict(rows=())
    if bad:
        blamed = window.value(window.node, "probe_collective_wrong_from") or "an unknown device"
        return conclude([wrong(window.node, bad, f"sums are wrong at {bad:.0f} sizes; wrong numbers from {blamed}")])
    return conclude([speed(window, window.node, SPEED, 0.0, limits)])


CHECK = Check(
    name="probe.node_collective",
    asks="Does an all-reduce over the node's devices give exact sums, as fast as before?",
    about="node",
    part="probes",
    reads=(WRONG, SPEED),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="check peer copies and NVLink errors of this node to find the slow pair",
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=SPAN,
    limits=FALL,
)
