"""Strips colours, mail quotes, indentation and code fences from the output of a tool."""

import re
import textwrap

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_QUOTE = re.compile(r"^(?:> ?)+", re.MULTILINE)
MOSTLY = 0.6  # of the lines are quoted: a letter, and not a log with a prompt in it


def plain(text: str) -> str:
    text = _COLOUR.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and sum(line.startswith(">") for line in lines) >= MOSTLY * len(lines):
        text = _QUOTE.sub("", text)
    return textwrap.dedent(text) if lines and all(line[0] in " \t" for line in lines) else text
