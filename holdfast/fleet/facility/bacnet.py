"""Signals from a BACnet/IP device: a TOML table maps objects to signals. Read-only."""

import asyncio
import logging
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from holdfast.catalog import seam_signals
from holdfast.fleet.facility.building import host_and_port, number, refuse_unknown, refuse_zero
from holdfast.model.signal import Reading
from holdfast.runtime.source import ReadingBuilder

AT_ONCE = 20  # objects in one request, so that the answer fits one packet
LARGEST_INSTANCE = (1 << 22) - 2
Kind = Literal[
    "analog-input", "analog-output", "analog-value", "binary-input", "binary-value", "multi-state-input",
    "multi-state-value", "accumulator", "large-analog-value", "integer-value", "positive-integer-value",
]  # fmt: skip
_ERRORS = {
    "unknown-object": "there is no such object",
    "unknown-property": "the object has no such property",
    "no-objects-of-specified-type": "the object is not configured",
    "read-access-denied": "reading is not allowed",
}
_UNKNOWN_SERVICE = 9  # reject reason


class ObjectKey(NamedTuple):
    type: Kind
    instance: int


class ObjectValue(NamedTuple):
    """The present value of one object, or the reason why there is none."""

    value: float | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BacnetObject:
    signal: str
    instance: int
    type: Kind = "analog-input"
    scale: float = 1.0
    offset: float = 0.0
    subject: str = ""
    """For a device that measures several things; '' is the device's own subject."""
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        refuse_unknown(self.signal)
        if not 0 <= self.instance <= LARGEST_INSTANCE:
            raise ValueError(f"instance: expected 0 to {LARGEST_INSTANCE}, found {self.instance}")
        refuse_zero(self.scale)

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.type, self.instance)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacnetSettings:
    subject: str
    address: str
    """HOST:PORT; 47808 is the usual port."""
    object: tuple[BacnetObject, ...]
    every: float = 30.0
    timeout: float = 3.0

    def __post_init__(self) -> None:
        host_and_port(self.address)
        if not self.object:
            raise ValueError("object: expected at least one")


class _Unreadable(Exception):
    """No object can be read; the message says why."""


class BacnetSource:
    def __init__(self, settings: BacnetSettings) -> None:
        self.settings = settings
        self.name = f"bacnet {settings.subject}"
        self.every = settings.every
        self.deadline = settings.timeout * (len(settings.object) + 1) + 1.0
        self.carries = tuple(dict.fromkeys(one.signal for one in settings.object))
        self._one_by_one = False  # the device does not know ReadPropertyMultiple

    def read(self, now: float) -> Reading:
        try:
            values = asyncio.run(self._read_all(list(dict.fromkeys(one.key for one in self.settings.object))))
        except ImportError:
            return self._blind(now, "bacpypes3 is not installed: pip install '.[facility]' in a clone")
        except (OSError, _Unreadable) as error:
            return self._blind(now, f"{self.settings.address}: {error}")
        builder = ReadingBuilder()
        for one in self.settings.object:
            self._add(one, values.get(one.key, ObjectValue(None, "the device leaves it out of its answer")), builder)
        return builder.build(self.name, now)

    async def _read_all(self, keys: list[ObjectKey]) -> dict[ObjectKey, ObjectValue]:
        from bacpypes3.ipv4.app import NormalApplication
        from bacpypes3.local.device import DeviceObject
        from bacpypes3.pdu import IPv4Address

        logging.getLogger("bacpypes3").setLevel(logging.CRITICAL)  # a malformed packet is "no answer" here
        host, port = host_and_port(self.settings.address)
        where = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0][4]
        device = DeviceObject(
            objectIdentifier=("device", LARGEST_INSTANCE),
            objectName="holdfast",
            vendorIdentifier=0,
            apduTimeout=int(self.settings.timeout * 1000),
            numberOfApduRetries=0,
        )
        app = NormalApplication(device, IPv4Address("0.0.0.0:0"))  # port 0, so that it answers no broadcast
        try:
            found: dict[ObjectKey, ObjectValue] = {}
            for first in range(0, len(keys), AT_ONCE):
                found |= await self._read_some(app, IPv4Address(where), keys[first : first + AT_ONCE])
            return found
        finally:
            app.close()

    async def _read_some(self, app: Any, where: Any, keys: list[ObjectKey]) -> dict[ObjectKey, ObjectValue]:
        from bacpypes3.apdu import ErrorRejectAbortNack, RejectPDU

        if not self._one_by_one:
            answer = await self._request(app, _multiple_request(where, keys))
            if not isinstance(answer, ErrorRejectAbortNack):
                return dict(map(_object_value, answer.listOfReadAccessResults))
            self._one_by_one = isinstance(answer, RejectPDU) and answer.apduAbortRejectReason == _UNKNOWN_SERVICE
            if not self._one_by_one:
                return dict.fromkeys(keys, ObjectValue(None, _refusal(answer)))
        found = {}
        for key in keys:
            answer = await self._request(app, _single_request(where, key))
            refused = isinstance(answer, ErrorRejectAbortNack)
            found[key] = ObjectValue(None, _refusal(answer)) if refused else _number(answer.propertyValue)
        return found

    async def _request(self, app: Any, request: Any) -> Any:
        """The answer or refusal. A lost packet is not sent again, because the next read replaces it."""
        from bacpypes3.apdu import AbortPDU, AbortReason, ErrorRejectAbortNack

        try:  # the library drops a request whose answer it cannot decode, so we need our own timeout
            async with asyncio.timeout(self.settings.timeout):
                return await app.request(request)
        except TimeoutError:
            pass
        except ErrorRejectAbortNack as refusal:
            if not isinstance(refusal, AbortPDU) or refusal.apduAbortRejectReason != AbortReason.noResponse:
                return refusal
        raise _Unreadable(f"no answer within {self.settings.timeout:g} s")

    def _add(self, one: BacnetObject, found: ObjectValue, builder: ReadingBuilder) -> None:
        about, where = one.subject or self.settings.subject, f"{one.type} {one.instance}"
        if found.value is None:
            builder.miss(about, f"{where}: {found.why}", one.signal)
            return
        value = found.value * one.scale + one.offset
        if why := seam_signals.implausible(one.signal, value, one.least, one.most):
            builder.miss(about, f"{where}: {why}; a broken sensor, or another scale", one.signal)
        else:
            builder.add(about, one.signal, value)

    def _blind(self, now: float, why: str) -> Reading:
        return Reading(source=self.name, at=now, blind=f"{self.settings.subject}: {why}")


