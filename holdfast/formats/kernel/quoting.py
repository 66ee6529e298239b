"""Messages of drivers that repeat words of a user: what they say from there on is no message of the driver.

A program gives the NVIDIA driver its version as text, line ends and all. AMD's driver names the process whose access
failed. The firewall begins a line with the prefix of its rule.
"""

import re

_API_MISMATCH = "NVRM: API mismatch:"
_API_MISMATCH_ENDS = "components have the same version"
_MOST_LINES_OF_A_CLIENT = 70  # its version has 63 characters, of which each may be a line end
_QUOTES = re.compile(
    rf"{_API_MISMATCH}|"
    r"Memory failure: 0x[0-9a-f]{1,16}: (?:Sending SIG|Killing |forcibly killing )|"
    r"(?:amdgpu |\[drm)[^\n]{0,200}?\bprocess (?=[^\n]{0,64}pid )",
    re.IGNORECASE,
)
_FIREWALL = re.compile(r".{0,128}?IN=\S{0,15} OUT=\S{0,15} ", re.DOTALL)  # nothing parts it from the rule's prefix


def own_text(text: str) -> str:
    """A message up to where it begins to repeat a user; '' where it begins so."""
    if _FIREWALL.match(text):
        return ""
    found = _QUOTES.match(text)
    return text[: found.end()] if found else text


class Mismatches:
    """In a file a message of several lines is several lines, and those of a client's version look like others."""

    def __init__(self) -> None:
        self._until = 0

    def covers(self, text: str, number: int) -> bool:
        """Whether this line of a file belongs to a message in which a client's version stands."""
        if text.startswith(_API_MISMATCH):
            self._until = number + _MOST_LINES_OF_A_CLIENT
            return True
        if number > self._until:
            return False
        if _API_MISMATCH_ENDS in text:
            self._until = 0
        return True
