"""Tables of dcgmi other than the diagnostic: `nvlink -s`, `nvlink -e` and `health -c` (also as JSON)."""

import json
import re
from typing import Any

from holdfast.formats.tool_output import NODE, ToolOutput

_ROW = re.compile(r"^\|([^|]*)(?:\|([^|]*))?\|?\s*$")
_UNIT = re.compile(r"^\s*(gpu|physical|nvSwitch|switch)(?:Id| ID)? (\d+):\s*$", re.IGNORECASE)
_STATES = re.compile(r"^\s+((?:[UDX_]\s+)*[UDX_])\s*$")
_GPU = re.compile(r"GPU (\d+)$")
_COUNTERS = {
    "crc": "gpu_nvlink_crc_errors_total",
    "replay": "gpu_nvlink_replay_errors_total",
    "recovery": "gpu_nvlink_recovery_errors_total",
}
_OVERALL = re.compile(r"^\|\s*Overall Health\s*[|:]", re.MULTILINE)
_REMEDY = "drain the node, reset the GPU and run `dcgmi diag -r 3`; replace the GPU if it fails again"
_GOOD = ("healthy", "pass", "ok")
_BAD = ("failure", "fail", "warning", "warn", "unhealthy")


def read_nvlink(text: str) -> ToolOutput | None:
    return _states(text) or _errors(text)


def _states(text: str) -> ToolOutput | None:
    output = ToolOutput("dcgmi nvlink -s")
    place = ""
    for line in text.splitlines():
        if head := _UNIT.match(line):
            place = f"{'gpu' if head[1].lower() == 'gpu' else 'nvswitch'}/{int(head[2])}"
        elif place and (row := _STATES.match(line)):
            links = row[1].split()
            down = [number for number, state in enumerate(links) if state == "D"]
            output.see(place)
            if place.startswith("gpu/"):
                output.add(place, "gpu_nvlink_active_lanes", float(links.count("U")))
                output.add(place, "gpu_nvlink_down_links", ",".join(map(str, down)))
            if down:
                output.complain(
                    place,
                    f"NVLink {', '.join(map(str, down))} is down",
                    remedy="drain, reset the GPUs of this tray together; if a link stays down, inspect the baseboard",
                )
            place = ""
    return output if output.present else None


def _errors(text: str) -> ToolOutput | None:
    if "NVLINK Error Counts" not in text:
        return None
    output = ToolOutput("dcgmi nvlink -e")
    gpu, counts = "", dict[tuple[str, str], float]()
    for line in text.splitlines():
        row = _ROW.match(line)
        if row is None:
            continue
        if head := _GPU.search(row[1].strip()):
            gpu = f"gpu/{int(head[1])}"
            output.see(gpu)
        elif gpu and (count := (row[2] or "").strip()).isdigit():
            word = next((word for word in _COUNTERS if word in row[1].lower()), "")
            if word:
                counts[gpu, _COUNTERS[word]] = counts.get((gpu, _COUNTERS[word]), 0.0) + float(count)
    for (place, name), total in counts.items():
        output.add(place, name, total)
        if total and "replay" not in name:
            output.complain(
                place,
                f"{name.removeprefix('gpu_').removesuffix('_total')}: {total:.0f} since the last reset",
                fails=False,
                remedy="see whether it grows; then drain and reset the GPUs of this tray together",
            )
    return output if output.present else None


def read_health(text: str) -> ToolOutput | None:
    if "Health Monitor Report" not in text and not _OVERALL.search(text):
        return None
    output = ToolOutput("dcgmi health -c")
    if text.lstrip().startswith("{"):
        return _health_json(output, text)
    gpu, overall, pending = NODE, "", ""
    for line in text.splitlines():
        row = _ROW.match(line)
        if row is None:
            continue
        name, value = row[1].strip(), (row[2] or "").strip()
        if name.lower().startswith("overall health"):
            overall = value or name.partition(":")[2].strip()
        elif found := re.match(r"(?:GPU ID:|->)\s*(\d+)\s*$", name):
            gpu = f"gpu/{int(found[1])}"
            output.see(gpu)
        elif value.lower().startswith(_BAD) and name.startswith(("->", "|")) and "system" in name.lower():
            pending = f"{name.lstrip('-> ')}: {value}"
        elif pending and value and not name:
            output.complain(gpu, f"{pending}: {value}", fails="fail" in pending.lower(), remedy=_REMEDY)
            pending = ""
        elif output.complaints and value and not name:
            last = output.complaints[-1]
            output.complaints[-1] = type(last)(last.place, f"{last.text} {value}"[:400], last.fails, last.remedy)
    return _with_overall(output, overall)


def _health_json(output: ToolOutput, text: str) -> ToolOutput | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    overall = str(_find(document, "overall health") or "")
    return _with_overall(output, overall)


def _find(document: Any, name: str) -> Any:
    if isinstance(document, dict):
        for key, value in document.items():
            if str(key).lower() == name:
                return value.get("value", value) if isinstance(value, dict) else value
            if (found := _find(value, name)) is not None:
                return found
    return None


def _with_overall(output: ToolOutput, overall: str) -> ToolOutput | None:
    if not overall:
        return None
    output.lines = 1
    if overall.lower() not in _GOOD and not output.complaints:
        output.complain(NODE, f"DCGM reports {overall}", fails="fail" in overall.lower(), remedy=_REMEDY)
    return output


_NO_ENGINE = re.compile(
    r"^\W{0,8}(?:Error: ?)?((?:unable to establish a connection to the specified host"
    r"|unable to connect to (?:the )?host ?engine)[^\n]{0,200})",
    re.IGNORECASE | re.MULTILINE,
)


def read_no_engine(text: str) -> ToolOutput | None:
    """dcgmi without its host engine: the state of the GPUs is unknown."""
    found = _NO_ENGINE.findall(text)
    if not found:
        return None
    output = ToolOutput("dcgmi")
    output.lines = len(found)
    output.doubt(
        NODE, f"dcgmi could not ask: {found[-1].strip()}; start it (systemctl start nvidia-dcgm) and run it again"
    )
    return output
