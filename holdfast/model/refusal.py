"""Refusals: the error that a command prints for input it cannot accept, with the values it would accept."""

import enum
import re
from typing import Any, Literal, get_args, get_origin

_NOT_ONE = re.compile(r"Invalid enum value (.+)")


class Refusal(Exception):
    """The message names what, where and what was expected; nothing was changed."""

    def __init__(self, sentence: str, exit_code: int = 64, code: str = "") -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
        self.code = code  # the controller's name for this refusal; docs/api.md lists them


def named(error: str, kind: Any) -> str:
    """msgspec's error about an enum value, with the allowed values; any other error unchanged."""
    found = _NOT_ONE.fullmatch(error)
    allowed = choices(kind)
    return f"{found[1]} is not one of {', '.join(allowed)}" if found and allowed else error


def choices(kind: Any) -> list[str]:
    """The values of the enumeration in a type."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [str(one.value) for one in kind]
    if get_origin(kind) is Literal:
        return [str(one) for one in get_args(kind)]
    return [choice for part in get_args(kind) for choice in choices(part)]
