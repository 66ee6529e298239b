"""PCIe Advanced Error Reporting: kernel messages and sysfs counters."""

import re
from dataclasses import replace

from holdfast.formats.kernel.line import KernelLine
from holdfast.formats.pci import address as pci_address
from holdfast.formats.pci import sysfs as pcie
from holdfast.model.signal import Event, Value

CORRECTABLE = "correctable"
NONFATAL = "nonfatal"
FATAL = "fatal"

# Bit numbers of the two status registers, PCI Express Base Specification 6.0, 7.8.4
_CORRECTABLE_BITS = {
    0: "RxErr", 6: "BadTLP", 7: "BadDLLP", 8: "Rollover", 12: "Timeout", 13: "NonFatalErr", 14: "CorrIntErr",
    15: "HeaderOF",
}  # fmt: skip
_UNCORRECTABLE_BITS = {
    0: "Undefined", 4: "DLP", 5: "SDES", 12: "TLP", 13: "FCP", 14: "CmpltTO", 15: "CmpltAbrt", 16: "UnxCmplt",
    17: "RxOF", 18: "MalfTLP", 19: "ECRC", 20: "UnsupReq", 21: "ACSViol", 22: "UncorrIntErr", 23: "BlockedTLP",
    24: "AtomicOpBlocked", 25: "TLPBlockedErr", 26: "PoisonTLPBlocked",
}  # fmt: skip

_ADDRESS = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_GRADE = r"(?P<grade>Correct|Uncorrect)(?:ed|able) ?(?:\((?P<fatality>Fatal|Non-?Fatal)\))?"
_BUS_ERROR = re.compile(
    rf"(?:(?P<driver>[\w-]+) )?(?P<device>{_ADDRESS}): (?:AER: )?PCIe Bus Error: severity={_GRADE},? "
    r"type=(?P<layer>[\w ]+)",
    re.IGNORECASE,
)
_RECEIVED = re.compile(
    rf"(?:[\w-]+ )?(?P<port>{_ADDRESS}): AER: (?:Multiple )?{_GRADE} ?error (?:message )?received"
    rf"(?:(?: from|:)? ?(?:id=(?P<id>[0-9a-f]{{4}})|(?P<device>{_ADDRESS})))?",
    re.IGNORECASE,
)
_STATUS = re.compile(
    rf"(?:[\w-]+ )?(?P<device>{_ADDRESS}): (?:AER: )? *device \[[0-9a-f]{{4}}:[0-9a-f]{{4}}\] "
    r"error status/mask=(?P<status>[0-9a-f]{8})/",
    re.IGNORECASE,
)


class AerText:
    """Joins the lines of one AER error (announcement, error, status) into one event."""

    def __init__(self) -> None:
        self._waiting: Event | None = None
        self._announced = False

    def feed(self, line: KernelLine) -> Event | None:
        """Takes a line and returns the event that it completes, which is the previous one."""
        if match := _BUS_ERROR.match(line.text):
            event = _event(line, match, match["device"], {"layer": match["layer"].strip()})
            done = None if self._was_announced(event.device) else self._waiting
            self._waiting, self._announced = event, False
            return done
        if match := _RECEIVED.match(line.text):
            done, port = self._waiting, pci_address.normal(match["port"])
            source = pci_address.from_requester_id(match["id"], port) if match["id"] else match["device"] or port
            self._waiting, self._announced = _event(line, match, source, {"port": port}), True
            return done
        if (match := _STATUS.match(line.text)) and self._waiting:
            if self._waiting.device != pci_address.normal(match["device"]):
                return None
            done = replace(self._waiting, code=names(int(match["status"], 16), self._waiting.severity) or None)
            self._waiting = None
            return done
        return None

    def _was_announced(self, device: str) -> bool:
        """Whether the pending lines are only the announcement of this device's error, by its port or by itself."""
        waiting = self._waiting
        return self._announced and waiting is not None and device in (waiting.device, waiting.detail.get("port"))

    def finish(self) -> Event | None:
        done, self._waiting = self._waiting, None
        return done


def _event(line: KernelLine, match: re.Match[str], device: str, detail: dict[str, Value]) -> Event:
    severity = CORRECTABLE
    if match["grade"].lower() == "uncorrect":
        severity = FATAL if (match["fatality"] or "").lower() == "fatal" else NONFATAL
    return line.event(
        "aer", device=pci_address.normal(device), severity=severity, action=action_of(severity), detail=detail
    )


def action_of(severity: str) -> str:
    """Corrected errors are watched for their rate; for the others, slot and cable need an inspection."""
    return "monitor" if severity == CORRECTABLE else "check_hardware"


def names(status: int, severity: str) -> str:
    """Names of the bits that are set in a status register."""
    bits = _CORRECTABLE_BITS if severity == CORRECTABLE else _UNCORRECTABLE_BITS
    return ",".join(name for bit, name in bits.items() if status >> bit & 1)


def is_correctable(status: int) -> bool:
    """Whether a status register of unknown type can be that of corrected errors."""
    return all(bit in _CORRECTABLE_BITS for bit in range(32) if status >> bit & 1)


def from_sysfs(text: str, device: str, severity: str) -> list[Event]:
    """One event per non-zero counter of an aer_dev_* file. The TOTAL_ line repeats them and is left out."""
    numbers = {raw.split(" ")[0]: number for number, raw in enumerate(text.splitlines(), 1)}
    return [
        Event(
            kind="aer", at=0.0, text=f"{name} {count}", device=pci_address.normal(device), code=name, count=count,
            severity=severity, action=action_of(severity), line=numbers.get(name, 0), detail={"register": "counter"},
        )
        for name, count in pcie.aer_counters(text).items()
        if count and not name.startswith("TOTAL_")
    ]  # fmt: skip
