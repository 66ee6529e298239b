"""The values that a type allows, for sentences about one that it does not."""

import enum
import re
from typing import Any, Literal, get_args, get_origin

_NOT_ONE = re.compile(r"Invalid enum value (.+)")


def named(error: str, kind: Any) -> str:
    """msgspec's words about a value that is none of an enumeration, with those that are; other words as they stand."""
    found = _NOT_ONE.fullmatch(error)
    allowed = choices(kind)
    return f"{found[1]} is not one of {', '.join(allowed)}" if found and allowed else error


def choices(kind: Any) -> list[str]:
    """Of an enumeration, wherever in a type it stands."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [str(one.value) for one in kind]
    if get_origin(kind) is Literal:
        return [str(one) for one in get_args(kind)]
    return [choice for part in get_args(kind) for choice in choices(part)]
