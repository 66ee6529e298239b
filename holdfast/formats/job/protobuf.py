"""Reads the fields of a protobuf message without its schema, as far as the metrics files need it."""

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields (number, value): a varint as a number, all others as bytes. Stops where the message is damaged."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        wire = key & 7
        if wire == _VARINT:
            value: int | bytes
            value, at = _varint(message, at)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(wire, -1)
            if wire == _BYTES:
                size, at = _varint(message, at)
            if size < 0 or at < 0 or at + size > len(message):
                return
            value, at = message[at : at + size], at + size
        if at < 0:
            return
        yield key >> 3, value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """The number and the offset behind it; (0, -1) if it is cut off."""
    value = 0
    if at < 0:
        return 0, -1
    for place, byte in enumerate(message[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    return 0, -1
