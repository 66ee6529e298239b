"""The last line of a Python traceback, 'Type: message', and whether a traceback really stands above it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.formats.job.line import JobLine

KEYWORDS = (
    b"Error:", b"Exception:", b"Error\n", b"Error\r", b"Exception\n", b"KeyboardInterrupt", b"SystemExit",
    b"Interrupt\n", b"OutOfMemory", b"Timeout:", b"OutOfResources:", b"Unsupported:", b"NoSuchKey", b"StopIteration",
    b".exceptions.",
)  # fmt: skip
_LINE = re.compile(
    r"(?P<indent>\s{0,12})(?P<type>(?:[A-Za-z_]\w*\.)*"
    r"(?:[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|Failure)\w*"
    r"|Exception|OutOfResources|Unsupported|NoSuchKey|StopIteration|(?<=\.exceptions\.)[A-Z]\w+))"
    r"(?:: ?(?P<message>.*))?$"
)
_LAUNCHER_MESSAGE = re.compile(
    r'\s*"message": "(?P<said>[A-Z]\w{1,80}: .*?)",?$'
)  # what torchrun's error file says, printed
_FRAME = re.compile(r'\s*File "(?P<file>[^"]{1,500})", line (?P<line>\d{1,9})(?:, in (?P<function>\S{1,200}))?')
_BELOW_A_FRAME = 6  # lines of code, carets and notes between the last frame and the exception
_ERROR_SAID_ABOVE = "Traceback (most recent call last)"
_BOX = "\N{BOX DRAWINGS LIGHT ARC UP AND RIGHT}"  # rich draws a box around a traceback
_FOLLOWS = ("During handling of the above exception", "The above exception was the direct cause")
_IGNORED = ("Exception ignored in", "--- Logging error ---", "Error in atexit", "Error in sys.excepthook")
_WARNING = re.compile(r"Warning\b")


class Raised(NamedTuple):
    type: str
    message: str
    framed: bool  # a traceback of the same process ends here
    where: str  # 'train.py:120 in step' of the innermost frame that is not of a library, '' where there is none

    chained: bool = False  # raised while another one of the same process was handled

    @property
    def text(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


def find(line: JobLine, above: Sequence[JobLine]) -> Raised | None:
    """`above`: the lines before it, nearest last."""
    reported = _LAUNCHER_MESSAGE.match(line.text) if above and above[-1].text.strip() == '"message": {' else None
    match = _LINE.match(reported["said"] if reported else line.text)
    if match is None or _WARNING.search(match["type"]):
        return None
    same = [one for one in above if one.stream == line.stream]
    if _is_ignored(same):
        return None
    near = same[-_BELOW_A_FRAME:]
    framed = bool(reported) or any(
        _FRAME.match(one.text) or _ERROR_SAID_ABOVE in one.text or _BOX in one.text for one in near
    )
    if match["indent"] and not framed:  # a launcher's table indents a whole traceback; else it is a list or a dict
        return None
    return Raised(
        match["type"].rsplit(".", 1)[-1], match["message"] or "", framed, where(same) if framed else "", _chained(same)
    )


def _is_ignored(above: Sequence[JobLine]) -> bool:
    """What Python itself says it goes on after: in a destructor, at exit, in its logging."""
    for one in reversed(above):
        if one.text.startswith(_IGNORED):
            return True
        if _LINE.match(one.text):
            return False
    return False


def _chained(above: Sequence[JobLine]) -> bool:
    """Whether the traceback says that it follows from the exception above it."""
    for one in reversed(above):
        if any(words in one.text for words in _FOLLOWS):
            return True
        if _LINE.match(one.text):
            return False
    return False


def where(lines: Sequence[JobLine]) -> str:
    """'train.py:120 in step' of the innermost frame that is not of a library."""
    frames = [match for one in lines if (match := _FRAME.match(one.text))]
    own = [match for match in frames if "site-packages" not in match["file"] and "dist-packages" not in match["file"]]
    if not frames:
        return ""
    innermost = (own or frames)[-1]
    function = f" in {innermost['function']}" if innermost["function"] else ""
    return f"{innermost['file'].rsplit('/', 1)[-1]}:{innermost['line']}{function}"
