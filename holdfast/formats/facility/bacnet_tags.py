"""BACnet's tags: every value with what it is and how long, one after the other."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

_OPENS, _CLOSES = 6, 7
_BOOLEAN, _UNSIGNED, _SIGNED, _REAL, _DOUBLE, _ENUMERATED = 1, 2, 3, 4, 5, 9
LONGEST = 1476


class NotBacnet(ValueError):
    """The bytes are no answer that can be read."""


class Tag(NamedTuple):
    number: int
    context: bool
    data: bytes
    opens: bool = False
    closes: bool = False

    def is_(self, number: int) -> bool:
        """A value of its place in the question, by number."""
        return self.context and self.number == number and not self.opens and not self.closes

    def unsigned(self) -> int:
        return int.from_bytes(self.data, "big")

    def number_told(self) -> float | None:
        """None where it is no number."""
        if self.number in (_BOOLEAN, _UNSIGNED, _ENUMERATED) and self.data:
            return float(self.unsigned())
        if self.number == _SIGNED and self.data:
            return float(int.from_bytes(self.data, "big", signed=True))
        if self.number == _REAL and len(self.data) == 4:
            return float(struct.unpack(">f", self.data)[0])
        if self.number == _DOUBLE and len(self.data) == 8:
            return float(struct.unpack(">d", self.data)[0])
        return None


def tags(data: bytes) -> Iterator[Tag]:
    place = 0
    while place < len(data):
        first = data[place]
        number, context, rest = first >> 4, bool(first & 0x08), first & 0x07
        place += 1
        if number == 15:
            number, place = _byte(data, place), place + 1
        if context and rest in (_OPENS, _CLOSES):
            yield Tag(number, True, b"", rest == _OPENS, rest == _CLOSES)
            continue
        if number == _BOOLEAN and not context:  # its value stands where others have their length
            yield Tag(number, False, bytes([rest]))
            continue
        length, place = _length(data, place, rest)
        if place + length > len(data):
            raise NotBacnet("a value is shorter than it says")
        yield Tag(number, context, data[place : place + length])
        place += length


def _length(data: bytes, place: int, rest: int) -> tuple[int, int]:
    if rest < 5:
        return rest, place
    length = _byte(data, place)
    place += 1
    if length < 254:
        return length, place
    width = 2 if length == 254 else 4
    return int.from_bytes(data[place : place + width], "big") or LONGEST + 1, place + width


def _byte(data: bytes, place: int) -> int:
    if place >= len(data):
        raise NotBacnet("a tag ends early")
    return data[place]
