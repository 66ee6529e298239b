"""Standard output and error without the control characters of others: names, log lines and reasons are untrusted.

A file name, a job name or a log line may hold an escape sequence that clears the screen, renames the window or answers
for the user. All output of commands passes here. A pipe gets plain text. A
terminal gets the sequences that Rich writes: colours, and on standard error the cursor movements of a progress bar.
"""

import io
import re
import sys
import unicodedata
from typing import TextIO

REPLACEMENT = "\ufffd"  # no backslash: the text may be JSON
_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp"})  # control and format characters, separators of lines and paragraphs
_CONTROL = r"[^\x20-\x7e\t\n]"  # candidates: their category decides
_COLOUR = r"\x1b\[[0-9;]*m"
_CURSOR = r"\x1b\[\??[0-9;]*[AKhl]|\r"
_PIPE = re.compile(f"((?!))|{_CONTROL}")
_TERMINAL = {
    "stdout": re.compile(f"({_COLOUR})|{_CONTROL}"),
    "stderr": re.compile(f"({_COLOUR}|{_CURSOR})|{_CONTROL}"),
}


class SafeStream(io.TextIOWrapper):
    """A text stream that replaces control characters; the first group of `pattern` may pass."""

    pattern = _PIPE

    def write(self, text: str, /) -> int:
        super().write(text if text.isprintable() else self.pattern.sub(_allowed, text))
        return len(text)


def protect_streams() -> None:
    sys.stdout, sys.stderr = safe(sys.stdout, "stdout"), safe(sys.stderr, "stderr")


def safe(stream: TextIO, name: str) -> TextIO:
    """A safe stream on the same buffer. Full-screen programs use the original stream."""
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, SafeStream):  # closed, or a test's own
        return stream
    stream.flush()
    made = SafeStream(stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering)
    if stream.isatty():
        made.pattern = _TERMINAL[name]
    return made


def _allowed(found: re.Match[str]) -> str:
    if found[1] or unicodedata.category(found[0]) not in _INVISIBLE:
        return found[0]
    return "" if found[0] == "\r" else REPLACEMENT
