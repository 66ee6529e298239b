"""Files of `/sys` in one text: `grep -r "" /sys/...`, `head /sys/...`, path above value, JSON of paths."""

import re
from collections.abc import Iterator

from holdfast.formats import json_document
from holdfast.formats.pci import sysfs as pcie
from holdfast.formats.tool_output import NODE, ToolOutput

_ROOT = re.compile(r"/(?:\S*/)?sys(?=/(?:class|bus|devices)/)")
_PATH = r"/(?:[\w.:+-]{1,64}/){0,8}?sys/(?:class|bus|devices)/(?:[\w.:+-]{1,64}/){0,24}[\w.+-]{1,64}"
_GREPPED = re.compile(rf"^({_PATH}):[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_HEADED = re.compile(rf"^(?:==> )?({_PATH})(?: <==)?:?[ \t]*\n((?!/|==>)[^\n]+)", re.MULTILINE)
_TOTALS = {"TOTAL_ERR_COR": "correctable", "TOTAL_ERR_NONFATAL": "nonfatal", "TOTAL_ERR_FATAL": "fatal"}
MOST_FILES = 20_000


def files(text: str) -> dict[str, str]:
    """Path below `/sys` -> content. Empty if the text has no such file. A path never leaves `/sys`."""
    found: dict[str, str] = {}
    for path, content in _pairs(text):
        root = _ROOT.match(path)
        below = path[root.end() + 1 :] if root else ""
        if below and ".." not in below.split("/") and "\0" not in below and len(found) < MOST_FILES:
            found[below.rstrip("/")] = content
    return found


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    document = json_document.find(text) if "/sys/" in text[:4096] else None
    if isinstance(document, dict):
        yield from ((path, value) for path, value in document.items() if isinstance(value, str))
        return
    for shape in (_GREPPED, _HEADED):
        for match in shape.finditer(text):
            yield match[1], match[2]


def read_aer(text: str) -> ToolOutput | None:
    """Reads one aer_dev_* file; its last line says which of the three it is."""
    counters = pcie.aer_counters(text)
    lines = sum(bool(line.strip()) for line in text.splitlines())
    kind = next((kind for total, kind in _TOTALS.items() if total in counters), "")
    if not kind or len(counters) < lines or lines < len(_TOTALS):
        return None
    output = ToolOutput("AER counters")
    output.lines = lines
    total = pcie.aer_total(counters) or 0
    if total and kind != "correctable":
        named = ", ".join(f"{name} {count}" for name, count in counters.items() if count and name not in _TOTALS)
        text = f"{total} {kind} PCIe errors since boot ({named})"
        output.complain(NODE, text, fails=kind == "fatal", remedy="reseat the part; if they grow, replace it")
    return output
