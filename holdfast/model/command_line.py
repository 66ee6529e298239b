"""Quotes names of users and devices for commands that an operator copies into a shell."""

import re
import shlex
from collections.abc import Mapping

_NAME = re.compile(r"<([a-z_]+)>")
_IN_QUOTES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@,|+=- ")


def argument(text: str) -> str:
    """Any text as one word of a command. A control character could submit a paste early, so it becomes '?'."""
    return shlex.quote("".join(one if one.isprintable() else "?" for one in text))


def operand(text: str) -> str:
    """Like `argument`, for a text that is the whole word: a leading '-' must not make it an option."""
    return f"-- {argument(text)}" if text.startswith("-") else argument(text)


def fill(command: str, values: Mapping[str, str]) -> str:
    """Replace each <name> by its value as one word. Inside quotes, every character with a meaning to the shell becomes
    '.'."""

    def word(found: re.Match[str]) -> str:
        if found[1] not in values:
            return found[0]
        before, value = command[: found.start()], values[found[1]]
        if before.count('"') % 2 or before.count("'") % 2:
            return "".join(one if one in _IN_QUOTES else "." for one in value)
        return operand(value)

    return _NAME.sub(word, command)
