"""Messages about GPUs that the driver lost: off the bus, lost, or failed to initialise. Not all carry an Xid."""

import re

from holdfast.formats.kernel.line import KernelLine
from holdfast.formats.pci import address as pci_address
from holdfast.model.signal import Event

FALLEN_OFF_THE_BUS = 79  # Xid of the same fault, which the driver prints if it still can

_ADDRESS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?")
_HEADING = re.compile(rf"NVRM: The NVIDIA GPU {_ADDRESS.pattern}")
_GONE = re.compile(r"fallen off the bus|GPU is lost|GPU has been lost|lost from the bus", re.IGNORECASE)
_ECHO = "NV_ERR_"  # every driver call on a lost GPU fails with this; only the first one is informative
_INIT_FAILED = re.compile(
    r"RmInitAdapter failed!? ?"
    r"(?P<status>\((?:0x(?P<stage>[0-9a-f]{1,8}):0x(?P<error>[0-9a-f]{1,8}))?[0-9a-fx:]{0,40}\))?"
    r"|(?P<firmware>failed to wait for GFW.?boot|Cannot initialize GSP firmware|proceed with booting GSP)"
    r"|nvidia(?:: probe of \S{4,20}|.{0,20} probe with driver nvidia) failed with error",
    re.IGNORECASE,
)
# How far a GPU came when it did not start, and the error there (rm_init_status and NV_STATUS of the driver)
_FIRMWARE_STAGES = range(0x60, 0x70)
_OTHER_STAGES = range(0x23, 0x60)  # the GPU answers: its state, its memory or its VBIOS
_GONE_ERRORS = frozenset({0x05, 0x0F})  # no card, GPU is lost
_HEADING_REACHES_LINES = 3
_DRIVER = re.compile(r"NVRM: |nvidia[ :]")
_ANYBODY = re.compile(r"NVRM: |nvidia[ :]|Unable to determine the device handle |\s{0,40}(?:installed in|fallen off) ")


class GpuLost:
    """Keeps the first line of a message that the driver splits over three lines: it has the address, and often the
    time."""

    def __init__(self, *, shipped: bool = False) -> None:
        """`shipped`: the log was collected elsewhere and may contain the driver's words without its name, as tools
        print them."""
        self._by_driver = _ANYBODY if shipped else _DRIVER
        self._heading: KernelLine | None = None
        self._lost = False

    def find(self, line: KernelLine) -> Event | None:
        text = line.text
        if "Xid" in text or not self._by_driver.match(text):
            return None
        if _HEADING.match(text):
            self._heading = line
        heading = self._heading_of(line)
        device = _device(line) or (_device(heading) if heading else "")
        if heading and line.order is None:
            line = heading._replace(text=line.text)
        if _GONE.search(text) and not (self._lost and _ECHO in text):
            self._lost = True
            return line.event(
                "gpu_lost",
                code=FALLEN_OFF_THE_BUS,
                device=device,
                severity="fatal",
                action="restart_node",
            )
        if failed := _INIT_FAILED.search(text):
            detail = {"status": failed["status"]} if failed["status"] else {}
            return line.event(
                "gpu_lost",
                code=_code_of(failed),
                device=device,
                severity="fatal",
                action="reset_gpu",
                detail=detail,
            )
        return None

    def _heading_of(self, line: KernelLine) -> KernelLine | None:
        heading = self._heading
        return heading if heading and line.number - heading.number <= _HEADING_REACHES_LINES else None


def _code_of(failed: re.Match[str]) -> str:
    """What a GPU that does not start has: dead firmware, an error of its own, or no answer at all."""
    stage, error = (int(failed[name] or "0", 16) for name in ("stage", "error"))
    if error in _GONE_ERRORS:
        return "init_failed"
    if failed["firmware"] or stage in _FIRMWARE_STAGES:
        return "firmware_failed"
    return "start_failed" if stage in _OTHER_STAGES else "init_failed"


def _device(line: KernelLine) -> str:
    found = _ADDRESS.search(line.text)
    return pci_address.normal(found[0]) if found else ""
