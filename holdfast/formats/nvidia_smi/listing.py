"""`nvidia-smi -L`, `topo -m` and `dmon`: GPUs, their links, and their current load."""

import re
from collections import Counter

from holdfast.formats.tool_output import ToolOutput

_GPU = re.compile(r"^[^\S\n]*GPU (\d+): (\S.*?) \(UUID: (GPU-[0-9a-f-]+)\)\s*$", re.MULTILINE)
_TOPOLOGY = re.compile(r"^[^\S\n]*GPU\d+[^\S\n].*CPU Affinity", re.MULTILINE)
_ROW = re.compile(r"^[^\S\n]*(GPU\d+)((?:\s+(?:X|NV\d+|SYS|NODE|PHB|PXB|PIX|PSB))+)(?:\s|$)", re.MULTILINE)
_DMON = re.compile(r"^#\s*gpu\s+.*$", re.MULTILINE)
_DMON_SIGNALS = {
    "pwr": ("gpu_power_watts", 1.0),
    "gtemp": ("gpu_temperature_celsius", 1.0),
    "mtemp": ("gpu_memory_temperature_celsius", 1.0),
    "sm": ("gpu_utilization_ratio", 0.01),
    "mclk": ("gpu_clock_memory_hertz", 1e6),
    "pclk": ("gpu_clock_sm_hertz", 1e6),
    "sbecc": ("gpu_ecc_volatile_corrected_total", 1.0),
    "dbecc": ("gpu_ecc_volatile_uncorrected_total", 1.0),
}
MOST_ALIKE = 0.8  # share of the pairs: below it the machine was not built with a single kind of link


def read_list(text: str) -> ToolOutput | None:
    found = _GPU.findall(text)
    if not found:
        return None
    output = ToolOutput("nvidia-smi -L")
    for number, model, uuid in found:
        place = f"gpu/{int(number)}"
        output.see(place)
        output.add(place, "gpu_model", model)
        output.add(place, "gpu_uuid", uuid)
    return output


def read_topology(text: str) -> ToolOutput | None:
    """Reads the matrix. On a machine with one kind of link, a GPU with fewer links to all others has lost some."""
    rows = {name: cells.split() for name, cells in _ROW.findall(text)}
    if not rows or not (_TOPOLOGY.search(text) or _are_square(rows)):
        return None
    output = ToolOutput("nvidia-smi topo -m")
    output.lines = len(rows)
    links = {name: [cell for cell in cells[: len(rows)] if cell != "X"] for name, cells in rows.items()}
    counts = Counter(cell for cells in links.values() for cell in cells)
    # the wider of two equally frequent ones
    most = max(counts, key=lambda kind: (counts[kind], len(kind), kind), default="")
    for name, cells in links.items():
        output.see(f"gpu/{int(name[3:])}")
        other = [cell for cell in cells if cell != most]
        if (
            most.startswith("NV")
            and len(other) == len(cells)
            and counts[most] >= MOST_ALIKE * _most_if_one_differs(len(rows))
        ):
            text = f"{', '.join(sorted(set(other)))} to every other GPU, where the others have {most}"
            output.complain(f"gpu/{int(name[3:])}", text, remedy="look at this GPU's NVLinks: nvidia-smi nvlink -s")
    return output


def _are_square(rows: dict[str, list[str]]) -> bool:
    """Whether these are rows of the matrix without its head: each GPU has X in its own column."""
    return len(rows) > 1 and all(cells.index("X") == int(name[3:]) for name, cells in rows.items() if "X" in cells)


def _most_if_one_differs(gpus: int) -> int:
    return (gpus - 1) * (gpus - 2)


def read_dmon(text: str) -> ToolOutput | None:
    head = _DMON.search(text)
    if head is None:
        return None
    columns = head[0].lstrip("# ").split()
    output = ToolOutput("nvidia-smi dmon")
    latest: dict[str, list[str]] = {}
    for line in text[head.end() :].splitlines():
        cells = line.split()
        if cells and cells[0].isdigit() and len(cells) <= len(columns):
            latest[cells[0]] = cells
    for number, cells in latest.items():
        place = f"gpu/{int(number)}"
        output.see(place)
        for column, cell in zip(columns, cells, strict=False):
            if column in _DMON_SIGNALS and re.fullmatch(r"\d+(?:\.\d+)?", cell):
                signal, factor = _DMON_SIGNALS[column]
                output.add(place, signal, float(cell) * factor)
    return output if output.present else None
