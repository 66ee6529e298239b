"""Encodes and decodes plain values. Any bytes decode to a value or raise EncodingError; no code runs."""

from typing import Any

import msgspec


class EncodingError(ValueError):
    """A state that cannot be encoded, or bytes that are not an encoded state."""


def pack(message: object) -> bytes:
    return msgspec.msgpack.encode(message)


def unpack(raw: bytes | bytearray | memoryview) -> Any:
    try:
        return msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EncodingError(f"not a message: {error}") from error
