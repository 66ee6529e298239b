"""Modbus/TCP source, such as a coolant unit or a meter. A TOML table maps registers to signals."""

import logging
from dataclasses import dataclass
from typing import Any, Literal

from holdfast.catalog import seam_signals
from holdfast.fleet.facility.building import host_and_port, refuse_unknown, refuse_zero
from holdfast.formats.management import modbus_registers
from holdfast.formats.management.modbus_registers import Kind, Order
from holdfast.model.signal import Reading
from holdfast.runtime.source import ReadingBuilder

_LARGEST_REGISTER = 65_535
_EXCEPTIONS = {
    1: "the device does not know this kind of read",
    2: "the device has no such register",
    3: "the device refuses this number of registers",
    4: "the device failed while answering",
    6: "the device is busy",
    10: "the gateway has no path to this unit",
    11: "the unit behind the gateway does not answer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModbusRegister:
    signal: str
    register: int
    """Counted from 0, as on the wire; a manual that begins at 40001 counts from 1."""
    type: Kind = "uint16"
    table: Literal["holding", "input"] = "holding"
    word_order: Order = "big"
    scale: float = 1.0
    """The value is register x scale + offset: 0.1 for tenths of a degree."""
    offset: float = 0.0
    subject: str = ""
    """Subject, if the device has values of several subjects; '': the device's own subject."""
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        refuse_unknown(self.signal)
        if not 0 <= self.register <= _LARGEST_REGISTER + 1 - modbus_registers.words(self.type):
            raise ValueError(f"register: expected 0 to {_LARGEST_REGISTER}, found {self.register}")
        refuse_zero(self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModbusSettings:
    subject: str
    address: str
    """HOST:PORT; 502 is the usual port."""
    register: tuple[ModbusRegister, ...]
    unit: int = 1
    every: float = 10.0
    timeout: float = 3.0
    """Seconds for the connection and for each answer."""

    def __post_init__(self) -> None:
        host_and_port(self.address)
        if not 0 <= self.unit <= 255:
            raise ValueError(f"unit: expected 0 to 255, found {self.unit}")
        if not self.register:
            raise ValueError("register: expected at least one")


class ModbusSource:
    def __init__(self, settings: ModbusSettings) -> None:
        self.settings = settings
        self.name = f"modbus {settings.subject}"
        self.every = settings.every
        self.deadline = settings.timeout * (len(settings.register) + 1) + 1.0
        self.carries = tuple(dict.fromkeys(one.signal for one in settings.register))

    def read(self, now: float) -> Reading:
        try:
            from pymodbus.client import ModbusTcpClient
        except ImportError:
            return self._blind(now, "pymodbus is not installed: pip install '.[facility]' in a clone")
        # pymodbus logs every failed packet; we log a failure once
        logging.getLogger("pymodbus").setLevel(logging.CRITICAL)
        host, port = host_and_port(self.settings.address)
        client: Any = ModbusTcpClient(host, port=port, timeout=self.settings.timeout, retries=0)
        try:
            if not client.connect():
                return self._blind(now, f"{self.settings.address} cannot be reached")
            return self._read(client, now)
        finally:
            client.close()

    def _read(self, client: Any, now: float) -> Reading:
        builder = ReadingBuilder()
        for place, one in enumerate(self.settings.register):
            about = one.subject or self.settings.subject
            value, why, answered = self._value(client, one)
            if not answered:  # other registers would time out too
                if not builder.signals and not builder.absent:
                    return self._blind(now, why)
                for other in self.settings.register[place:]:
                    builder.miss(other.subject or self.settings.subject, why, other.signal)
                break
            if why:
                builder.miss(about, f"register {one.register} ({one.type}): {why}", one.signal)
            else:
                builder.add(about, one.signal, value)
        return builder.build(self.name, now)

    def _value(self, client: Any, one: ModbusRegister) -> tuple[float, str, bool]:
        """The value, the reason if there is none, and whether the device answered at all."""
        from pymodbus.exceptions import ModbusException

        ask = client.read_holding_registers if one.table == "holding" else client.read_input_registers
        try:
            reply = ask(one.register, count=modbus_registers.words(one.type), device_id=self.settings.unit)
        except (ModbusException, OSError):
            return 0.0, f"no answer within {self.settings.timeout:g} s", False
        if reply.isError():
            code = getattr(reply, "exception_code", 0)
            return 0.0, _EXCEPTIONS.get(code, f"the device answers with exception {code}"), True
        try:
            raw = modbus_registers.decode(reply.registers, one.type, one.word_order)
        except ValueError as error:
            return 0.0, str(error), True
        value = raw * one.scale + one.offset
        why = seam_signals.implausible(one.signal, value, one.least, one.most)
        return value, f"{why}; a broken sensor, or another type or scale" if why else "", True

    def _blind(self, now: float, why: str) -> Reading:
        return Reading(source=self.name, at=now, blind=f"{self.settings.subject}: {why}")
