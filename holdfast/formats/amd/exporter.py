"""A scrape of AMD's device-metrics-exporter, of RDC or of Omnistat: errors, temperature, power and memory."""

import re

from holdfast.formats.dcgm.exporter import parse
from holdfast.formats.tool_output import ToolOutput

_MARK = re.compile(
    r"^(?:amd_)?(?:gpu_(?:ecc_(?:un)?correct_\w+|junction_temperature|package_power|gfx_activity|health|edge_temperature)"
    r"|rdc_fi_\w+|rocm_(?:ras_\w+_count|average_socket_power_watts|utilization_percentage|temperature_\w*celsius))\{",
    re.MULTILINE | re.IGNORECASE,
)
_SIGNALS = {
    "gpu_junction_temperature": ("gpu_temperature_celsius", 1.0),
    "gpu_memory_temperature": ("gpu_memory_temperature_celsius", 1.0),
    "gpu_package_power": ("gpu_power_watts", 1.0),
    "gpu_gfx_activity": ("gpu_utilization_ratio", 0.01),
    "gpu_total_vram": ("gpu_memory_total_bytes", float(1 << 20)),
    "gpu_used_vram": ("gpu_memory_used_bytes", float(1 << 20)),
    "gpu_ecc_correct_total": ("gpu_ecc_volatile_corrected_total", 1.0),
    "gpu_ecc_uncorrect_total": ("gpu_ecc_volatile_uncorrected_total", 1.0),
    "rocm_average_socket_power_watts": ("gpu_power_watts", 1.0),
    "rocm_utilization_percentage": ("gpu_utilization_ratio", 0.01),
    "rdc_fi_gpu_temp": ("gpu_temperature_celsius", 1e-3),
    "rdc_fi_power_usage": ("gpu_power_watts", 1e-6),
    "rdc_fi_gpu_util": ("gpu_utilization_ratio", 0.01),
    "rdc_fi_ecc_correct_total": ("gpu_ecc_volatile_corrected_total", 1.0),
    "rdc_fi_ecc_uncorrect_total": ("gpu_ecc_volatile_uncorrected_total", 1.0),
}
REMEDY = "drain the node and reset the GPU; replace it if they return"


def read(text: str) -> ToolOutput | None:
    if not _MARK.search(text):
        return None
    output = ToolOutput("AMD metrics exporter")
    for sample in parse(text):
        name = sample.name.lower().removeprefix("amd_")
        number = next((sample.labels[one] for one in ("gpu_id", "gpu_index", "card") if one in sample.labels), "")
        if not number.isdigit() or sample.value is None:
            continue
        place = f"gpu/{int(number)}"
        output.see(place)
        if name in _SIGNALS:
            signal, factor = _SIGNALS[name]
            output.add(place, signal, sample.value * factor)
        ras = re.fullmatch(r"rocm_ras_(\w+)_uncorrectable_count", name)
        block = ras[1] if ras else name.partition("ecc_uncorrect_")[2]
        if block and sample.value:
            where = "" if block == "total" else f" in {block}"
            output.complain(place, f"{sample.value:.0f} uncorrectable ECC errors{where}", remedy=REMEDY)
        elif name == "gpu_health" and sample.value == 0.0:
            output.complain(place, "the exporter reports the GPU as unhealthy", remedy=REMEDY)
    return output if output.present else None
