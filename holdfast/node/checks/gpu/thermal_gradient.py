"""Does heat leave a GPU as it should? Core against its memory, a GPU against its tray, and against its own past."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, average, conclude, gpus, history_seconds, model_of, peer_median

CORE = "gpu_temperature_celsius"
MEMORY = "gpu_memory_temperature_celsius"
POWER = "gpu_power_watts"


def judge(window: Window, limits: Limits) -> Verdict:
    everyone = gpus(window, CORE)
    settle = limits["settle_seconds"]
    heat = {gpu: core for gpu in everyone if (core := average(window, gpu, CORE, settle)) is not None}
    power = {gpu: watts for gpu in heat if (watts := average(window, gpu, POWER, settle)) is not None}
    findings = []
    for gpu in heat:
        parts = (
            _against_memory(window, gpu, heat[gpu], limits),
            _against_peers(window, gpu, heat, power, limits),
            _against_its_past(window, gpu, limits),
        )
        bad = next((part for part in parts if part is not None), None)
        findings.append(bad or GpuFinding(Row(gpu, Health.PASS, heat[gpu])))
    alone = len(power) <= limits["least_peers"]
    note = f"{len(power)} GPUs with power and temperature: too few to compare a GPU with its peers"
    return conclude(findings, (note,) if alone and power else ())


def _against_memory(window: Window, gpu: Subject, core: float, limits: Limits) -> GpuFinding | None:
    memory = average(window, gpu, MEMORY, limits["settle_seconds"])
    if not memory:  # a GPU without a sensor in its memory reports 0 C
        return None
    delta = memory - core
    hotter, limit = "memory", limits["memory_above_core_celsius"]
    if delta < 0:
        hotter, limit = "core", limits["core_above_memory_celsius"]
    if abs(delta) <= limit:
        return None
    text = f"{hotter} is {abs(delta):.0f} C hotter than the rest of the package (core {core:.0f}, memory {memory:.0f})"
    return GpuFinding(Row(gpu, Health.DEGRADED, abs(delta), limit, text))


def _against_peers(
    window: Window, gpu: Subject, heat: dict[Subject, float], power: dict[Subject, float], limits: Limits
) -> GpuFinding | None:
    if gpu not in power:
        return None
    spread = max(limits["equal_power_ratio"] * power[gpu], limits["equal_power_watts"])
    model = model_of(window, gpu)
    alike = {
        other: heat[other]
        for other, watts in power.items()
        if abs(watts - power[gpu]) <= spread and model_of(window, other) == model
    }
    middle = peer_median(alike, gpu, int(limits["least_peers"]))
    limit = limits["above_peers_celsius"]
    if middle is None or heat[gpu] - middle <= limit:
        return None
    excess = heat[gpu] - middle
    text = f"{excess:.0f} C hotter than the median of {len(alike) - 1} peers at equal power ({power[gpu]:.0f} W)"
    return GpuFinding(Row(gpu, Health.DEGRADED, excess, limit, text))


def _against_its_past(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    """Warming up at constant power means that cooling is going away. A load step is over after the settle time."""
    span, limit = limits["slope_seconds"], limits["slope_celsius_per_minute"]
    early, late = average(window, gpu, CORE, 60.0, ago=span - 60.0), average(window, gpu, CORE, 60.0)
    if early is None or late is None:
        return None
    slope = (late - early) / ((span - 60.0) / 60.0)
    if slope <= limit or (power := _steady_power(window, gpu, limits)) is None:
        return None
    text = f"warms by {slope:.1f} C a minute at a constant {power:.0f} W (from {early:.0f} to {late:.0f} C)"
    return GpuFinding(Row(gpu, Health.DEGRADED, slope, limit, text))


def _steady_power(window: Window, gpu: Subject, limits: Limits) -> float | None:
    """Its power, if it was constant. Power varies every second, so averages of thirds are compared."""
    whole = limits["slope_seconds"] + limits["settle_seconds"]
    if min(history_seconds(window, gpu, CORE), history_seconds(window, gpu, POWER)) < whole:
        return None
    thirds = [average(window, gpu, POWER, whole / 3, ago=whole / 3 * part) for part in range(3)]
    known = [watts for watts in thirds if watts is not None]
    if len(known) < 3 or max(known) - min(known) > limits["steady_ratio"] * max(known):
        return None
    return known[0]


CHECK = Check(
    name="gpu.thermal_gradient",
    asks="Does a GPU run hotter than its memory, its tray peers or its own past explain?",
    about="gpu",
    part="gpu",
    reads=(CORE, POWER),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="check this GPU's heat sink or cold plate and its coolant branch before it starts to throttle",
    owner="facilities",
    repair=Verb.RESET_GPU,
    span=600.0,
    limits={
        "memory_above_core_celsius": 25.0,
        "core_above_memory_celsius": 30.0,
        "above_peers_celsius": 20.0,
        "least_peers": 3.0,
        "equal_power_ratio": 0.15,
        "equal_power_watts": 30.0,
        "settle_seconds": 120.0,
        "slope_seconds": 300.0,
        "slope_celsius_per_minute": 2.0,
        "steady_ratio": 0.1,
    },
)
