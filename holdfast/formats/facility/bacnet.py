"""BACnet/IP, as far as reading numbers needs it: ReadProperty and ReadPropertyMultiple, asked and understood. Pure.

ASHRAE 135: a BVLC header, a network header, then the application's own. Objects are asked for their present value and
their status flags in one question; nothing is ever written.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.formats.facility.bacnet_tags import NotBacnet, Tag, tags

PRESENT_VALUE, STATUS_FLAGS = 85, 111
READ_PROPERTY, READ_PROPERTY_MULTIPLE = 12, 14
TYPES = {"analog-input": 0, "analog-output": 1, "analog-value": 2, "binary-input": 3, "binary-value": 5,
         "multi-state-input": 13, "multi-state-value": 19, "accumulator": 23, "large-analog-value": 46,
         "integer-value": 45, "positive-integer-value": 48}  # fmt: skip
LARGEST_INSTANCE = (1 << 22) - 2
_CONFIRMED, _COMPLEX, _ERROR, _REJECT, _ABORT = 0, 3, 5, 6, 7
_UP_TO_1476_BYTES = 0x05
_REJECTED_SERVICE = 9
_ERRORS = {31: "there is no such object", 32: "the object has no such property", 25: "the object is not configured",
           29: "reading is not allowed", 9: "the property cannot be told now"}  # fmt: skip
_FLAGS = ((0x40, "the device marks it as faulty"), (0x10, "the device has it out of service"))


class Point(NamedTuple):
    """One object: its type by number, and its instance."""

    type: int
    instance: int


class Told(NamedTuple):
    """What a device says of one object: a number, or why there is none."""

    value: float | None
    why: str = ""


class Answer(NamedTuple):
    invoke: int
    told: dict[Point, Told]
    refused: str = ""
    unknown_service: bool = False


def ask_many(points: Sequence[Point], invoke: int) -> bytes:
    """Present value and status flags of all of them, in one question."""
    wanted = bytes([0x1E, 0x09, PRESENT_VALUE, 0x09, STATUS_FLAGS, 0x1F])
    body = b"".join(b"\x0c" + _object(point) + wanted for point in points)
    return _packet(bytes([0, _UP_TO_1476_BYTES, invoke, READ_PROPERTY_MULTIPLE]) + body)


def ask_one(point: Point, invoke: int) -> bytes:
    """The present value alone, for devices that do not know the other question."""
    head = bytes([0, _UP_TO_1476_BYTES, invoke, READ_PROPERTY])
    return _packet(head + b"\x0c" + _object(point) + bytes([0x19, PRESENT_VALUE]))


def understand(packet: bytes) -> Answer:
    """The answer in a packet, or NotBacnet with what is wrong with it."""
    apdu = _application(packet)
    if len(apdu) < 3:
        raise NotBacnet("the answer ends before its service")
    kind, invoke = apdu[0] >> 4, apdu[1]
    if kind == _ERROR:
        return Answer(invoke, {}, _error(list(tags(apdu[3:]))))
    if kind in (_REJECT, _ABORT):
        word = "rejects" if kind == _REJECT else "aborts"
        unknown = kind == _REJECT and apdu[2] == _REJECTED_SERVICE
        return Answer(invoke, {}, f"the device {word} the question (reason {apdu[2]})", unknown)
    if kind != _COMPLEX:
        raise NotBacnet(f"not an answer: PDU type {kind}")
    if apdu[0] & 0x08:
        raise NotBacnet("the answer comes in segments, which are not read; ask for fewer objects")
    found = list(tags(apdu[3:]))
    if apdu[2] == READ_PROPERTY_MULTIPLE:
        return Answer(invoke, dict(_many(found)))
    if apdu[2] == READ_PROPERTY:
        return Answer(invoke, dict([_one(found)]))
    raise NotBacnet(f"an answer to another question: service {apdu[2]}")


def _object(point: Point) -> bytes:
    return struct.pack(">I", point.type << 22 | point.instance)


def _packet(apdu: bytes) -> bytes:
    return struct.pack(">BBHBB", 0x81, 0x0A, 6 + len(apdu), 0x01, 0x04) + apdu


def _application(packet: bytes) -> bytes:
    """What is inside the two headers; one that was forwarded has its sender's address between them."""
    if len(packet) < 4 or packet[0] != 0x81 or struct.unpack_from(">H", packet, 2)[0] != len(packet):
        raise NotBacnet("no BACnet/IP header, or another length than it says")
    place = {0x0A: 4, 0x0B: 4, 0x04: 10}.get(packet[1])
    if place is None or len(packet) < place + 2 or packet[place] != 1:
        raise NotBacnet(f"no answer inside: function {packet[1]}")
    control = packet[place + 1]
    place += 2
    if control & 0x80:
        raise NotBacnet("a message between routers")
    for bit in (0x20, 0x08):  # destination, then source
        if control & bit:
            if len(packet) < place + 3:
                raise NotBacnet("the network header ends early")
            place += 3 + packet[place + 2]
    return packet[place + bool(control & 0x20) :]


def _error(found: list[Tag]) -> str:
    numbers = [tag.unsigned() for tag in found if not tag.context and tag.number == 9]
    code = numbers[1] if len(numbers) > 1 else -1
    return _ERRORS.get(code, f"the device answers with error {code}")


def _point(tag: Tag) -> Point:
    if len(tag.data) != 4:
        raise NotBacnet("an object without its number")
    number = struct.unpack(">I", tag.data)[0]
    return Point(number >> 22, number & 0x3FFFFF)


def _one(found: list[Tag]) -> tuple[Point, Told]:
    if not found or not found[0].is_(0):
        raise NotBacnet("an answer without its object")
    inside = [tag for tag in found[1:] if not tag.context]
    return _point(found[0]), _number(inside)


def _many(found: list[Tag]) -> Iterator[tuple[Point, Told]]:
    point: Point | None = None
    asked = -1
    told: dict[int, list[Tag]] = {}
    wrong: list[Tag] = []
    depth = 0  # inside the list of an object's results, 2 inside a value or an error
    refused = False
    for tag in found:
        if depth == 0 and tag.is_(0):
            point, told, wrong, asked = _point(tag), {}, [], -1
        elif tag.opens:
            depth, refused = depth + 1, tag.number == 5
        elif tag.closes:
            depth -= 1
            if depth == 0 and point is not None:
                yield point, _said(told, wrong)
        elif depth == 1 and tag.is_(2):
            asked = tag.unsigned()
        elif depth == 2 and refused and asked == PRESENT_VALUE:
            wrong.append(tag)
        elif depth == 2 and not refused:
            told.setdefault(asked, []).append(tag)
    if depth:
        raise NotBacnet("the answer ends in the middle of a list")


def _said(told: dict[int, list[Tag]], wrong: list[Tag]) -> Told:
    if PRESENT_VALUE not in told:
        return Told(None, _error(wrong))
    flags = [tag.data[1] for tag in told.get(STATUS_FLAGS, ()) if tag.number == 8 and len(tag.data) > 1]
    for bit, why in _FLAGS:
        if flags and flags[0] & bit:
            return Told(None, why)
    return _number(told[PRESENT_VALUE])


def _number(found: list[Tag]) -> Told:
    if len(found) != 1 or (value := found[0].number_told()) is None:
        return Told(None, "expected a number, the device says something else")
    return Told(value)
