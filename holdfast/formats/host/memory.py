"""Memory errors of the host as rasdaemon (`ras-mc-ctl`) and edac-util count them."""

import re

from holdfast.formats.tool_output import NODE, ToolOutput

_COUNTS = re.compile(r"^(\S+)[ \t]+(\d+)[ \t]+(\d+)[ \t]*$", re.MULTILINE)
_EDAC_UTIL = re.compile(r"^(mc\d+: .*?): (\d+) (Corrected|Uncorrected) Errors?", re.MULTILINE)
_NONE = re.compile(r"^No (?:Memory|PCIe AER|MCE|Extlog|devlink|disk|ARM processor) errors\.", re.MULTILINE)
_EVENT = re.compile(r"^\d+ \S.* error: (?P<text>.*)$", re.MULTILINE)
_SUMMARY = re.compile(
    r"^[^\S\n]+(?P<text>.{0,200}?(?P<kind>Uncorrected|Corrected|Fatal|Deferred).{0,200}?)"
    r" errors?(?:: (?P<count>\d+))?$",
    re.M,
)
_UNCORRECTED = re.compile(r"(?i)uncorrected|fatal|deferred|\bUE\b")
MANY_CORRECTED = 100
REMEDY = "drain the node and replace the memory module that is named"


def read(text: str) -> ToolOutput | None:
    counted = _COUNTS.findall(text) if re.search(r"^Label\s+CE\s+UE\s*$", text, re.MULTILINE) else []
    util = _EDAC_UTIL.findall(text)
    listed = bool(_NONE.search(text))
    if not counted and not util and not listed:
        return None
    output = ToolOutput("ras-mc-ctl" if not util else "edac-util")
    output.lines = len(counted) + len(util) + text.count("\n")
    for label, corrected, uncorrected in counted:
        _judge(output, label, int(corrected), int(uncorrected))
    for label, count, kind in util:
        _judge(output, label, int(count) if kind == "Corrected" else 0, int(count) if kind == "Uncorrected" else 0)
    if listed:
        for found in (*_EVENT.finditer(text), *_SUMMARY.finditer(text)):
            if _UNCORRECTED.search(found["text"]):
                output.complain(NODE, found["text"], remedy=REMEDY)
    return output


def _judge(output: ToolOutput, label: str, corrected: int, uncorrected: int) -> None:
    if uncorrected:
        output.complain(NODE, f"{label}: {uncorrected} uncorrected memory errors", remedy=REMEDY)
    elif corrected > MANY_CORRECTED:
        output.complain(NODE, f"{label}: {corrected} corrected memory errors", fails=False, remedy=REMEDY)
