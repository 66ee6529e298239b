"""probe.rdma_loopback: a port writes to itself at its rate."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude
from holdfast.node.checks.probe.facts import SPAN, with_signal

SPEED = "probe_rdma_loopback_bytes_per_second"
RATE = "port_rate_bytes_per_second"


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_one(window, port, limits) for port in with_signal(window, SPEED))


def _judge_one(window: Window, port: Subject, limits: Limits) -> GpuFinding | None:
    value, rate = window.number(port, SPEED), window.number(port, RATE)
    if value is None or rate is None:
        return None
    floor = limits["min_share_of_rate"] * rate
    if value < floor:
        text = f"{value / 1e9:.1f} GB/s to itself on a port of {rate / 1e9:.1f} GB/s"
        return GpuFinding(Row(port, Health.FAIL, value, floor, text))
    return GpuFinding(Row(port, Health.PASS, value, floor))


CHECK = Check(
    name="probe.rdma_loopback",
    asks="Does every RDMA port write to itself at its rate?",
    about="nic",
    part="rdma",
    reads=(SPEED, RATE),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="check the port's rate and errors, and the PCIe link of its adapter",
    owner="network",
    span=SPAN,
    limits={"min_share_of_rate": 0.85},
)
