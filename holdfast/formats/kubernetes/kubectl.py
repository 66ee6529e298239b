"""Output of `kubectl` about nodes: `get nodes`, `describe node`, and both as JSON."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.formats import json_document
from holdfast.formats.tool_output import ToolOutput

_HEAD = re.compile(r"^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\b", re.MULTILINE)
_ROW = re.compile(r"^(\S+)\s+((?:Not)?Ready\S*|Unknown\S*)\s", re.MULTILINE)
_DESCRIBED = re.compile(r"^Name:\s+(\S+)\n(?=Roles?:)", re.MULTILINE)
_CONDITION = re.compile(r"^[^\S\n]+(\w+)\s+(True|False|Unknown)\s+(.*)$", re.MULTILINE)
_FIELD = re.compile(r"^[^\S\n]*(Unschedulable|Taints):\s*(.*?)\s*$", re.MULTILINE)
_SECTION = re.compile(r"^(Conditions|Capacity|Allocatable):\s*\n((?:[ \t]+\S.*\n?)*)", re.MULTILINE)
_GPUS = re.compile(r"^[^\S\n]*((?:nvidia|amd)\.com/(?:gpu|mig-\S+?)):\s*(\d+)", re.MULTILINE)
_TABLE = re.compile(r"^[^\S\n]*Type\s+Status\s+LastHeartbeatTime\s", re.MULTILINE)
_DATED = re.compile(r"^[^\S\n]*(\w+)\s+(True|False|Unknown)\s+(\w{3}, \d.*?[+-]\d{4}\s+\w{3}, \d.*)$", re.MULTILINE)
_OF_NODE = re.compile(r"\bdescribe (?:node|no)[ /](\S+)")
_YAML = re.compile(r"^(?P<indent> *)conditions:\s*$", re.MULTILINE)
_YAML_ITEM = re.compile(r"^ *- ", re.MULTILINE)
_YAML_FIELD = re.compile(r"^[ -]*(type|status|reason|message):[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.MULTILINE)
_YAML_NAME = re.compile(r"^(?:metadata:\n)(?:[ ].*\n)*?[ ]{2,4}name:[ ]*(\S+)", re.MULTILINE)
UNNAMED = "unknown"  # an excerpt without the name of its node
_BAD = re.compile(
    r"Pressure|Unavailable|Deadlock|Readonly|Problem|Fail|Fault|Error|Unhealthy|Corrupt|Frequent|Hang|XID", re.I
)
_GOOD = re.compile(r"Ready|Healthy|OK$|Available$")
CORDONED = "SchedulingDisabled: somebody cordoned it"
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
    if not output.present:
        _take_excerpt(output, text)
    output.lines = len(output.present)
    return output if output.present else None


def _take_excerpt(output: ToolOutput, text: str) -> None:
    """Reads conditions or GPU counts that were copied without the lines above them, or a node as YAML."""
    sections = dict(_SECTION.findall(text))
    capacity, allocatable = (dict(_GPUS.findall(sections.get(name, ""))) for name in ("Capacity", "Allocatable"))
    if capacity and allocatable:
        output.see(f"node/{UNNAMED}")
        _take_gpus(output, f"node/{UNNAMED}", capacity, allocatable)
    named = _OF_NODE.search(text)
    if not _TABLE.search(text):
        for kind, status, rest in _DATED.findall(text):
            sentence = " ".join(re.split(r"\s{2,}", rest.strip())[2:])
            _take_one(output, named[1] if named else UNNAMED, {"type": kind, "status": status, "message": sentence})
    if head := _TABLE.search(text):
        for kind, status, rest in _CONDITION.findall(textwrap.indent(text[head.end() :], " ")):
            sentence = " ".join(re.split(r"\s{2,}", rest.strip())[2:])
            _take_one(output, UNNAMED, {"type": kind, "status": status, "message": sentence})
    for _, entry in json_document.walk(json_document.find(text)):
        conditions = entry.get("conditions")
        for one in conditions if isinstance(conditions, list) else ():
            if isinstance(one, Mapping) and {"type", "status", "lastTransitionTime"} <= set(one):
                _take_one(output, str(entry.get("nodeName") or UNNAMED), one)
    if "lastHeartbeatTime:" in text:
        start = _YAML.search(text)
        _take_yaml(output, text, start.end() if start else 0)


def _take_yaml(output: ToolOutput, text: str, start: int) -> None:
    named = _YAML_NAME.search(text)
    name = named[1] if named else UNNAMED
    for item in _YAML_ITEM.split(text[start:])[1:]:
        fields = dict(_YAML_FIELD.findall(item))
        if "type" in fields and "status" in fields:
            _take_one(output, name, fields)
    if output.present and re.search(r"^ *unschedulable: true\s*$", text, re.MULTILINE):
        output.complain(f"node/{name}", CORDONED, fails=False, remedy=REMEDY)


def _take_one(output: ToolOutput, node: str, condition: Mapping[str, Any]) -> None:
    place = f"node/{node}"
    output.see(place)
    text = f"{condition.get('reason', '')} {condition.get('message', '')}"
    _take_condition(output, place, str(condition["type"]), str(condition["status"]), text)


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
        output.complain(place, CORDONED, fails=False, remedy=REMEDY)


def _take_description(output: ToolOutput, name: str, text: str) -> None:
    sections = dict(_SECTION.findall(text))
    fields = dict(_FIELD.findall(text))
    place = f"node/{name}"
    output.see(place)
    for kind, status, rest in _CONDITION.findall(sections.get("Conditions", "")):
        _take_condition(output, place, kind, status, " ".join(re.split(r"\s{2,}", rest.strip())[2:]))
    if fields.get("Unschedulable") == "true":
        output.complain(place, CORDONED, fails=False, remedy=REMEDY)
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
            text = f"{one.get('reason', '')} {one.get('message', '')}"
            _take_condition(output, place, str(one.get("type", "")), str(one.get("status", "")), text)
    if (item.get("spec") or {}).get("unschedulable") is True:
        output.complain(place, CORDONED, fails=False, remedy=REMEDY)
    counts = [
        {str(k): str(v) for k, v in (status.get(name) or {}).items() if _GPUS.match(f"{k}: {v}")}
        for name in ("capacity", "allocatable")
    ]
    _take_gpus(output, place, *counts)


def _take_condition(output: ToolOutput, place: str, kind: str, status: str, text: str) -> None:
    """Evaluates conditions of Kubernetes, node-problem-detector and GPU agents by the meaning of their names."""
    wrong = status != "True" if _GOOD.search(kind) and not _BAD.search(kind) else status == "True" and _BAD.search(kind)
    if wrong:
        output.complain(place, f"{kind} is {status}: {text}", fails=kind == "Ready" or kind not in _SOFT, remedy=REMEDY)


_SOFT = ("MemoryPressure", "DiskPressure", "PIDPressure")


def _take_gpus(output: ToolOutput, place: str, capacity: Mapping[str, str], allocatable: Mapping[str, str]) -> None:
    for name, count in capacity.items():
        if name in allocatable and int(allocatable[name]) < int(count):
            text = f"{allocatable[name]} of {count} {name} are allocatable"
            output.complain(place, text, fails=False, remedy="see the device plugin's log: it holds a GPU as unhealthy")
