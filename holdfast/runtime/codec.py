"""JSON into types, from any thread.

msgspec learns a type when it first meets it, and keeps the half-learned type where another thread finds it. That one
reads through a null pointer, and the process dies. Here types are learned by one thread at a time.
"""

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_learning = threading.Lock()
_known: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder of a type; the same one for everybody."""
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
