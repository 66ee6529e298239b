"""`amd-smi monitor` (a table with any set of columns) and `amd-smi` alone (a box with two lines for each GPU)."""

import re

from holdfast.formats.pci.address import normal
from holdfast.formats.tool_output import NOT_SUPPORTED, ToolOutput

_HEAD = re.compile(
    r"^[^\S\n]*(?:TIMESTAMP\s+)?GPU\s+(?:\S+\s+)*?(?:POWER|GPU_T|GFX_CLK|VRAM_USED|VRAM_USAGE|ENC_UTIL|DEC_UTIL|VCLOCK|MEM_CLOCK|SINGLE_ECC|PCIE_REPLAY|PVIOL)\b.*$",
    re.MULTILINE,
)
_CELL = re.compile(
    r"N/A|(?<![\d.])\d{1,20}(?:\.\d{1,20})?(?:/\s{0,20}\d{1,20}(?:\.\d{1,20})?)?"
    r"(?:\s?(?:W|°C|C|MHz|%|GB|MB|V|Mb/s))?(?=\s|$)"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_BOX = re.compile(
    r"^\|\s*(?P<address>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s(?P<model>[^|\n]*)\|\s*"
    r"(?:N/A|[\d.]+ ?%)\s+"
    r"(?P<heat>N/A|[\d.]+) ?(?:°?C)?\s+(?P<errors>N/A|\d+)\s+(?P<power>N/A|[\d.]+)(?:/(?P<cap>[\d.]+))? ?W?\s*\|\s*\n"
    r"\|\s*(?P<gpu>\d+)\s[^|\n]*\|\s*(?P<busy>N/A|[\d.]+) ?%?",
    re.MULTILINE,
)
_SIGNALS = {
    "POWER": ("gpu_power_watts", 1.0),
    "PWR_CAP": ("gpu_power_limit_watts", 1.0),
    "GPU_T": ("gpu_temperature_celsius", 1.0),
    "MEM_T": ("gpu_memory_temperature_celsius", 1.0),
    "GFX_CLK": ("gpu_clock_sm_hertz", 1e6),
    "GFX%": ("gpu_utilization_ratio", 0.01),
    "MEM_CLOCK": ("gpu_clock_memory_hertz", 1e6),
    "SINGLE_ECC": ("gpu_ecc_volatile_corrected_total", 1.0),
    "DOUBLE_ECC": ("gpu_ecc_volatile_uncorrected_total", 1.0),
}


def read_box(text: str) -> ToolOutput | None:
    output = ToolOutput("amd-smi alone")
    for row in _BOX.finditer(text):
        place = f"gpu/{int(row['gpu'])}"
        output.add(place, "gpu_pci_address", normal(row["address"].lower()))
        output.add(place, "gpu_model", row["model"].strip())
        cells = {"POWER": row["power"], "PWR_CAP": row["cap"] or "N/A", "GPU_T": row["heat"]}
        _take(output, place, cells | {"GFX%": row["busy"], "DOUBLE_ECC": row["errors"]})
    output.lines = len(output.present)
    return output if output.present else None


def read(text: str) -> ToolOutput | None:
    """Reads the last row of each GPU. A partitioned GPU has one row per partition, and the first one has its values."""
    head = _HEAD.search(text)
    if head is None:
        return None
    columns = head[0].split()
    output = ToolOutput("amd-smi monitor")
    latest: dict[str, dict[str, str]] = {}
    for line in text[head.end() :].splitlines():
        row = dict(zip(columns, _CELL.findall(line), strict=False))
        if row.get("GPU", "").isdigit() and len(row) > 1 and row.get("XCP", "0") == "0":
            latest[row["GPU"]] = row
    for number, row in latest.items():
        _take(output, f"gpu/{int(number)}", row)
    return output if latest else None


def _take(output: ToolOutput, place: str, row: dict[str, str]) -> None:
    output.see(place)
    for column, (signal, factor) in _SIGNALS.items():
        if number := _NUMBER.match(row.get(column, "")):
            output.add(place, signal, float(number[0]) * factor)
        elif column in row:
            output.miss(place, signal, NOT_SUPPORTED)
    if (errors := _NUMBER.match(row.get("DOUBLE_ECC", ""))) and float(errors[0]):
        output.complain(place, f"{errors[0]} uncorrectable ECC errors", remedy="drain the node and reset the GPU")
