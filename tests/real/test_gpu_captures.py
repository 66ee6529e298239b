"""Healthy GPUs of real machines, as `nvidia-smi -q` shows them, wake no GPU check; a real pending row does."""

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal, Value
from holdfast.node.checks.gpu import clocks as gpu_clocks
from holdfast.node.checks.gpu import ecc as gpu_ecc
from holdfast.node.checks.gpu import fabric_state as gpu_fabric_state
from holdfast.node.checks.gpu import lost as gpu_lost
from holdfast.node.checks.gpu import memory_headroom as gpu_memory_headroom
from holdfast.node.checks.gpu import power as gpu_power
from holdfast.node.checks.gpu import recovery_action as gpu_recovery_action
from holdfast.node.checks.gpu import rows as gpu_rows
from holdfast.node.checks.gpu import temperature as gpu_temperature
from holdfast.node.checks.gpu import thermal_gradient as gpu_thermal_gradient
from holdfast.node.checks.gpu import throttle as gpu_throttle

from . import captures

DATA = captures.DATA / "nvidia_smi"
pytestmark = captures.needs(DATA)
GPU = "node/n1/gpu/0"
ALWAYS_ANSWERED = (gpu_lost, gpu_power, gpu_temperature, gpu_thermal_gradient, gpu_throttle, gpu_clocks)
DATA_CENTRE = (gpu_ecc, gpu_rows, gpu_fabric_state, gpu_recovery_action, gpu_memory_headroom)

MIB = float(1 << 20)
PLACES: dict[str, tuple[str, float]] = {  # signal -> where nvidia-smi prints it, and its unit
    "gpu_temperature_celsius": ("Temperature/GPU Current Temp", 1),
    "gpu_thermal_margin_celsius": ("Temperature/GPU T.Limit Temp", 1),
    "gpu_slowdown_margin_celsius": ("Temperature/GPU Slowdown T.Limit Temp", 1),
    "gpu_slowdown_temperature_celsius": ("Temperature/GPU Slowdown Temp", 1),
    "gpu_memory_temperature_celsius": ("Temperature/Memory Current Temp", 1),
    "gpu_power_watts": ("GPU Power Readings/Average Power Draw", 1),
    "gpu_power_limit_watts": ("GPU Power Readings/Current Power Limit", 1),
    "gpu_power_default_limit_watts": ("GPU Power Readings/Default Power Limit", 1),
    "gpu_clock_sm_hertz": ("Clocks/SM", 1e6),
    "gpu_clock_sm_max_hertz": ("Max Clocks/SM", 1e6),
    "gpu_clock_memory_hertz": ("Clocks/Memory", 1e6),
    "gpu_clock_memory_max_hertz": ("Max Clocks/Memory", 1e6),
    "gpu_utilization_ratio": ("Utilization/GPU", 0.01),
    "gpu_memory_total_bytes": ("FB Memory Usage/Total", MIB),
    "gpu_memory_used_bytes": ("FB Memory Usage/Used", MIB),
    "gpu_ecc_mode": ("ECC Mode/Current", 1),
    "gpu_ecc_volatile_corrected_dram_total": ("ECC Errors/Volatile/DRAM Correctable", 1),
    "gpu_ecc_volatile_uncorrected_dram_total": ("ECC Errors/Volatile/DRAM Uncorrectable", 1),
    "gpu_ecc_volatile_corrected_sram_total": ("ECC Errors/Volatile/SRAM Correctable", 1),
    "gpu_ecc_sram_threshold_exceeded": ("ECC Errors/Aggregate/SRAM Threshold Exceeded", 1),
    "gpu_remapped_rows_uncorrectable": ("Remapped Rows/Uncorrectable Error", 1),
    "gpu_remapped_rows_pending": ("Remapped Rows/Pending", 1),
    "gpu_remapped_rows_failure": ("Remapped Rows/Remapping Failure Occurred", 1),
    "gpu_remap_none_banks": ("Remapped Rows/Bank Remap Availability Histogram/None", 1),
    "gpu_recovery_action": ("GPU Recovery Action", 1),
    "gpu_fabric_state": ("Fabric/State", 1),
    "gpu_fabric_status": ("Fabric/Status", 1),
}
EVENTS = {
    "Idle": 0x1,
    "Applications Clocks Setting": 0x2,
    "SW Power Cap": 0x4,
    "HW Slowdown": 0x8,
    "SW Thermal Slowdown": 0x20,
    "HW Slowdown/HW Thermal Slowdown": 0x40,
    "HW Slowdown/HW Power Brake Slowdown": 0x80,
}
WORDS = {"None": 0.0, "No": 0.0, "Yes": 1.0, "Enabled": 1.0, "Disabled": 0.0, "Completed": 3.0, "Success": 0.0}


