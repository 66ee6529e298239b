"""`ethtool -m` (alarms of a transceiver, text and JSON) and `ethtool` without options (the link)."""

import re

from holdfast.formats import json_document
from holdfast.formats.tool_output import ToolOutput

_FLAG = re.compile(
    r"^[^\S\n]*([A-Z][\w /()-]*? (?:alarm|warning)(?: +\(Chan(?:nel)? \d+\))?)\s*:\s*(On|Off|on|off)\b", re.MULTILINE
)
_FLAGS = re.compile(r"^[^\S\n]*(Alarm|Warning) flags?\s*:\s*(\S.*?)\s*$", re.MULTILINE)
_NONE = re.compile(r"(?i)none|no|off|n/a|-|0x0+|0")
_MODULE = re.compile(
    r"^[^\S\n]*(?:Identifier\s*:\s*0x|Module temperature\s*:|Laser (?:bias current|output power)\b.*:|Vendor PN\s*:)",
    re.M,
)
_JSON = re.compile(r'"(?:identifier_description|laser_\w+_(?:alarm|warning)|Module \w+ (?:high|low) alarm)"')
_COMMAND = re.compile(r"ethtool\s+(?:-m\s+)?(\w\S*)\s*$", re.MULTILINE)
_SETTINGS = re.compile(r"^Settings for (\S+?):\s*$", re.MULTILINE)
_LINK = re.compile(r"^[^\S\n]*Link detected:\s*(yes|no)(?:\s*\((.*?)\))?", re.MULTILINE)
_SPEED = re.compile(r"^[^\S\n]*Speed:\s*(\d+)Mb/s", re.MULTILINE)
CHECK = "clean or replace cable and transceiver"


def read_module(text: str) -> ToolOutput | None:
    flags = [(" ".join(name.split()), state.lower() == "on") for name, state in _FLAG.findall(text)]
    if not flags and not (len(_MODULE.findall(text)) >= 2 or _JSON.search(text)):
        return None
    flags += _json_flags(text)
    flags += [(f"{what} ({kind.lower()})", True) for kind, what in _FLAGS.findall(text) if not _NONE.fullmatch(what)]
    output = ToolOutput("ethtool -m")
    command = _COMMAND.search(text)
    place = f"nic/{command[1] if command else 'unknown'}/1"
    output.see(place)
    output.lines = max(1, len(flags))
    for name, on in flags:
        if on:
            output.complain(place, f"transceiver: {name}", fails="alarm" in name, remedy=CHECK)
    return output


def _json_flags(text: str) -> list[tuple[str, bool]]:
    found = []
    for _, entry in json_document.walk(json_document.find(text)):
        for name, value in entry.items():
            if name.endswith(("alarm", "warning")):
                on = any(one is True for one in value) if isinstance(value, list) else value is True
                found.append((name.replace("_", " "), on))
    return found


def read_link(text: str) -> ToolOutput | None:
    parts = _SETTINGS.split(text)
    if len(parts) < 3:
        return None
    output = ToolOutput("ethtool")
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        place = f"nic/{name}/1"
        output.see(place)
        output.lines += 1
        if speed := _SPEED.search(body):
            output.add(place, "port_rate_bytes_per_second", float(speed[1]) * 1e6 / 8)
        link = _LINK.search(body)
        if link and link[1] == "no":
            reason = f": {link[2]}" if link[2] else ""
            output.complain(place, f"no link{reason}", fails=False, remedy="check cable and switch port")
    return output
