"""Services of an NVLink domain: `nvidia-imex-ctl -N`, and the logs of fabric manager, IMEX and the subnet manager."""

import re
from collections import Counter

from holdfast.formats import json_document
from holdfast.formats.tool_output import NODE, ToolOutput

_DOMAIN = re.compile(r"^[^\S\n]*Domain State:\s*(\w+)", re.MULTILINE)
_NODE = re.compile(r"^[^\S\n]*Node #(\d+) [ \t*-]{0,16}(\S+)[ \t]{1,16}\*?[ \t]{0,16}- (\w+)", re.MULTILINE)
_LOG = re.compile(
    r"^(?:\S+ \S+ \S+ \S+ [\w-]+(?:\[\d+\])?: )?\[\w{3} \d+ \d{4} [\d:]+\] \[(\w+)\s*\](?: \[tid \d+\])?"
    r"[^\S\n]*(\S.*?|)[^\S\n]*$",
    re.MULTILINE,
)
_JOURNAL = re.compile(
    r"^(?:.{0,120}\s)?(?:nv-fabricmanager|nvidia-imex(?:-daemon)?)\[\d+\]: (?!\[)(.*?)\s*$", re.MULTILINE
)
_BAD = re.compile(r"(?i)\b(?:error|failed|failure|fatal|abort\w*|mismatch|unable|cannot|timed out)\b|don't match")
_SUBNET_MANAGER = re.compile(
    r"^(?:\w{3} \d+ [\d:]+ \d+ \[[0-9A-F]+\]|\S{1,40}T[\d:.]{1,20}\S{0,20} .{0,80}?opensm\S{0,20}) "
    r".{0,200}?(ERR [0-9A-F]{4}): (\S.*?|)[^\S\n]*$",
    re.MULTILINE,
)
_SUBNET_LOG = re.compile(
    r"^\w{3} \d+ [\d:]+ \d+ \[[0-9A-F]+\] 0x[0-9a-f]{2} -> |\bOpenSM \d+\.\d|^(?:\S+ )?nvlsm: ", re.MULTILINE
)
_STOPS = re.compile(
    r"(?i)aborting|fatal error|failed to (?:initialize|start|configure|train)|exiting|no nvswitch|not ready to"
    r"|version mismatch|NVSwitch driver failed|don't match"
)
_HARMLESS = re.compile(r"(?i)^detected NVSwitch")  # an event, which the SXid check evaluates
_NUMBERS = re.compile(r"\b(?:0x[0-9a-f]+|\d+)\b")
MOST = 20
UP, READY = "UP", "READY"


def read_imex(text: str) -> ToolOutput | None:
    domain = _DOMAIN.search(text)
    state = domain[1].upper() if domain else ""
    nodes = [(number, where, status.upper()) for number, where, status in _NODE.findall(text)]
    if domain is None:
        state, nodes = _imex_json(text)
    if not state:
        return None
    output = ToolOutput("nvidia-imex-ctl")
    output.lines = len(nodes)
    gone = [(number, status) for number, _, status in nodes if status != READY]
    for number, status in gone:
        output.complain(NODE, f"IMEX node #{number} is {status}", fails=False, remedy="start nvidia-imex on this node")
    if state != UP:
        remedy = "look at nvidia-imex on the nodes that are not READY"
        output.complain(NODE, f"the IMEX domain is {state}, {len(gone)} of {len(nodes)} nodes are not READY",
                        fails=state != "DEGRADED", remedy=remedy)  # fmt: skip
    return output


def _imex_json(text: str) -> tuple[str, list[tuple[str, str, str]]]:
    document = json_document.find(text)
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), (dict, list)):
        return "", []
    state = document.get("status", document.get("domain_state", ""))
    listed = document["nodes"]
    entries = listed.items() if isinstance(listed, dict) else enumerate(listed)
    nodes = [(str(number), str(one.get("host", "")), str(one["status"]).upper())
             for number, one in entries if isinstance(one, dict) and "status" in one]  # fmt: skip
    return (str(state).upper(), nodes) if nodes else ("", [])


def read_log(text: str) -> ToolOutput | None:
    """Reads errors of a service, each kind once. Errors of an NVSwitch become events."""
    lines = _LOG.findall(text)
    lines += [("ERROR" if _BAD.search(message) else "INFO", message) for message in _JOURNAL.findall(text)]
    if not lines:
        return None
    output = ToolOutput("fabric manager or IMEX log")
    output.lines = len(lines)
    bad = [message for level, message in lines if level.upper() in ("ERROR", "CRITICAL", "FATAL")]
    _complain(output, [message for message in bad if not _HARMLESS.match(message)], "look at the service's log")
    return output


def read_subnet_manager(text: str) -> ToolOutput | None:
    if not _SUBNET_LOG.search(text) and not _SUBNET_MANAGER.search(text):
        return None
    output = ToolOutput("opensm log")
    output.lines = text.count("\n") + 1
    _complain(output, [f"{code}: {what}" for code, what in _SUBNET_MANAGER.findall(text)], "look at the subnet")
    return output


def _complain(output: ToolOutput, messages: list[str], remedy: str) -> None:
    kinds = Counter(_NUMBERS.sub("#", message) for message in messages)
    first = {_NUMBERS.sub("#", message): message for message in reversed(messages)}
    for kind, count in kinds.most_common(MOST):
        times = f" ({count} times)" if count > 1 else ""
        output.complain(NODE, f"{first[kind]}{times}", fails=bool(_STOPS.search(first[kind])), remedy=remedy)
