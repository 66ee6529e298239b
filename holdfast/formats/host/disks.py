"""`nvme smart-log` and `smartctl`, text and JSON: whether a disk is failing, worn or losing data."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.formats import json_document
from holdfast.formats.tool_output import NODE, ToolOutput

_NVME_HEAD = re.compile(r"Smart Log for NVME device:\s*(\S+)", re.IGNORECASE)
_LINE = re.compile(r"^[^\S\n]*([A-Za-z][\w /()-]*?)\s*:\s+(.*?)\s*$", re.MULTILINE)
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|-?\d[\d,.]*")
_ATTRIBUTE = re.compile(r"^[^\S\n]*\d+\s+(\w+)\s+0x[0-9a-f]{4}(?:\s+\S+){6}\s+(\d+)\b", re.MULTILINE)
_OVERALL = re.compile(r"SMART (?:overall-health self-assessment test result|Health Status):\s*(\S+)")
_DEVICE = re.compile(r"(?:smartctl|nvme)\b[^\n]*\s/dev/(\S+)")
_BAD_ATTRIBUTES = ("Reallocated_Sector_Ct", "Current_Pending_Sector", "Offline_Uncorrectable", "Reported_Uncorrect")
_NAMES = {
    "criticalwarning": "critical",
    "availablespare": "spare",
    "availspare": "spare",
    "availablesparethreshold": "least_spare",
    "sparethresh": "least_spare",
    "percentageused": "used",
    "percentused": "used",
    "mediaerrors": "media_errors",
    "mediaanddataintegrityerrors": "media_errors",
}
WORN_PERCENT = 100.0
REPLACE = "copy its data and replace the disk"


def read(text: str) -> ToolOutput | None:
    return _json(text) or _nvme_text(text) or _smartctl_text(text)


def _json(text: str) -> ToolOutput | None:
    document = json_document.find(text)
    if not isinstance(document, dict):
        return None
    nvme = document.get("nvme_smart_health_information_log", document)
    if "critical_warning" not in nvme and "smart_status" not in document:
        return None
    output = ToolOutput("smartctl" if "smartctl" in document else "nvme smart-log")
    device = document.get("device")
    name = str(device.get("name", "")) if isinstance(device, dict) else ""
    facts = {_NAMES[key]: number for field, value in nvme.items() if (key := _key(field)) in _NAMES
             and (number := _plain(value)) is not None}  # fmt: skip
    _judge(output, name.removeprefix("/dev/") or "disk", facts)
    _attributes(output, name or "disk", dict(_table(document)))
    status = document.get("smart_status")
    if isinstance(status, dict) and status.get("passed") is False:
        output.complain(NODE, f"{name or 'disk'}: SMART reports that it is failing", remedy=REPLACE)
    return output


def _plain(value: Any) -> float | None:
    if isinstance(value, dict):
        value = value.get("value")
    return float(value) if isinstance(value, (int, float)) else None


def _nvme_text(text: str) -> ToolOutput | None:
    if not re.search(r"^\s*critical_warning\s*:", text, re.MULTILINE):
        return None
    output = ToolOutput("nvme smart-log")
    head = _NVME_HEAD.search(text)
    _judge(output, head[1] if head else "nvme", _facts(text))
    return output


def _smartctl_text(text: str) -> ToolOutput | None:
    overall = _OVERALL.search(text)
    attributes = {name: int(raw) for name, raw in _ATTRIBUTE.findall(text)}
    facts = _facts(text) if "Critical Warning:" in text else {}
    if overall is None and not (attributes.keys() & set(_BAD_ATTRIBUTES)) and not facts:
        return None
    output = ToolOutput("smartctl")
    device = _DEVICE.search(text)
    name = device[1] if device else "disk"
    _judge(output, name, facts)
    if overall and overall[1].rstrip("!").upper() not in ("PASSED", "OK"):
        output.complain(NODE, f"{name}: SMART reports {overall[1]}", remedy=REPLACE)
    _attributes(output, name, attributes)
    return output


def _attributes(output: ToolOutput, disk: str, attributes: Mapping[str, int]) -> None:
    for attribute in _BAD_ATTRIBUTES:
        if attributes.get(attribute):
            output.complain(NODE, f"{disk}: {attribute} is {attributes[attribute]}", fails=False, remedy=REPLACE)


def _table(document: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The attributes of an ATA disk in smartctl's JSON."""
    for _, entry in json_document.walk(document.get("ata_smart_attributes")):
        raw = entry.get("raw")
        if isinstance(raw, dict) and isinstance(raw.get("value"), int):
            yield str(entry.get("name")), raw["value"]


def _facts(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for field, value in _LINE.findall(text):
        if (name := _NAMES.get(_key(field))) and (number := _NUMBER.match(value)):
            bare = number[0].replace(",", "")
            found[name] = float(int(bare, 16)) if bare.startswith("0x") else float(bare.rstrip("."))
    return found


def _key(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _judge(output: ToolOutput, disk: str, facts: dict[str, float]) -> None:
    output.lines = max(1, len(facts))
    if facts.get("critical"):
        output.complain(NODE, f"{disk}: critical warning {int(facts['critical']):#x}", remedy=REPLACE)
    if "spare" in facts and facts["spare"] < facts.get("least_spare", 0.0):
        output.complain(NODE, f"{disk}: {facts['spare']:.0f} % spare blocks left", remedy=REPLACE)
    if facts.get("used", 0.0) >= WORN_PERCENT:
        output.complain(NODE, f"{disk}: {facts['used']:.0f} % of its rated life used", fails=False, remedy=REPLACE)
    if facts.get("media_errors"):
        output.complain(NODE, f"{disk}: {facts['media_errors']:.0f} media errors", fails=False, remedy=REPLACE)
