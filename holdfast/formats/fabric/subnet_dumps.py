"""Files written by ibdiagnet and the subnet manager: port counters (`ibdiagnet2.pm`) and unhealthy ports."""

import re

from holdfast.formats.fabric import counters
from holdfast.formats.fabric.subnet import label
from holdfast.formats.tool_output import ToolOutput

_PORT = re.compile(r"^Port=(\d+) Lid=(0x[0-9a-fA-F]+) GUID=(0x[0-9a-fA-F]+).*?Port Name=(\S+)\s*$", re.MULTILINE)
_COUNTER = re.compile(r"^(\w+)=(0x[0-9a-fA-F]+|\d+)\s*$", re.MULTILINE)
_PHYSICAL = (
    "symbol_error_counter",
    "link_error_recovery_counter",
    "link_down_counter",
    "link_downed_counter",
    "port_rcv_errors",
    "local_link_integrity_errors",
    "excessive_buffer_errors",
)
_UNHEALTHY = re.compile(
    r'^(0x[0-9a-fA-F]+),\s*(\d+),\s*"([^"]*)",\s*(?:0x[0-9a-fA-F]+),\s*(\d+),\s*"([^"]*)",\s*\{([^}]{0,400})\}',
    re.MULTILINE,
)


def read(text: str) -> ToolOutput | None:
    return _counters(text) or _unhealthy(text)


def _counters(text: str) -> ToolOutput | None:
    """Counts since the last clear, as in perfquery: a single reading shows no growth."""
    heads = list(_PORT.finditer(text))
    output = ToolOutput("ibdiagnet2.pm")
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=False):
        place = f"switch/{label(head[4])}/port/{head[1]}"
        output.see(place)
        bad: dict[str, int] = {}
        for name, value in _COUNTER.findall(text[head.end() : end]):
            short = name.removesuffix("_extended")
            if short in _PHYSICAL and (count := int(value, 0)):
                bad[short] = max(count, bad.get(short, 0))
        if bad:
            shown = counters.shown(bad)
            output.complain(
                place,
                f"errors since the counters were cleared: {shown} (GUID {head[3]})",
                fails=False,
                remedy="see whether they grow; then clean or replace cable and transceiver",
            )
    output.lines = len(heads)
    return output if heads else None


def _unhealthy(text: str) -> ToolOutput | None:
    """Links that the subnet manager marked as flapping or failing, from both ends."""
    rows = _UNHEALTHY.findall(text)
    output = ToolOutput("unhealthy ports")
    for guid, port, name, far_port, far, conditions in rows:
        place = f"switch/{label(name) or guid}/port/{port}"
        output.see(place)
        text = f"the subnet manager calls it {conditions.lower()} (link to {far} port {far_port})"
        output.complain(place, text, remedy="clean or replace cable and transceiver of this link")
    output.lines = len(rows)
    return output if rows else None
