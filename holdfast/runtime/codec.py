"""JSON into types, from any thread.

msgspec builds the decoder of a type on first use and publishes it before it is complete. A second thread then reads a
null pointer, and the process crashes. Here one thread at a time builds decoders.
"""

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_learning = threading.Lock()
_known: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder of a type, shared by all callers."""
    found = _known.get(kind)
    if found is None:
        with _learning:
            found = _known.setdefault(kind, msgspec.json.Decoder(kind))
    return found


def decode(body: bytes | str, kind: type[T]) -> T:
    """Raises what msgspec raises: MsgspecError, and RecursionError for deep texts."""
    return decoder(kind).decode(body)


def convert(value: object, kind: type[T]) -> T:
    """A value of dicts and lists as this type."""
    decoder(kind)
    return msgspec.convert(value, kind)
