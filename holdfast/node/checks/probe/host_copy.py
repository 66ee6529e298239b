"""probe.host_copy: data between host memory and each device arrives unchanged and at the speed of the link."""

from holdfast.catalog.gpus import GpuModel
from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, model_of
from holdfast.node.checks.probe.facts import FALL, RETRY, SPAN, speed, with_signal, wrong

WRONG = "probe_host_copy_wrong"
THERE = "probe_host_copy_to_device_bytes_per_second"
BACK = "probe_host_copy_from_device_bytes_per_second"
_LANE = {3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}  # bytes per second and lane after the link's own coding


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_one(window, path, limits) for path in with_signal(window, WRONG))


def _judge_one(window: Window, path: Subject, limits: Limits) -> GpuFinding:
    if bad := window.number(path, WRONG):
        return wrong(path, bad, "the returned data differs from the sent data")
    label = path.rpartition("-")[2].removeprefix("gpu")
    model = model_of(window, f"{window.node}/gpu/{label}")
    floor = limits["min_share_of_link"] * link_rate(model) if model else 0.0
    findings = [speed(window, path, name, floor, limits) for name in (THERE, BACK)]
    bad_ones = [found for found in findings if found.row.health is not Health.PASS]
    return min(bad_ones or findings, key=lambda found: found.row.health is not Health.FAIL)


def link_rate(model: GpuModel) -> float:
    return _LANE.get(model.pcie_generation or 0, 0.0) * (model.pcie_width_lanes or 0)


CHECK = Check(
    name="probe.host_copy",
    asks="Do copies between each NUMA node's memory and each device arrive unchanged and at the link's speed?",
    about="host_path",
    part="probes",
    reads=(WRONG, THERE, BACK),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy=RETRY,
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=SPAN,
    limits={**FALL, "min_share_of_link": 0.6},
)
