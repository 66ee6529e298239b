"""Has a GPU joined the NVLink fabric? Until it has, NVLink traffic and CUDA start-up fail on NVSwitch machines."""

from collections import Counter

from holdfast.catalog.gpus import is_virtual, lacking
from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, gpus, model_of

STATE = "gpu_fabric_state"
NOT_SUPPORTED = 0.0
COMPLETED = 3.0
IN_PROGRESS = 2.0
_STATES = {1.0: "has not started", 2.0: "is still in progress", 3.0: "is completed"}
_REFUSED = "not supported"
_TRUE = 1
# shift in the health mask -> (fault if its two bits read "true", health)
_HEALTH = {
    0: (Health.FAIL, "NVLink bandwidth is degraded", FailureClass.SLOWDOWN),
    2: (Health.DEGRADED, "a route is being recovered", FailureClass.SLOWDOWN),
    4: (Health.FAIL, "a route is unhealthy", FailureClass.CRASH),
    6: (Health.DEGRADED, "recovery from an access timeout is under way", FailureClass.CRASH),
}
_CONFIGURATION_SHIFT = 8
_CONFIGURATION = {
    2: "wrong system GUID",
    3: "wrong chassis serial number",
    4: "no partition",
    5: "too few NVLinks",
    6: "incompatible GPU firmware",
    7: "invalid location",
    8: "invalid GPU state",
}


RACK = "check the NVLink switch trays and IMEX, then reset the GPUs; reboot the node if that does not help"


def judge(window: Window, limits: Limits) -> Verdict:
    everyone = gpus(window, STATE)
    common = _common_partition(window, everyone)
    findings = [_judge_gpu(window, gpu, limits) for gpu in everyone]
    joined = [_in_partition(window, gpu, common, finding) for gpu, finding in zip(everyone, findings, strict=True)]
    joined = [_with_remedy(window, finding) for finding in joined]
    return conclude(joined, (f"NVLink cluster {common[0]}, clique {common[1]:.0f}",) if common else ())


def _with_remedy(window: Window, finding: GpuFinding | None) -> GpuFinding | None:
    """The nodes of a rack have no fabric manager of their own."""
    model = model_of(window, finding.row.subject) if finding else None
    return finding._replace(remedy=RACK) if finding and model and model.spans_trays else finding


def _partition(window: Window, gpu: Subject) -> tuple[str, float] | None:
    """The cluster and the clique that a GPU has joined: only GPUs of one clique reach each other by NVLink."""
    cluster, clique = window.value(gpu, "gpu_fabric_cluster"), window.number(gpu, "gpu_fabric_clique")
    joined = window.number(gpu, STATE) == COMPLETED
    return (str(cluster), clique) if joined and cluster is not None and clique is not None else None


def _common_partition(window: Window, everyone: tuple[Subject, ...]) -> tuple[str, float] | None:
    found = Counter(place for gpu in everyone if (place := _partition(window, gpu)))
    return found.most_common(1)[0][0] if found else None


def _in_partition(
    window: Window, gpu: Subject, common: tuple[str, float] | None, finding: GpuFinding | None
) -> GpuFinding | None:
    mine = _partition(window, gpu)
    if finding is None or finding.row.health is not Health.PASS or mine is None or common is None:
        return finding
    model = model_of(window, gpu)
    if model and not model.nvswitch and not mine[0].strip("0"):
        text = f"this {model.name} has joined no NVLink cluster: it reaches no GPU outside its own tray"
        return GpuFinding(Row(gpu, Health.FAIL, mine[0], reason=text))
    if mine != common:
        text = f"in NVLink cluster {mine[0]}, clique {mine[1]:.0f}; the other GPUs of this node are in {common[1]:.0f}"
        return GpuFinding(Row(gpu, Health.FAIL, mine[1], common[1], text))
    return finding


def _judge_gpu(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    state = window.number(gpu, STATE)
    if state is None or state == NOT_SUPPORTED:
        return _without_state(window, gpu, state)
    if state != COMPLETED:
        return GpuFinding(_not_joined(window, gpu, state, limits))
    if status := window.number(gpu, "gpu_fabric_status"):
        text = f"joining the NVLink fabric ended with error {status:.0f}"
        return GpuFinding(Row(gpu, Health.FAIL, status, 0.0, text))
    return _by_mask(gpu, int(window.number(gpu, "gpu_fabric_health_mask") or 0))


def _without_state(window: Window, gpu: Subject, state: float | None) -> GpuFinding | None:
    """A GPU that has no fabric, of a model that should have one: switches or set-up are wrong."""
    model = model_of(window, gpu)
    if model is not None and (why := lacking(model, "fabric_state")):
        return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason=why))
    if is_virtual(str(window.value(gpu, "gpu_model") or "")):
        return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason="a virtual GPU does not report a fabric state"))
    if state is None and not window.why_absent(gpu, STATE).startswith(_REFUSED):
        return None
    if (
        model is not None
        and model.fabric_state
        and (not model.nvswitch or window.number(window.node, "nvswitch_devices"))
    ):
        text = f"the driver says that this {model.name} has no NVLink fabric: it can reach no GPU outside its own tray"
        return GpuFinding(Row(gpu, Health.FAIL, NOT_SUPPORTED, COMPLETED, text))
    if state is None:
        return None
    return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason="the driver says that this GPU has no NVLink fabric"))


def _not_joined(window: Window, gpu: Subject, state: float, limits: Limits) -> Row:
    text = f"joining the NVLink fabric {_STATES.get(state, f'is in state {state:.0f}')}"
    runs = window.runs(gpu, STATE)
    patient = state == IN_PROGRESS and window.now - runs[-1].start < limits["joining_seconds"]
    return Row(gpu, Health.DEGRADED if patient else Health.FAIL, state, COMPLETED, text)


def _by_mask(gpu: Subject, mask: int) -> GpuFinding:
    configuration = mask >> _CONFIGURATION_SHIFT & 0xF
    if configuration in _CONFIGURATION:
        text = f"the NVLink fabric is wrongly configured: {_CONFIGURATION[configuration]}"
        return GpuFinding(Row(gpu, Health.FAIL, float(mask), reason=text))
    troubles = [trouble for shift, trouble in _HEALTH.items() if mask >> shift & 0x3 == _TRUE]
    for health, words, failure_class in sorted(troubles, key=lambda trouble: trouble[0] is not Health.FAIL):
        return GpuFinding(Row(gpu, health, float(mask), reason=words), failure_class=failure_class)
    return GpuFinding(Row(gpu, Health.PASS, COMPLETED, COMPLETED))


CHECK = Check(
    name="gpu.fabric_state",
    asks="Has every GPU joined the NVLink fabric, and is the fabric healthy for it?",
    about="gpu",
    part="fabric_state",
    reads=(STATE,),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="check nvidia-fabricmanager and its log, then reset the GPUs; reboot the node if that does not help",
    owner="platform",
    repair=Verb.RESET_GPU,
    span=600.0,
    limits={"joining_seconds": 300.0},
)
