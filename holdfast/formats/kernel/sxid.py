"""SXid lines of NVSwitch, from the kernel and Fabric Manager. Continuation lines are not events of their own."""

import re
from collections.abc import Iterable

from holdfast.catalog import sxid as catalog
from holdfast.formats.kernel.line import KernelLine, decode
from holdfast.formats.pci import address as pci_address
from holdfast.model.signal import Event, Value

_KERNEL = re.compile(
    rf"(?:(?P<switch>nvidia-nvswitch\d{{1,4}}): )?SXid \(?(?:PCI:)?(?P<device>{pci_address.PATTERN})\)?: "
    r"(?P<code>\d{1,6}), ?(?P<rest>.*)"
)
_CONTINUATION = re.compile(r"Data \{|Severity \d+ Engine")
_WORD = re.compile(r"(Fatal|Non-?fatal)\b", re.IGNORECASE)
_LINK = re.compile(r"Link (\d{1,4})")
_FABRIC_MANAGER = re.compile(
    r"(?:\[\w{1,12}\] )?(?:\[tid \d{1,10}\] )?detected NVSwitch (?P<word>fatal|non-fatal) error (?P<code>\d{1,6})\b"
    rf"(?:.*?pci bus id (?P<device>{pci_address.PATTERN}))?(?:.*? port (?P<link>\d{{1,4}}))?",
    re.IGNORECASE,
)


def find(line: KernelLine) -> Event | None:
    if match := _KERNEL.match(line.text):
        if _CONTINUATION.match(match["rest"]):
            return None
        word = _WORD.match(match["rest"])
        link = _LINK.search(match["rest"])
        detail: dict[str, Value] = {"switch": match["switch"]} if match["switch"] else {}
        return _event(
            line, int(match["code"]), match["device"], word[1] if word else "", link[1] if link else "", detail
        )
    if match := _FABRIC_MANAGER.match(line.text):
        return _event(line, int(match["code"]), match["device"] or "", match["word"], match["link"] or "", {})
    return None


def of_data_alone(lines: Iterable[str], events: Iterable[Event]) -> list[Event]:
    """Events of continuation lines whose first line is not in the text: an excerpt, or the log begins between them."""
    known = {(event.code, event.device) for event in events if event.kind == "sxid"}
    found: dict[tuple[int, str], Event] = {}
    for number, raw in enumerate(lines, start=1):
        if "SXid " not in raw:
            continue
        line = decode(raw.encode("utf-8", "replace"), number)
        match = None if line.foreign else _KERNEL.match(line.text)
        if match and _CONTINUATION.match(match["rest"]):
            where = int(match["code"]), pci_address.normal(match["device"])
            if where not in known:
                found.setdefault(where, _event(line, where[0], match["device"], "", "", {}))
    return list(found.values())


def _event(line: KernelLine, code: int, device: str, word: str, link: str, detail: dict[str, Value]) -> Event:
    """An event of an SXid line. The severity in the line takes precedence over the class of its code."""
    fact = catalog.find(code)
    severity = word.lower().replace("-", "") or ("fatal" if fact.kind != catalog.NONFATAL else "nonfatal")
    if link:
        detail["link"] = link
    detail["name"] = fact.name
    action = "restart_node" if severity == "fatal" else "monitor"
    return line.event(
        "sxid", code=code, device=pci_address.normal(device), severity=severity, action=action, detail=detail
    )