def outline(text: str) -> dict[str, str]:
    """Indented 'key : value' lines as paths; the first GPU only, for a later one would overwrite it."""
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        key, _, value = line.strip().partition(" : ")
        depth = len(line) - len(line.lstrip())
        above = [level for level in above if level[0] < depth]
        if depth:
            above.append((depth, key.strip()))
            found.setdefault("/".join(name for _, name in above), value.strip())
    return found


def number(text: str, unit: float) -> float | None:
    if text in WORDS:
        return WORDS[text]
    head = text.split(" ")[0]
    return float(head) * unit if head.replace(".", "").lstrip("-").isdecimal() else None


def signals(text: str) -> dict[str, Value]:
    shown = outline(text)
    found: dict[str, Value] = {"gpu_lost": 0.0, "gpu_model": shown["Product Name"]}
    for name, (place, unit) in PLACES.items():
        text_of = shown.get(place, "N/A")
        if text_of == "N/A":  # older GPUs average nothing
            text_of = shown.get(place.replace("Average", "Instantaneous"), "N/A")
        value = number(text_of, unit)
        if value is not None:
            found[name] = value
    active = (bit for event, bit in EVENTS.items() if shown.get(f"Clocks Event Reasons/{event}") == "Active")
    found["gpu_clock_event_reasons"] = float(sum(active))
    found["gpu_processes"] = 0.0 if shown.get("Processes", "") == "None" else 1.0
    return found


def judged(text: str, seconds: float = 600.0) -> dict[str, Health]:
    """What the checks say of a GPU that looks like this for some minutes."""
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({GPU}))
    seen = [Signal(GPU, name, value) for name, value in signals(text).items()]
    for tick in range(int(seconds // 10) + 1):
        history.add(Reading(source="nvml", at=tick * 10.0, signals=seen))
    checks = [module.CHECK for module in (*ALWAYS_ANSWERED, *DATA_CENTRE)]
    return {check.name: check(history.window(seconds, check.span)).health for check in checks}


def queries() -> list[tuple[str, str]]:
    """Every 'nvidia-smi -q' of the captures: they begin with 'Timestamp' and end where the next command is named."""
    found = []
    for path in sorted((DATA / "captures").glob("linux*.txt")) if DATA.is_dir() else ():
        for count, part in enumerate(path.read_text(errors="replace").split("NVSMI LOG")[1:]):
            found.append((f"{path.stem} {('idle', 'load')[count]}", part.split("\n# ", 1)[0]))
    return found


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in queries()])
def test_a_healthy_real_gpu_wakes_no_check(text: str) -> None:
    healths = judged(text)
    assert not {name for name, health in healths.items() if health in (Health.FAIL, Health.DEGRADED)}
    assert {healths[module.CHECK.name] for module in ALWAYS_ANSWERED} == {Health.PASS}
    if "H100" in text or "L40S" in text:
        blind = {module.CHECK.name for module in DATA_CENTRE if healths[module.CHECK.name] is Health.UNKNOWN}
        assert blind == ({"gpu.rows"} if "MIG Device" in text else set())  # a driver tells no rows of a split GPU


def test_captures_are_found() -> None:
    assert len(queries()) >= 4


def test_the_pending_row_of_a_real_a100_degrades_it() -> None:
    healths = judged((DATA / "mlengineering_a100_remap_pending.txt").read_text())
    assert healths["gpu.rows"] is Health.DEGRADED
