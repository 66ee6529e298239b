"""Redfish JSON of any service: resources that have a `Status` with a health, and log entries."""

from typing import Any

from holdfast.formats import json_document
from holdfast.formats.tool_output import NODE, ToolOutput

_WORSE = {"warning": False, "critical": True}
_GONE = ("Absent", "Disabled")


def read(text: str) -> ToolOutput | None:
    if "@odata." not in text:
        return None
    document = json_document.find(text)
    if not isinstance(document, (dict, list)):
        return None
    output = ToolOutput("Redfish")
    for above, entry in json_document.walk(document):
        output.lines += 1
        name = str(entry.get("Name") or entry.get("Id") or entry.get("MemberId") or "/".join(above[-2:]) or "resource")
        _status(output, name, entry.get("Status"))
        if "Message" in entry and (fails := _WORSE.get(str(entry.get("Severity", "")).lower())) is not None:
            output.complain(NODE, f"{name}: {entry['Message']}", fails=fails)
        conditions = (entry.get("Status") or {}).get("Conditions") if isinstance(entry.get("Status"), dict) else None
        for condition in conditions if isinstance(conditions, list) else []:
            if isinstance(condition, dict) and condition.get("Message"):
                output.complain(NODE, f"{name}: {condition['Message']}", fails=False)
    return output


def _status(output: ToolOutput, name: str, status: Any) -> None:
    if not isinstance(status, dict) or status.get("State") in _GONE:
        return
    document = {field.lower(): str(value) for field, value in status.items()}  # older services have HealthRollUp
    for field, what in (("health", name), ("healthrollup", f"a part of {name}")):
        if (fails := _WORSE.get(document.get(field, "").lower())) is not None:
            output.complain(NODE, f"{what} is {document[field]}", fails=fails, remedy="inspect this part of the server")
            return
