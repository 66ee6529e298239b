"""`mlxlink`, text and JSON: state, error rates and the tool's own recommendation for one port."""

import re
from typing import Any

from holdfast.formats import json_document
from holdfast.formats.tool_output import ToolOutput

_HEAD = re.compile(
    r"^[^\S\n]*(?:Operational Info|Troubleshooting Info|Physical Counters and BER Info)\s*$", re.MULTILINE
)
_LINE = re.compile(r"^[^\S\n]*([A-Z][\w \[\]/().-]*?)\s*:\s?(.*?)\s*$", re.MULTILINE)
_DEVICE = re.compile(r"mlxlink\b[^\n]*?\s-d\s+(\S+)")
_RATE = re.compile(r"(\d+(?:\.\d+)?)[eE]-(\d+)")
_FINE = ("", "no issue was observed", "n/a")
_UP = ("active", "linkup", "up")
MOST_EFFECTIVE_RATE = 1e-12  # after correction; the limit of NVIDIA's cable validation
MANY_LINK_DOWNS = 10
CHECK = "clean or replace cable and transceiver"


def read(text: str) -> ToolOutput | None:
    fields = _json(text) or _text(text)
    if not fields:
        return None
    output = ToolOutput("mlxlink")
    device = _DEVICE.search(text)
    place = f"nic/{device[1].rsplit('/', 1)[-1] if device else 'unknown'}/1"
    output.see(place)
    output.lines = len(fields)
    _judge(output, place, fields)
    return output


def _text(text: str) -> dict[str, str]:
    if not _HEAD.search(text):
        return {}
    return {name.lower(): value for name, value in _LINE.findall(text)}


def _json(text: str) -> dict[str, str]:
    document = json_document.find(text)
    if not isinstance(document, dict) or "Operational Info" not in text:
        return {}
    found: dict[str, str] = {}
    for _, entry in json_document.walk(document):
        found |= {str(name).lower(): _plain(value) for name, value in entry.items() if not isinstance(value, dict)}
    return found


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _judge(output: ToolOutput, place: str, fields: dict[str, str]) -> None:
    state = fields.get("state", "")
    recommendation = fields.get("recommendation", "")
    if state and state.lower().replace(" ", "") not in _UP:
        output.complain(
            place, f"port is {state}: {recommendation or 'no reason given'}", remedy="check cable and switch port"
        )
    elif recommendation.lower().rstrip(".") not in _FINE:
        output.complain(place, f"mlxlink reports: {recommendation}", fails=False, remedy=CHECK)
    for name in ("effective physical ber", "symbol ber"):
        if (rate := _rate(fields.get(name, ""))) is not None and rate > MOST_EFFECTIVE_RATE:
            output.complain(place, f"{name.upper()} is {rate:.0e}, above {MOST_EFFECTIVE_RATE:.0e}", fails=False,
                            remedy=CHECK)  # fmt: skip
    downs = fields.get("link down counter", "")
    if downs.isdigit() and int(downs) > MANY_LINK_DOWNS:
        output.complain(place, f"the link went down {downs} times", fails=False, remedy=CHECK)


def _rate(text: str) -> float | None:
    """A rate. The tool prints 15E-255 if nothing was counted."""
    found = _RATE.match(text)
    return float(f"{found[1]}e-{found[2]}") if found and int(found[2]) < 200 else None
