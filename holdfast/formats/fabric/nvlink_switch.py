"""NVLink switch trays: `nv show` of NVOS (tables and JSON), and NMX reports of partitions, GPUs and switches."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.formats import json_document
from holdfast.formats.tool_output import NODE, ToolOutput

_PROMPT = re.compile(r"^\w[\w.-]*@([\w.-]+)\s*:\S*[$#] nv show\b", re.MULTILINE)
_MARK = re.compile(
    r"\bnv show (?:system|platform|cluster|sdn|fae)\b|^status-led\s|^Health issues\s*\n=+"
    r"|\bnmx-(?:controller|telemetry)\b",
    re.MULTILINE,
)
_RULE = re.compile(r"^ *-{2,}(?: {1,}-{2,})*\s*$")
_STATUS = re.compile(r"^status\s{2,}(?P<status>\S+(?: \S+)*?)(?:\s{2,}.*)?$", re.MULTILINE)
_ISSUES = "status information"
_STATES = ("state", "status", "health")
_FINE = frozenset(
    [
        "",
        "ok",
        "up",
        "good",
        "healthy",
        "n/a",
        "none",
        "no data",
        "absent",
        "active",
        "running",
        "enabled",
        "configured",
        "true",
        "on",
        "ready",
        "installed",
        "valid",
    ]
)
_GRAVE = re.compile(r"(?i)leak|too hot|critical|fatal|fail|not ok|unhealthy|non_?operational|no_nvlink|not ready")
_NMX = re.compile(r"NMX_[A-Z_]*?HEALTH_(?P<state>[A-Z_]+)")
_NMX_WORDS = frozenset({"HEALTHY", "DEGRADED", "BANDWIDTH", "DEGRADED_BANDWIDTH", "NO_NVLINK", "UNHEALTHY",
                        "NONOPERATIONAL", "MISSING_NVLINK"})  # fmt: skip
_NMX_KEYS = frozenset({"domainuuid", "partitionid", "locationinfo", "activenvlinks", "cliqueid", "chassisserialnumber"})
_EVENT_SEVERITIES = {"CRITICAL": True, "MAJOR": True, "MINOR": False, "WARNING": False}
LEAK = "stop the tray, close its coolant valve and inspect it"
SEE_HEALTH = "see `nv show system health` on the switch and the log of NMX; reseat or replace the named part"


def read(text: str) -> ToolOutput | None:
    document = json_document.find(text)
    output = ToolOutput("NVOS and NMX")
    prompt = _PROMPT.search(text)
    place = f"switch/{prompt[1]}" if prompt else NODE
    if isinstance(document, (dict, list)):
        for above, entry in json_document.walk(document):
            _take_object(output, place, above, entry)
    if not output.lines and _MARK.search(text):
        _take_tables(output, place, text)
    return output if output.lines else None


def _take_tables(output: ToolOutput, place: str, text: str) -> None:
    if status := _STATUS.search(text):
        output.lines += 1
        if status["status"].lower() not in _FINE and "Health issues" not in text:
            _complain(output, place, "the switch", status["status"])
    for head, rows in _tables(text):
        names = [name.lower() for name in head]
        if _ISSUES in names:
            output.lines += 1
            for row in rows:
                _complain(output, place, row[0], row[names.index(_ISSUES)])
        elif any(state in name for name in names for state in _STATES):
            output.lines += 1
            for row in rows:
                states = [cell for name, cell in zip(names, row, strict=True) if any(one in name for one in _STATES)]
                for state in states:
                    if state.lower() not in _FINE and not state.startswith("CONTROL_PLANE_STATE_CONFIGURED"):
                        _complain(output, place, row[0], state)


def _tables(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """The tables of `nv`: a line of names, a rule whose dashes mark the columns, then rows up to an empty line."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if number == 0 or not _RULE.match(line):
            continue
        starts = [found.start() for found in re.finditer(r"-+", line)]
        ends = [*starts[1:], None]
        spans = list(zip(starts, ends, strict=True))
        rows = []
        for row in lines[number + 1 :]:
            if not row.strip() or _RULE.match(row):
                break
            rows.append([row[start:end].strip() for start, end in spans])
        head = [lines[number - 1][start:end].strip() for start, end in spans]
        if head[0] or len(head) > 1:
            yield head, rows


def _take_object(output: ToolOutput, place: str, above: tuple[str, ...], entry: Mapping[str, Any]) -> None:
    keys = {str(name).lower().replace("_", ""): value for name, value in entry.items()}
    if "status-led" in entry or ("issues" in entry and isinstance(entry.get("issues"), Mapping)):
        output.lines += 1
        issues = entry.get("issues")
        for part, issue in issues.items() if isinstance(issues, Mapping) else ():
            words = issue.get("issue", issue) if isinstance(issue, Mapping) else issue
            _complain(output, place, str(part), str(words))
        if not issues and str(entry.get("status", "OK")).lower() not in _FINE:
            _complain(output, place, "the switch", str(entry["status"]))
    elif "addition-info" in entry or (above and str(above[-1]).startswith("nmx-")):
        output.lines += 1
        if str(entry.get("status", "ok")).lower() not in _FINE:
            why = entry.get("reason") or entry.get("addition-info") or ""
            _complain(output, place, above[-1] if above else "NMX", f"{entry.get('status')} {why}")
    elif str(keys.get("severity", "")).upper() in (*_EVENT_SEVERITIES, "INFORMATIONAL") and "resource" in keys:
        output.lines += 1
        severity = str(keys["severity"]).upper()
        if severity in _EVENT_SEVERITIES:
            words = f"{keys['resource']}: {keys.get('text', '')}"
            output.complain(place, words, fails=_EVENT_SEVERITIES[severity], remedy=_remedy(words))
    elif isinstance(keys.get("health"), str):
        _take_health(output, place, keys)


def _take_health(output: ToolOutput, place: str, keys: Mapping[str, Any]) -> None:
    issue = str(keys["health"])
    named = _NMX.match(issue)
    state = named["state"] if named else issue.upper()
    if not named and not (state in _NMX_WORDS and _NMX_KEYS.intersection(keys)):
        return
    output.lines += 1
    if state == "HEALTHY":
        return
    gpu = keys.get("location") if isinstance(keys.get("location"), Mapping) else {}
    where = [f"{name} {keys[key]}" for key, name in (("hostname", "host"), ("partitionid", "partition")) if key in keys]
    where += [f"{name} {value}" for name, value in (gpu or {}).items() if isinstance(value, (int, str))]
    words = ", ".join(where) or str(keys.get("name") or keys.get("uuid") or "a part")
    fails = state not in ("DEGRADED", "BANDWIDTH", "DEGRADED_BANDWIDTH", "UNKNOWN")
    host = str(keys.get("hostname") or "")
    target = f"node/{host}" if re.fullmatch(r"[\w.-]{1,255}", host) else place
    output.complain(target, f"NVLink health of {words} is {state}", fails=fails, remedy=SEE_HEALTH)


def _complain(output: ToolOutput, place: str, part: str, message: str) -> None:
    text = f"{part}: {message}"
    output.complain(place, text, fails=bool(_GRAVE.search(text)), remedy=_remedy(text))


def _remedy(text: str) -> str:
    return LEAK if "leak" in text.lower() else SEE_HEALTH
