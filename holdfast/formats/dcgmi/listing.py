"""`dcgmi discovery -l` and `dcgmi dmon`."""

import re

from holdfast.formats.tool_output import NODE, ToolOutput

_FOUND = re.compile(r"^\s*(\d+) GPUs? found\.\s*$", re.MULTILINE)
_ROW = re.compile(r"^\s*\|\s*(\d+)\s*\|\s*(?:Name:\s*)?(.*?)\s*\|(?:\s*(\w+)\s*\|)?\s*$", re.MULTILINE)
_HEAD = re.compile(r"^\s*#\s*Entity\s+(.+?)\s*$", re.MULTILINE)
_VALUES = re.compile(r"^\s*GPU\s+(\d+)\s+(.+?)\s*$", re.MULTILINE)
_SIGNALS = {
    "TMPTR": ("gpu_temperature_celsius", 1.0),
    "MMTMP": ("gpu_memory_temperature_celsius", 1.0),
    "POWER": ("gpu_power_watts", 1.0),
    "GPUTL": ("gpu_utilization_ratio", 0.01),
    "SMCLK": ("gpu_clock_sm_hertz", 1e6),
    "MMCLK": ("gpu_clock_memory_hertz", 1e6),
}


def read_discovery(text: str) -> ToolOutput | None:
    found = _FOUND.search(text)
    if found is None:
        return None
    output = ToolOutput("dcgmi discovery")
    output.lines = 1
    if found[1] == "0":
        output.complain(NODE, "DCGM finds no GPU", remedy="check the driver and nv-hostengine")
    for number, model, state in _ROW.findall(text[found.end() :]):
        if not model or model.startswith(("PCI Bus", "Device UUID", "Device Information")):
            continue
        place = f"gpu/{int(number)}"
        output.see(place)
        output.add(place, "gpu_model", model)
        if state and state.lower() not in ("ok", "healthy", "active"):
            output.complain(place, f"DCGM reports {state}", fails="fail" in state.lower())
    return output


def read_dmon(text: str) -> ToolOutput | None:
    """The last row of every GPU counts."""
    head = _HEAD.search(text)
    if head is None:
        return None
    output = ToolOutput("dcgmi dmon")
    latest = {number: cells.split() for number, cells in _VALUES.findall(text[head.end() :])}
    for number, cells in latest.items():
        place = f"gpu/{int(number)}"
        output.see(place)
        for column, cell in zip(head[1].split(), cells, strict=False):
            if column in _SIGNALS and re.fullmatch(r"\d+(?:\.\d+)?", cell):
                signal, factor = _SIGNALS[column]
                output.add(place, signal, float(cell) * factor)
    output.lines = len(latest)
    return output if latest else None
