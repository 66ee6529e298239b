"""JSON bodies and text that both engines can hold."""

from typing import Any, TypeVar

import msgspec

from holdfast.runtime import codec

T = TypeVar("T")


def clean(text: str) -> str:
    """Replaces characters that the engines cannot store: NUL (PostgreSQL) and single surrogates. A kernel line may hold
    both."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def encode(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_repaired(msgspec.to_builtins(value))).decode()


def decode(body: str, into: type[T]) -> T:
    return codec.decode(body, into)


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_repaired(key): _repaired(held) for key, held in value.items()}
    return [_repaired(held) for held in value] if isinstance(value, (list, tuple)) else value