def _multiple_request(where: Any, keys: Iterable[ObjectKey]) -> Any:
    from bacpypes3.apdu import ReadPropertyMultipleRequest
    from bacpypes3.basetypes import PropertyReference, ReadAccessSpecification

    return ReadPropertyMultipleRequest(
        listOfReadAccessSpecs=[
            ReadAccessSpecification(
                objectIdentifier=tuple(key),
                listOfPropertyReferences=[
                    PropertyReference(propertyIdentifier=name) for name in ("present-value", "status-flags")
                ],
            )
            for key in keys
        ],
        destination=where,
    )


def _single_request(where: Any, key: ObjectKey) -> Any:
    from bacpypes3.apdu import ReadPropertyRequest

    return ReadPropertyRequest(objectIdentifier=tuple(key), propertyIdentifier="present-value", destination=where)


def _object_value(result: Any) -> tuple[ObjectKey, ObjectValue]:
    """The value of an object, unless its status flags mark it as unreliable."""
    from bacpypes3.basetypes import StatusFlags

    kind, instance = result.objectIdentifier
    key = ObjectKey(str(kind), instance)  # type: ignore[arg-type]
    elements = {str(one.propertyIdentifier): one.readResult for one in result.listOfResults}
    value, flags = elements.get("present-value"), elements.get("status-flags")
    if value is None or value.propertyAccessError is not None:
        return key, ObjectValue(None, _error(value and value.propertyAccessError))
    if flags is not None and flags.propertyValue is not None:
        marked = flags.propertyValue.cast_out(StatusFlags)
        if marked[StatusFlags.fault]:
            return key, ObjectValue(None, "the device marks it as faulty")
        if marked[StatusFlags.outOfService]:
            return key, ObjectValue(None, "the device has it out of service")
    return key, _number(value.propertyValue)


def _number(value: Any) -> ObjectValue:
    """A number of any numeric type, because devices do not always send the standard's type."""
    from bacpypes3.errors import RejectException
    from bacpypes3.primitivedata import TagClass

    tags = [tag for tag in value.tagList if tag.tag_class == TagClass.application]
    try:
        found = tags[0].app_to_object() if len(tags) == 1 else None
    except (ValueError, struct.error, RejectException):
        found = None
    read = number(found)
    return ObjectValue(read, "" if read is not None else "expected a number, the device sends something else")


def _refusal(answer: Any) -> str:
    from bacpypes3.apdu import ErrorPDU

    return _error(answer) if isinstance(answer, ErrorPDU) else f"the device refuses the request ({answer})"


def _error(error: Any) -> str:
    code = str(error.errorCode) if error is not None else "no value"
    return _ERRORS.get(code, f"the device answers with error {code}")
