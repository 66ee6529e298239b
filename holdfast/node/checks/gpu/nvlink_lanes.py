"""Are all NVLink lanes of a GPU up? One missing lane slows every collective."""

from holdfast.catalog.gpus import GpuModel, lacking
from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, expected_number, gpus, model_of

ACTIVE = "gpu_nvlink_active_lanes"
RACK = "drain the node and reset its GPUs; if a lane stays down, check the NVLink switch trays and the cable cartridge"
POWER_CYCLE = "drain the node and power-cycle the board; if the C2C link stays down, replace it"


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_gpu(window, gpu) for gpu in gpus(window, ACTIVE))


def _judge_gpu(window: Window, gpu: Subject) -> GpuFinding | None:
    if down := window.value(gpu, "gpu_c2c_down_links"):
        count = window.number(gpu, "gpu_c2c_links") or 0.0
        up = count - (str(down).count(",") + 1)
        text = f"{up:.0f} of {count:.0f} C2C links to the CPU are up; down: {down}"
        return GpuFinding(Row(gpu, Health.FAIL, up, count, text), POWER_CYCLE, repair=Verb.REBOOT)
    model, active = model_of(window, gpu), window.number(gpu, ACTIVE)
    if model and (why := lacking(model, "nvlink")):
        return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason=why))
    if window.number(gpu, "gpu_mig_mode") and (split := _split(window, gpu, model, active)):
        return split
    if active is None:
        return unreported(window, gpu, model) or (
            _without_bridge(gpu, model) if model and _silent(window, gpu) else None
        )
    lanes = _lanes(window, gpu, model)
    if lanes is None:
        name = window.value(gpu, "gpu_model")
        text = f"neither catalog nor manifest says how many lanes a {name} has; {active:.0f} are up"
        return GpuFinding(Row(gpu, Health.UNKNOWN, active, reason=text))
    if lanes == 0:
        return _without_lanes(window, gpu, model)
    if active < lanes:
        down = window.value(gpu, "gpu_nvlink_down_links")
        links = model.link_name if model else "NVLink lanes"
        text = f"{active:.0f} of {lanes:.0f} {links} are up" + (f"; down: {down}" if down else "")
        return GpuFinding(Row(gpu, Health.FAIL, active, lanes, text), RACK if model and model.spans_trays else "")
    return GpuFinding(Row(gpu, Health.PASS, active, lanes))


def unreported(window: Window, gpu: Subject, model: GpuModel | None) -> GpuFinding | None:
    """An AMD GPU whose driver does not report its links, as before gpu_metrics 1.7."""
    if model is None or model.vendor != "AMD" or not _silent(window, gpu):
        return None
    text = "this amdgpu driver does not report the state of XGMI links (gpu_metrics 1.7 and later do)"
    return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason=text))


def _lanes(window: Window, gpu: Subject, model: GpuModel | None) -> float | None:
    """The expected number of lanes. With bridges: from the manifest, or the most that a sibling has."""
    if (reported := expected_number(window, gpu, ACTIVE)) is not None:
        return reported
    if model is None:
        return None
    if not model.nvlink_optional:
        return float(model.nvlink_lanes)
    return max(lanes for other, lanes in window.values(ACTIVE).items() if model_of(window, other) == model)


def _split(window: Window, gpu: Subject, model: GpuModel | None, active: float | None) -> GpuFinding | None:
    """Programs on MIG instances cannot use NVLink, so lanes that are off or not reported do not count as missing."""
    if _silent(window, gpu):
        text = "split by MIG: the driver does not report its NVLink lanes, and no program can use them"
    elif active == 0 and model and model.nvlink_off_under_mig:
        text = f"catalog: the {model.name} has its NVLink lanes off while it is split by MIG"
    else:
        return None
    return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason=text))


def _without_lanes(window: Window, gpu: Subject, model: GpuModel | None) -> GpuFinding | None:
    if expected_number(window, gpu, ACTIVE) is None and model:
        return _without_bridge(gpu, model)
    return GpuFinding(
        Row(gpu, Health.NOT_APPLICABLE, reason="the manifest expects no NVLink lane of this GPU to be up")
    )


def _silent(window: Window, gpu: Subject) -> bool:
    """The GPU answers and reports no NVLink."""
    return window.number(gpu, "gpu_lost") == 0.0 and window.why_absent(gpu, ACTIVE).startswith("not supported")


def _without_bridge(gpu: Subject, model: GpuModel) -> GpuFinding | None:
    if not model.nvlink_optional:
        return None
    text = f"catalog: the NVLink bridge of the {model.name} is optional, and no lane is up on any"
    return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason=text))


CHECK = Check(
    name="nvlink.lanes",
    asks="Are all NVLink lanes that this GPU model has up?",
    about="gpu",
    part="nvlink",
    reads=(ACTIVE,),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="drain the node and reset all GPUs together; if a link stays down, inspect baseboard, bridge and switch",
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=300.0,
)
