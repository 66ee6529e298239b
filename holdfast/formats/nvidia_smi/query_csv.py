"""`nvidia-smi --query-gpu=... --format=csv`: any set of columns, with or without units and spaces."""

import csv
import re

from holdfast.formats.nvidia_smi import values
from holdfast.formats.nvidia_smi.fields import FIELDS, key
from holdfast.formats.tool_output import NODE, ToolOutput

_KNOWN = {path.replace(".", "") for field in FIELDS for path in field.paths} | {
    "index",
    "timestamp",
    "count",
    "driverversion",
    "pcibusid",
    "gpubusid",
    "pstate",
    "fanspeed",
    "hostname",
    "computecap",
    "computemode",
    "memoryfree",
    "memoryreserved",
}
_FIRST = re.compile(r"\s*\"?[a-z][\w.]*(?: \[[^\]]*\])?\"?\s*[,;\t]")
_WIDTHS = (",", ";", "\t")
_COMMAND = re.compile(r"--query-gpu[= ]\"?([\w.,]+).{0,300}?--format[= ]\"?csv\S{0,40}?noheader\S*")
_NOTE = re.compile(r"(?<!\s)\s+(?:<[=-]|#|←|//).*$")  # text that somebody added to a row


def read(text: str) -> ToolOutput | None:
    return _with_header(text) or _by_command(text)


def _by_command(text: str) -> ToolOutput | None:
    """Reads rows without a header, after the command that names their columns."""
    for command in _COMMAND.finditer(text):
        columns = [_column(cell) for cell in command[1].split(",")]
        lines = [_NOTE.sub("", line) for line in text[command.end() :].splitlines()[1:]]
        above = next((number for number, line in enumerate(lines) if line.strip()), 0)
        end = next((number for number, line in enumerate(lines[above:], above) if not line.strip()), len(lines))
        if _known(columns) and (output := _rows(columns, lines[above:end], ",", units=False)):
            return output
    return None


def _with_header(text: str) -> ToolOutput | None:
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines[:5000]):
        if not _FIRST.match(line):
            continue
        for delimiter in _WIDTHS:
            columns = [_column(cell) for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]
            if len(columns) >= 2 and _is_header(columns):
                return _rows(columns, lines[number + 1 :], delimiter, "[" in line)
    return None


def _column(cell: str) -> str:
    """'temperature.gpu' and 'clocks.current.sm [MHz]' -> the paths of the other layouts."""
    text = cell.strip()
    name = text.rpartition("[")[0] if text.endswith("]") and "[" in text else text
    return ".".join(key(part) for part in name.split("."))


def _is_header(columns: list[str]) -> bool:
    return _known(columns) >= max(2, len(columns) // 3)


def _known(columns: list[str]) -> int:
    return sum(column.replace(".", "") in _KNOWN for column in columns)


def _rows(columns: list[str], lines: list[str], delimiter: str, units: bool) -> ToolOutput | None:
    output = ToolOutput("nvidia-smi --query-gpu")
    gpus: dict[str, tuple[dict[str, str], bool]] = {}
    for cells in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
        if len(cells) != len(columns):
            if gpus:
                break
            continue
        found = {column: cell.strip().strip("[]") for column, cell in zip(columns, cells, strict=True)}
        if [_column(cell) for cell in cells] == columns:
            continue  # the header again, because the log was restarted
        who = found.get("index") or found.get("uuid") or found.get("pci.busid") or str(len(gpus))
        gpus[who] = (found, units)  # in a loop (-l) the last reading of a GPU counts
    if not gpus:
        return None
    for number, (who, (found, _)) in enumerate(gpus.items()):
        place = f"gpu/{int(who) if who.isdigit() and 'index' in found else number}"
        values.take(output, place, found)
        if address := found.get("pci.busid") or found.get("gpubusid"):
            output.add(place, "gpu_pci_address", values.address_of(address))
        if version := found.get("driverversion"):
            output.version = version
    if output.version:
        output.add(NODE, "driver_version", output.version)
    return output
