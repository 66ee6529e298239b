"""Driver messages that quote text chosen by a user: from the quoted text on, the line is not the driver's.

A program passes its version to the NVIDIA driver as text, which may contain line ends. AMD's driver names the process
whose access failed. A firewall line begins with the prefix of its rule.
"""

import re

_API_MISMATCH = "NVRM: API mismatch:"
_API_MISMATCH_ENDS = "components have the same version"
_MOST_LINES_OF_A_CLIENT = 70  # a version has 63 characters, each of which may be a line end
_QUOTES = re.compile(
    rf"{_API_MISMATCH}|"
    r"Memory failure: 0x[0-9a-f]{1,16}: (?:Sending SIG|Killing |forcibly killing )|"
    r"(?:amdgpu |\[drm)[^\n]{0,200}?\bprocess (?=[^\n]{0,64}pid )",
    re.IGNORECASE,
)
# there is no separator after the rule's prefix
_FIREWALL = re.compile(r".{0,128}?IN=\S{0,15} OUT=\S{0,15} ", re.DOTALL)


def own_text(text: str) -> str:
    """The message up to the text of a user; '' if it begins with that."""
    if _FIREWALL.match(text):
        return ""
    found = _QUOTES.match(text)
    return text[: found.end()] if found else text


class Mismatches:
    """Recognises messages of several lines in a file, where the lines of a client's version look like separate
    messages."""

    def __init__(self) -> None:
        self._until = 0

    def covers(self, text: str, number: int) -> bool:
        """Whether this line of a file belongs to a message that quotes a client's version."""
        if text.startswith(_API_MISMATCH):
            self._until = number + _MOST_LINES_OF_A_CLIENT
            return True
        if number > self._until:
            return False
        if _API_MISMATCH_ENDS in text:
            self._until = 0
        return True
