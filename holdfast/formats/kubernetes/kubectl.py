"""What `kubectl` prints about nodes: `get nodes`, `describe node`, and both as JSON."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.formats import json_document
from holdfast.formats.tool_output import ToolOutput

_HEAD = re.compile(r"^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\b", re.MULTILINE)
_ROW = re.compile(r"^(\S+)\s+((?:Not)?Ready\S*|Unknown\S*)\s", re.MULTILINE)
_DESCRIBED = re.compile(r"^Name:\s+(\S+)\n(?=Roles?:)", re.MULTILINE)
_CONDITION = re.compile(r"^\s+(\w+)\s+(True|False|Unknown)\s+(.*)$", re.MULTILINE)
_FIELD = re.compile(r"^\s*(Unschedulable|Taints):\s*(.*?)\s*$", re.MULTILINE)
_SECTION = re.compile(r"^(Conditions|Capacity|Allocatable):\s*\n((?:[ \t]+\S.*\n?)*)", re.MULTILINE)
_GPUS = re.compile(r"^\s*((?:nvidia|amd)\.com/(?:gpu|mig-\S+?)):\s*(\d+)", re.MULTILINE)
_BAD = re.compile(
    r"Pressure|Unavailable|Deadlock|Readonly|Problem|Fail|Fault|Error|Unhealthy|Corrupt|Frequent|Hang|XID", re.I
)
_GOOD = re.compile(r"Ready|Healthy|OK$|Available$")
REMEDY = "see `kubectl describe node` and the kubelet's log; repair the node, then uncordon it"


def read(text: str) -> ToolOutput | None:
    output = ToolOutput("kubectl nodes")
    described = list(_DESCRIBED.finditer(text))
    for number, node in enumerate(described):
        end = described[number + 1].start() if number + 1 < len(described) else len(text)
        _take_description(output, node[1], text[node.end() : end])
    if _HEAD.search(text):
        for name, state in _ROW.findall(text):
            _take_state(output, name, ready=state.startswith("Ready"), cordoned="SchedulingDisabled" in state)
    for item in _items(json_document.find(text)):
        _take_object(output, item)
    output.lines = len(output.present)
    return output if output.present else None


def _items(document: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(document, Mapping) and document.get("kind") in ("Node", "NodeList", "List"):
        for item in document.get("items", [document]) if document["kind"] != "Node" else [document]:
            if (
                isinstance(item, Mapping)
                and item.get("kind", "Node") == "Node"
                and isinstance(item.get("status"), Mapping)
            ):
                yield item


def _take_state(output: ToolOutput, name: str, *, ready: bool, cordoned: bool) -> None:
    place = f"node/{name}"
    output.see(place)
    if not ready:
        output.complain(place, "NotReady", remedy=REMEDY)
    if cordoned:
        output.complain(place, "SchedulingDisabled: somebody cordoned it", fails=False, remedy=REMEDY)


def _take_description(output: ToolOutput, name: str, text: str) -> None:
    sections = dict(_SECTION.findall(text))
    fields = dict(_FIELD.findall(text))
    place = f"node/{name}"
    output.see(place)
    for kind, status, rest in _CONDITION.findall(sections.get("Conditions", "")):
        _take_condition(output, place, kind, status, " ".join(re.split(r"\s{2,}", rest.strip())[2:]))
    if fields.get("Unschedulable") == "true":
        output.complain(place, "SchedulingDisabled: somebody cordoned it", fails=False, remedy=REMEDY)
    if "Conditions" not in sections:
        output.doubt(place, "the description has no conditions: it breaks off")
    counts = [dict(_GPUS.findall(sections.get(name, ""))) for name in ("Capacity", "Allocatable")]
    _take_gpus(output, place, *counts)


def _take_object(output: ToolOutput, item: Mapping[str, Any]) -> None:
    status = item["status"]
    place = f"node/{item.get('metadata', {}).get('name', 'unknown')}"
    output.see(place)
    for one in status.get("conditions") or []:
        if isinstance(one, Mapping):
            words = f"{one.get('reason', '')} {one.get('message', '')}"
            _take_condition(output, place, str(one.get("type", "")), str(one.get("status", "")), words)
    if (item.get("spec") or {}).get("unschedulable") is True:
        output.complain(place, "SchedulingDisabled: somebody cordoned it", fails=False, remedy=REMEDY)
    counts = [
        {str(k): str(v) for k, v in (status.get(name) or {}).items() if _GPUS.match(f"{k}: {v}")}
        for name in ("capacity", "allocatable")
    ]
    _take_gpus(output, place, *counts)


def _take_condition(output: ToolOutput, place: str, kind: str, status: str, words: str) -> None:
    """Kubernetes' own conditions, and those of node-problem-detector and GPU agents, by what their names mean."""
    wrong = status != "True" if _GOOD.search(kind) and not _BAD.search(kind) else status == "True" and _BAD.search(kind)
    if wrong:
        output.complain(
            place, f"{kind} is {status}: {words}", fails=kind == "Ready" or kind not in _SOFT, remedy=REMEDY
        )


_SOFT = ("MemoryPressure", "DiskPressure", "PIDPressure")


def _take_gpus(output: ToolOutput, place: str, capacity: Mapping[str, str], allocatable: Mapping[str, str]) -> None:
    for name, count in capacity.items():
        if name in allocatable and int(allocatable[name]) < int(count):
            text = f"{allocatable[name]} of {count} {name} are allocatable"
            output.complain(place, text, fails=False, remedy="see the device plugin's log: it holds a GPU as unhealthy")
