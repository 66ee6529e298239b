"""Hardware errors that the firmware reports to the kernel (APEI), as records of several lines.

A record starts with its severity; its sections name the component. A PCIe section is an error like those the kernel
finds itself, and the AER driver prints its registers a moment later. All other sections are machine checks.
"""

import re
from dataclasses import replace
from typing import NamedTuple

from holdfast.formats.kernel import aer
from holdfast.formats.kernel.line import KernelLine
from holdfast.formats.pci import address as pci_address
from holdfast.model.signal import Event, Value

KEYWORDS = (b"[Hardware Error]", b"aer_status: 0x", b"aer_uncor_severity: 0x")
"""Every line that FirmwareErrors needs contains one of these."""

_RECORD_LINE = re.compile(r"(?:mce: )?(?:\{\d{1,9}\})?\[Hardware Error\]:\s*(?P<what>.*)")
_RECORD = re.compile(r"(?:event severity: |severity: \d{1,3}, )(?P<word>\w+)")
_PART = re.compile(r"(?:Error \d{1,3}, type: |section: \d{1,3}, severity: \d{1,3}, )(?P<word>\w+)")
_SECTION = re.compile(r"section[_ ]type: (?P<name>.+)")
_DEVICE = re.compile(rf"device_id: (?P<device>{pci_address.PATTERN})$")
_REGISTER = re.compile(r"aer_(?P<which>cor|uncor)_status: 0x(?P<status>[0-9a-f]{1,8})", re.IGNORECASE)
_AER_STATUS = re.compile(
    rf"(?:[\w-]+ )?(?P<device>{pci_address.PATTERN}): (?:AER: )?aer_status: 0x(?P<status>[0-9a-f]{{1,8}})",
    re.IGNORECASE,
)
_AER_SEVERITY = re.compile(
    rf"(?:[\w-]+ )?(?P<device>{pci_address.PATTERN}): (?:AER: )?aer_uncor_severity: 0x(?P<fatal>[0-9a-f]{{1,8}})",
    re.IGNORECASE,
)

_PCIE = "pcie error"
_PCIE_SEVERITY = {"corrected": aer.CORRECTABLE, "recoverable": aer.NONFATAL, "fatal": aer.FATAL}
_MACHINE_CHECK = {"corrected": ("correctable", "monitor"), "recoverable": ("fatal", "check_hardware"),
                  "fatal": ("fatal", "check_hardware")}  # fmt: skip
"""An uncorrected error means lost data, even if the machine keeps running."""
_MAX_WAITING = 16


class _Status(NamedTuple):
    """A register printed by the AER driver without a record before it; the kernel suppresses records that come too
    often."""

    line: KernelLine
    device: str
    bits: int

    def event(self, fatal_bits: int | None = None) -> Event:
        """The event of this register. The kernel prints only for uncorrectable errors which of them are fatal."""
        if fatal_bits is None:
            severity = aer.CORRECTABLE if aer.is_correctable(self.bits) else aer.NONFATAL
        else:
            severity = aer.FATAL if self.bits & fatal_bits else aer.NONFATAL
        return _pcie_event(self.line, self.device, severity, self.bits)


class FirmwareErrors:
    """Takes lines and returns each event that a line completes."""

    def __init__(self) -> None:
        self._record: KernelLine | None = None
        self._record_word = self._word = self._section = self._device = ""
        self._registers: dict[str, int] = {}
        self._lone: _Status | None = None
        self._waiting: list[Event] = []  # mostly PCIe errors whose registers may still be printed

    def feed(self, line: KernelLine) -> Event | None:
        if match := _RECORD_LINE.match(line.text):
            return self._read_record(line, match["what"].strip())
        if match := _AER_STATUS.match(line.text):
            return self._read_status(line, match)
        if match := _AER_SEVERITY.match(line.text):
            lone, self._lone = self._lone, None
            if lone and lone.device == pci_address.normal(match["device"]):
                return lone.event(int(match["fatal"], 16))
            return lone.event() if lone else None
        return None

    def settle(self) -> list[Event]:
        """Returns the events that are complete enough; a record whose subject is unknown keeps waiting."""
        if self._record and not (self._device or (self._section and self._section.lower() != _PCIE)):
            return []
        return self.finish()

    def finish(self) -> list[Event]:
        last = self._end_record()
        waiting, self._waiting = self._waiting, []
        return [*waiting, *([last] if last else [])]

    def _read_record(self, line: KernelLine, what: str) -> Event | None:
        if match := _RECORD.match(what):
            done = self._end_record()
            self._record, self._record_word = line, match["word"].lower()
            return done
        if self._record is None:
            return None
        if match := _PART.match(what):
            done = self._end_section()
            self._word = match["word"].lower()
            return done
        if match := _SECTION.match(what):
            self._section = match["name"].strip()
        elif match := _DEVICE.match(what):
            self._device = pci_address.normal(match["device"])
        elif match := _REGISTER.match(what):
            self._registers[match["which"].lower()] = int(match["status"], 16)
        return None

    def _read_status(self, line: KernelLine, match: re.Match[str]) -> Event | None:
        device, bits = pci_address.normal(match["device"]), int(match["status"], 16)
        done = self._end_record()
        for place, event in enumerate(self._waiting):
            if event.device == device and not event.code:
                self._waiting[place : place + 1] = [done] if done else []
                return replace(event, code=aer.names(bits, event.severity) or None)
        self._lone = _Status(line, device, bits)
        return done

    def _end_record(self) -> Event | None:
        lone, self._lone = self._lone, None
        if self._record is None:
            return lone.event() if lone else None
        done = self._end_section() if self._section else self._machine_check()
        self._record = None
        return done

    def _end_section(self) -> Event | None:
        section = self._section.lower()
        event = self._pcie_error() if section == _PCIE else self._machine_check() if section else None
        self._word = self._section = self._device = ""
        self._registers = {}
        if event is None or event.kind != "aer" or event.code or not event.device:
            return event
        self._waiting.append(event)
        return self._waiting.pop(0) if len(self._waiting) > _MAX_WAITING else None

    def _pcie_error(self) -> Event:
        severity = _PCIE_SEVERITY.get(self._word or self._record_word, "info")
        bits = self._registers.get("cor" if severity == aer.CORRECTABLE else "uncor", 0)
        return _pcie_event(self._reported(), self._device, severity, bits)

    def _machine_check(self) -> Event:
        severity, action = _MACHINE_CHECK.get(self._word or self._record_word, ("info", "ignore"))
        detail: dict[str, Value] = {"section": self._section} if self._section else {}
        return self._reported().event("mce", code="firmware", severity=severity, action=action, detail=detail)

    def _reported(self) -> KernelLine:
        """The record in one line."""
        fields = [f"event severity: {self._record_word}"]
        fields += [f"section_type: {self._section}"] if self._section else []
        fields += [f"device_id: {self._device}"] if self._device else []
        return (self._record or KernelLine(""))._replace(text=f"[Hardware Error]: {', '.join(fields)}")


def _pcie_event(line: KernelLine, device: str, severity: str, bits: int) -> Event:
    action = "ignore" if severity == "info" else aer.action_of(severity)
    code = aer.names(bits, severity) or None
    return line.event("aer", code=code, device=device, severity=severity, action=action, detail={"by": "firmware"})
