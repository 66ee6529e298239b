"""Xid lines of the NVIDIA driver in every known layout, with the recovery hint of the line."""

import re
from dataclasses import replace

from holdfast.catalog import xid as catalog
from holdfast.formats.kernel.line import KernelLine
from holdfast.formats.pci import address as pci_address
from holdfast.model.signal import Event, Value

CASCADE_SECONDS = 10.0
CASCADE_LINES = 100  # for logs without times
_MAX_DEVICES = 1024
_LONGEST_NAME = 15  # bytes of a process name that the kernel keeps

_ADDRESS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?")
_XID = re.compile(
    rf"NVRM: Xid \(?(?:PCI:)?(?P<device>{_ADDRESS.pattern})"
    r"(?P<part> [^)]{1,100})?\)?: (?P<code>\d{1,6})\b,?\s*"
    r"(?:pid='?(?P<pid>\d{1,10}|<unknown>)'?,?\s*)?(?:name=(?P<process>[^,]*),?\s*)?(?P<rest>.*)",
    re.DOTALL,
)
_MENTION = re.compile(r"NVRM:.*?\bXid")
_LIKELY_CODE = re.compile(r"\s*(?:\([^)]{0,100}\))?[^\d(]{0,40}?\b(\d{1,6})\b(?![:.]\w)")
_PARTS = re.compile(r"(GPU-C?I):(\w{1,8})")
_PART_NAMES = {"GPU-I": "mig", "GPU-CI": "mig_compute"}
_SEVERITY = re.compile(r"(?:[\w/]+ ){0,2}(Fatal|Non-?fatal)\b")
_NVLINK5 = re.compile(
    r"(?P<unit>\w+) .*?(?:Link (?P<link>-?\d{1,4}) )?\(0x(?P<info>[0-9a-f]{1,8})[ ,]+0x(?P<status>[0-9a-f]{1,8})",
    re.IGNORECASE,
)
_RECOVERY = re.compile(r"changed.*? to (?:0x(?P<number>[0-9a-f]{1,4}))? ?\(?(?P<words>[\w ]*)")
_CAUSED_BY = re.compile(r"caused by previous Xid (\d{1,6})")

_SEVERITY_OF = {
    "ignore": "info",
    "monitor": "info",
    "restart_app": "warning",
    "reset_gpu_when_idle": "warning",
    "drain_p2p": "warning",
    "update_software": "warning",
    "check_uvm_setting": "warning",
    catalog.FOLLOW_154: "warning",
}


def find(line: KernelLine) -> Event | None:
    """The Xid in a line, or None."""
    match = _XID.match(line.text)
    if match is None:
        return _unknown_shape(line)
    code, detail, rest = int(match["code"]), _details(match), _behind_the_name(match)
    word = _SEVERITY.match(rest)
    action = _action(catalog.find(code), rest, word[1] if word else "", detail, line.text)
    severity = word[1].lower().replace("-", "") if word else _SEVERITY_OF.get(action, "fatal")
    device = pci_address.normal(match["device"])
    return line.event("xid", code=code, device=device, severity=severity, action=action, detail=detail)


def _behind_the_name(match: re.Match[str]) -> str:
    """The driver's own part of the line.

    A process may have any name, including commas and the driver's own words, but the kernel cuts it. The text that may
    belong to the name is left out.
    """
    start, text = match.start("rest"), match.string
    if match["process"] is None or match["pid"] in (None, "<unknown>"):
        return text[start:]
    name = match.start("process")
    comma = text.rfind(", ", name, name + _LONGEST_NAME + 2)
    return text[max(start, comma + 2) :]


def _unknown_shape(line: KernelLine) -> Event | None:
    """An Xid in an unknown layout: reported with the fields that can be read, never dropped."""
    match = _MENTION.match(line.text)
    if match is None:
        return None
    number = _LIKELY_CODE.match(line.text, match.end())
    code = int(number[1]) if number else None
    address = _ADDRESS.search(line.text, match.start())
    device = pci_address.normal(address[0]) if address else ""
    return line.event("xid", code=code, device=device, severity="fatal", action=catalog.CONTACT_SUPPORT)


def _details(match: re.Match[str]) -> dict[str, Value]:
    """Details of the line: the part of the GPU and the process."""
    detail: dict[str, Value] = {}
    if match["part"]:
        detail.update((_PART_NAMES[name], number) for name, number in _PARTS.findall(match["part"]))
    for name in ("pid", "process"):
        if (value := match[name]) is not None and value != "<unknown>":
            detail[name] = value
    return detail


def _action(fact: catalog.Xid, rest: str, severity: str, detail: dict[str, Value], text: str) -> str:
    """The action that the line itself names; otherwise that of the catalog."""
    if fact.action == catalog.FOLLOW_TEXT:
        return _recovery(rest, detail)
    if fact.action == catalog.DECODE:
        return _nvlink5(fact.code, rest, severity, detail)
    if fact.cascade and (cause := _CAUSED_BY.search(text)):  # longer than a name
        detail["caused_by"] = cause[1]
        return "ignore"
    if "RST: Yes" in rest:
        return "drain_and_reset" if "D-RST: Yes" in rest else "reset_gpu"
    if fact.action == "ignore" and "to activate" in rest:  # Xid 63: the replacement row waits for a reset
        return "reset_gpu_when_idle"
    return fact.action


def _recovery(rest: str, detail: dict[str, Value]) -> str:
    match = _RECOVERY.search(rest)
    if match is None:
        return catalog.CONTACT_SUPPORT
    detail["recovery"] = match["words"].strip() or f"0x{match['number']}"
    return catalog.recovery_action(int(match["number"], 16) if match["number"] else None, match["words"])


def _nvlink5(code: int, rest: str, severity: str, detail: dict[str, Value]) -> str:
    """The sub-code decides; but a line that says Fatal is never ignored."""
    match = _NVLINK5.match(rest)
    action = ""
    if match:
        detail["unit"] = match["unit"]
        if match["link"]:
            detail["link"] = match["link"]
        action = catalog.nvlink_action(code, match["unit"].upper(), int(match["info"], 16), int(match["status"], 16))
    if severity == "Fatal":
        return action if action not in ("", "ignore") else "reset_gpu"
    return action or ("monitor" if severity else catalog.CONTACT_SUPPORT)


class Cascade:
    """The last Xid of each GPU: a 45 after another Xid is a consequence, and a 154 belongs to its cause."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, KernelLine]] = {}

    def mark(self, event: Event, line: KernelLine) -> Event:
        if not isinstance(event.code, int):
            return event
        fact = catalog.find(event.code)
        if not fact.cascade and fact.action != catalog.FOLLOW_TEXT:
            if event.device in self._last or len(self._last) < _MAX_DEVICES:
                self._last[event.device] = (event.code, line)
            return event
        cause = self._last.get(event.device)
        if cause is None or "caused_by" in event.detail or not _soon_after(cause[1], line):
            return event
        detail = {**event.detail, "caused_by": str(cause[0])}
        if fact.cascade:
            return replace(event, severity="info", action="ignore", detail=detail)
        return replace(event, detail=detail)


def _soon_after(cause: KernelLine, line: KernelLine) -> bool:
    if cause.order is None or line.order is None:
        return line.number - cause.number <= CASCADE_LINES
    return 0 <= line.order - cause.order <= CASCADE_SECONDS
