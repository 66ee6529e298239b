"""`dcgmi discovery -l` and `dcgmi dmon`."""

import re

from holdfast.catalog import xid
from holdfast.formats.tool_output import NODE, ToolOutput

_FOUND = re.compile(r"^[^\S\n]*(\d+) GPUs? found(?: \(\w+\))?\.\s*$", re.MULTILINE)
_ROW = re.compile(
    r"^[^\S\n]*\|[^\S\n]*(\d+)[^\S\n]*\|[^\S\n]*(?:Name:[^\S\n]*)?(\S.{0,120}?|)[^\S\n]*\|(?:[^\S\n]*(\w+)[^\S\n]*\|)?[^\S\n]*$",
    re.MULTILINE,
)
_NO_NAME = "<<<NULL>>>"
_HEAD = re.compile(r"^[^\S\n]*#\s*Entity\s+(.+?)\s*$", re.MULTILINE)
_VALUES = re.compile(r"^[^\S\n]*GPU\s+(\d+)\s+(.+?)\s*$", re.MULTILINE)
_SIGNALS = {
    "TMPTR": ("gpu_temperature_celsius", 1.0),
    "MMTMP": ("gpu_memory_temperature_celsius", 1.0),
    "POWER": ("gpu_power_watts", 1.0),
    "GPUTL": ("gpu_utilization_ratio", 0.01),
    "SMCLK": ("gpu_clock_sm_hertz", 1e6),
    "MMCLK": ("gpu_clock_memory_hertz", 1e6),
    "EDVTL": ("gpu_ecc_volatile_uncorrected_total", 1.0),
}
GRAVE_ACTIONS = ("restart_node", "drain_and_reset", "reset_gpu", "drain_p2p")


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
        if model == _NO_NAME:
            output.complain(
                place, "DCGM cannot read its name", fails=False, remedy="see nv-hostengine's log and restart it"
            )
        else:
            output.add(place, "gpu_model", model)
        if state and state.lower() not in ("ok", "healthy", "active"):
            output.complain(place, f"DCGM reports {state}", fails="fail" in state.lower())
    return output


def read_dmon(text: str) -> ToolOutput | None:
    """Reads the last row of every GPU."""
    head = _HEAD.search(text)
    if head is None:
        return None
    output = ToolOutput("dcgmi dmon")
    latest = {number: cells.split() for number, cells in _VALUES.findall(text[head.end() :])}
    for number, cells in latest.items():
        place = f"gpu/{int(number)}"
        output.see(place)
        for column, cell in zip(head[1].split(), cells, strict=False):
            if not re.fullmatch(r"\d+(?:\.\d+)?", cell):
                continue
            if column in _SIGNALS:
                signal, factor = _SIGNALS[column]
                output.add(place, signal, float(cell) * factor)
            elif column == "XIDER" and float(cell):
                last_xid(output, place, int(float(cell)))
    output.lines = len(latest)
    return output if latest else None


def last_xid(output: ToolOutput, place: str, code: int) -> None:
    """Evaluates the last Xid of a GPU, which DCGM keeps without its time: severe ones fail; an Xid caused by an
    application is no fault."""
    fact = xid.find(code)
    if fact.action not in ("ignore", "restart_app"):
        grave = fact.known and not fact.not_alone and fact.action in GRAVE_ACTIONS
        text = f"the last Xid is {fact.code}: {fact.meaning}"
        output.complain(place, text, fails=grave, remedy=fact.action.replace("_", " "))
