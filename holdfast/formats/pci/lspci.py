"""lspci -vvv: devices with error status bits set, and links below the speed or width that both ends support.

The status bits are sticky: they show that an error happened since the last reset, not that it happens now.
"""

import re

from holdfast.formats.kernel import aer
from holdfast.formats.kernel.line import KernelLine
from holdfast.formats.pci import address as pci_address
from holdfast.formats.tool_output import NODE, ToolOutput
from holdfast.model.signal import Event

HEADER = re.compile(rb"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S")
_HEADER = re.compile(r"(?P<device>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<title>.*)")
_SPEED = re.compile(r"Speed (\d+(?:\.\d+)?)GT/s")
_WIDTH = re.compile(r"Width x(\d+)")
_SET = re.compile(r"(?<!\w)(\w+)\+")
_STATUS = re.compile(r"^[^\S\n]*([CU]ESta):\s*(\S.*[+-])\s*$", re.MULTILINE)
_KERNEL_NAMES = {"AdvNonFatalErr": "NonFatalErr"}  # bits for which lspci and the kernel use different names
_CARRIES_TRAINING = re.compile(
    r"3D controller|VGA.*NVIDIA|Infiniband|Mellanox|Non-Volatile memory|NVIDIA", re.IGNORECASE
)


class Lspci:
    """Tracks the device whose block is being read."""

    def __init__(self) -> None:
        self._device = ""
        self._title = ""
        self._capable: tuple[float, int] | None = None
        self._uncorrectable: KernelLine | None = None

    @property
    def reading(self) -> bool:
        return bool(self._device)

    def start(self, header: bytes) -> None:
        if match := _HEADER.match(header.decode("utf-8", "replace")):
            self._device, self._title = pci_address.normal(match["device"]), match["title"]
            self._capable = self._uncorrectable = None

    def feed(self, line: KernelLine) -> Event | None:
        text = line.text.strip()
        name, _, rest = text.partition(":")
        if not self._device:
            return None
        if name == "LnkCap":
            self._capable = _link(rest)
        elif name == "LnkSta":
            return self._judge_link(line, rest)
        elif name == "CESta":
            return self._errors(line, rest, aer.CORRECTABLE)
        elif name == "UESta":
            self._uncorrectable = line if "+" in rest else None
        elif name == "UESvrt" and self._uncorrectable:
            return self._judge_uncorrectable(rest)
        return None

    def _judge_uncorrectable(self, severities: str) -> Event | None:
        """Whether an uncorrectable error is fatal: the severity register decides for each error."""
        line, self._uncorrectable = self._uncorrectable, None
        if line is None:
            return None
        happened = line.text.partition(":")[2]
        fatal = set(_SET.findall(happened)) & set(_SET.findall(severities))
        return self._errors(line, happened, aer.FATAL if fatal else aer.NONFATAL)

    def _errors(self, line: KernelLine, bits: str, severity: str) -> Event | None:
        names = [_KERNEL_NAMES.get(name, name) for name in _SET.findall(bits)]
        if not names:
            return None
        return line.event(
            "aer",
            code=",".join(names),
            device=self._device,
            severity=severity,
            action=aer.action_of(severity),
            detail={"title": self._title, "register": "sticky status"},
        )

    def _judge_link(self, line: KernelLine, rest: str) -> Event | None:
        now, capable = _link(rest), self._capable
        if now is None or now[1] == 0 or now[0] == 0:  # nothing is plugged in below this port
            return None
        slower = capable is not None and now[0] < capable[0]
        narrower = capable is not None and now[1] < capable[1]
        if not (slower or narrower or "downgraded" in rest):
            return None
        matters = bool(_CARRIES_TRAINING.search(self._title))
        return line.event(
            "pcie_link",
            code="narrow" if narrower else "slow",
            device=self._device,
            severity="warning" if matters else "info",
            action="check_hardware" if matters else "ignore",
            detail={
                "title": self._title,
                "speed_transfers_per_second": now[0] * 1e9,
                "width_lanes": now[1],
                "capable_speed_transfers_per_second": capable[0] * 1e9 if capable else 0,
                "capable_width_lanes": capable[1] if capable else 0,
            },
        )


def _link(text: str) -> tuple[float, int] | None:
    speed, width = _SPEED.search(text), _WIDTH.search(text)
    return (float(speed[1]), int(width[1][:4])) if speed and width else None


_EXCERPT = re.compile(r"^[^\S\n]*(LnkCap|LnkSta):\s*(.*)$", re.MULTILINE)


def read_excerpt(text: str) -> ToolOutput | None:
    """Reads lines about a link without the line that names its device. A narrow link is complained about; a slow one
    may save power."""
    lines, errors = _EXCERPT.findall(text), _STATUS.findall(text)
    if re.search(_HEADER.pattern, text) or not (errors or any(name == "LnkSta" for name, _ in lines)):
        return None
    output, capable = ToolOutput("lspci excerpt"), None
    for name, rest in errors:
        if bits := _SET.findall(rest):
            kind = "uncorrectable" if name == "UESta" else "correctable"
            text = f"{kind} PCIe errors since the last reset: {', '.join(bits)}; the device is not named"
            output.complain(NODE, text, fails=False, remedy="see whether they return; then reseat the device")
    for name, rest in lines:
        link = _link(rest)
        if name == "LnkCap":
            capable = link
        elif link and (f"x{link[1]} (downgraded)" in rest or (capable and link[1] < capable[1])):
            able = f" of x{capable[1]}" if capable else ""
            output.complain(NODE, f"a PCIe link has width x{link[1]}{able}; the device is not named", fails=False,
                            remedy="reseat the device or its riser")  # fmt: skip
        elif link and ("downgraded" in rest or (capable and link[0] < capable[0])):
            output.doubt(NODE, f"a PCIe link runs at {link[0]} GT/s, below its maximum: idle devices do so too")
    output.lines = len(lines) + len(errors)
    return output
