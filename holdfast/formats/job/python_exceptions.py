"""Parses the last line of a Python traceback, 'Type: message', and finds the traceback above it."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from holdfast.catalog import regex_literals
from holdfast.formats.job.line import JobLine

KEYWORDS = (
    b"Error:", b"Exception:", b"Error\n", b"Error\r", b"Exception\n", b"KeyboardInterrupt", b"SystemExit",
    b"Interrupt\n", b"OutOfMemory", b"Timeout:", b"OutOfResources:", b"Unsupported:", b"NoSuchKey", b"StopIteration",
    b".exceptions.", b"(see above for traceback)",
)  # fmt: skip
_LINE = re.compile(
    r"(?P<indent>\s{0,12})(?P<type>(?:[A-Za-z_]\w*\.)*"
    r"(?:[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|Failure)\w*|(?<=\.)\w+(?:Error|Exception)"
    r"|nccl(?:System|Internal|Remote|UnhandledCuda)Error|Exception|OutOfResources|Unsupported|NoSuchKey|StopIteration|(?<=\.exceptions\.)[A-Z]\w+))"
    r"(?: \(see above for traceback\))?(?:: ?(?P<message>.*))?$"
)
_NAMES = regex_literals.literals_of(_LINE.pattern)
_LAUNCHER_MESSAGE = re.compile(
    r'\s*"message": "(?P<text>[A-Z]\w{1,80}: .*?)",?$'
)  # torchrun prints the content of its error file
_FAILED_WITH = re.compile(r'\s*"message": "[\w ]{1,60} failed with (?P<text>[A-Z]\w{1,80}: [^"\n]*)')  # Azure ML
_ANY_CLASS = re.compile(r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w+)(?:: (?P<message>.*))?$")
_FRAME = re.compile(r'\s*File "(?P<file>[^"]{1,500})", line (?P<line>\d{1,9})(?:, in (?P<function>\S{1,200}))?')
_RICH_FRAME = re.compile(  # a frame in rich's box; a long one continues in the next row
    r"\s*\N{BOX DRAWINGS LIGHT VERTICAL} (?P<file>(?:[A-Za-z]:)?[^\s:][^:\n]{0,300}\.pyx?):(?P<line>\d{1,9})"
    r" in (?P<function>[^\s\u2502]{0,200})"
)
_CELL_FRAME = re.compile(  # a frame of IPython
    r"File (?P<file>\S{1,300}):(?P<line>\d{1,9}), in (?P<function>[\w.<>]{1,200})"
)
_OLD_CELL_FRAME = re.compile(  # a frame of older IPython versions, which mark the line with an arrow below
    r"(?P<file><ipython-input-[\w-]{1,80}>|~?/\S{1,300}\.pyx?) in (?P<function>[\w.]{1,200}|<module>)(?:\(|$)"
)
_ARROW = re.compile(r"-{1,5}> ?(?P<line>\d{1,6})\b")
_RICH_CODE = re.compile(r"\s*\N{BOX DRAWINGS LIGHT VERTICAL} \u2771 +\d{1,9} (?P<code>[^\n]{1,300}?)[ \u2502]*$")
_RICH_INDENT = " \N{BOX DRAWINGS LIGHT VERTICAL}"
_FATAL_THREAD = re.compile(r"(?m)^(?:Current thread|Thread) 0x[0-9a-f]{1,16}.{0,80}\(most recent call first\):")
_FATAL_FRAME = re.compile(r'\s*File "(?P<file>[^"]{1,500})", line (?P<line>\d{1,9}) in (?P<function>\S{1,200})')
# a frame in a library or in Python itself
_FOREIGN = re.compile(r"(?:site|dist)-packages[/\\]|/lib(?:64)?/python\d[\d.]*/|[Pp]ython\d*\\[Ll]ib\\|^<(?!ipython)")
_LIBRARY = re.compile(r"(?:site|dist)-packages[/\\](?P<name>\w+)")
_SEPARATOR = re.compile(r"[/\\]")
_MARKS = re.compile(r"[\s^~]*$")  # caret marks below a line of code
_BELOW_A_FRAME = 6  # lines of code, carets and notes that may be between the last frame and the exception
_TRACEBACK = "Traceback (most recent call last)"
_BOX = "\N{BOX DRAWINGS LIGHT ARC UP AND RIGHT}"  # rich draws a box around a traceback
_FOLLOWS = {
    "During handling of the above exception": "handling",
    "The above exception was the direct cause": "cause",
}
_IGNORED = ("Exception ignored in", "--- Logging error ---", "Error in atexit", "Error in sys.excepthook")
_WARNING = re.compile(r"Warning\b")


@lru_cache(maxsize=256)  # nearby exceptions ask about the same lines
def _found(text: str) -> re.Match[str] | None:
    return _LINE.match(text) if not _NAMES or any(word in text for word in _NAMES) else None


def frame(text: str) -> re.Match[str] | None:
    """A traceback frame in the form of Python, IPython or rich."""
    if "\N{BOX DRAWINGS LIGHT VERTICAL}" in text:
        return _RICH_FRAME.match(text)
    return _FRAME.match(text) or _CELL_FRAME.match(text)


class Raised(NamedTuple):
    type: str
    message: str
    framed: bool  # the line ends a traceback of the same process
    where: str  # innermost frame outside libraries, as 'train.py:120 in step', or ''

    chained: str = ""  # 'handling' or 'cause' if it follows another exception of the same process
    code: str = ""  # the source line that raised it
    library: str = ""  # package of the innermost frame, or '' if that is not a library

    @property
    def text(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


def find(line: JobLine, above: Sequence[JobLine]) -> Raised | None:
    """The exception that the line reports, or None. `above`: the lines before it, nearest last."""
    reported = _LAUNCHER_MESSAGE.match(line.text) if above and above[-1].text.strip() == '"message": {' else None
    reported = reported or (_FAILED_WITH.match(line.text) if "failed with" in line.text else None)
    match = _found(reported["text"] if reported else line.text)
    if match is None or _WARNING.search(match["type"]):
        return None
    same = [one for one in above if one.stream == line.stream]
    near = same[-_BELOW_A_FRAME:]
    framed = bool(reported) or any(frame(one.text) or _TRACEBACK in one.text or _BOX in one.text for one in near)
    if match["indent"] and not framed:  # only a launcher's table indents exceptions; otherwise this is a list or a dict
        return None
    return _raised(match["type"], match["message"] or "", framed=framed, above=same)


def find_by_place(lines: Sequence[JobLine]) -> tuple[JobLine, Raised] | None:
    """An exception whose class name does not end in Error: the unindented line right below a frame."""
    for place in range(len(lines) - 1, 1, -1):
        line = lines[place]
        match = _ANY_CLASS.match(line.text)
        above = [one for one in lines[:place] if one.stream == line.stream]
        if not match or _found(line.text) or _is_ignored(above):
            continue
        if len(above) > 1 and (frame(above[-1].text) or _is_code_of_frame(above)):
            return line, _raised(match["type"], match["message"] or "", framed=True, above=above)
    return None


def _is_code_of_frame(above: Sequence[JobLine]) -> bool:
    return above[-1].text.startswith(" ") and any(frame(one.text) for one in above[-3:-1])


def _raised(kind: str, message: str, *, framed: bool, above: Sequence[JobLine]) -> Raised:
    if not framed:
        return Raised(kind.rsplit(".", 1)[-1], message, framed, "", _chained(above))
    frames = [match for one in above if (match := frame(one.text))]
    library = _LIBRARY.search(frames[-1]["file"]) if frames else None
    return Raised(
        kind.rsplit(".", 1)[-1], message, framed, where(above), _chained(above), _code(above),
        library["name"] if library else "",
    )  # fmt: skip


def _code(above: Sequence[JobLine]) -> str:
    """The source line below the last frame."""
    boxed = [match for one in above if (match := _RICH_CODE.match(one.text))]
    if boxed:
        return str(boxed[-1]["code"]).strip(_RICH_INDENT)
    for place in range(len(above) - 1, max(len(above) - _BELOW_A_FRAME, 0), -1):
        text = above[place].text
        if _FRAME.match(text):
            return ""
        if _FRAME.match(above[place - 1].text) and text.startswith(" ") and not _MARKS.match(text):
            return text.strip()
    return ""


def fatal_place(below: str) -> str:
    """The place of the program ('train.py:120 in step') in the stacks that Python prints when a signal ends it.

    The main thread's stack is last. Each stack begins with its innermost frame.
    """
    place = ""
    for thread in _FATAL_THREAD.split(below)[1:]:
        frames = [match for line in thread.splitlines() if (match := _FATAL_FRAME.match(line))]
        own = next((one for one in frames if not _FOREIGN.search(one["file"])), None)
        if own:
            place = f"{own['file'].rsplit('/', 1)[-1]}:{own['line']} in {own['function']}"
    return place


def is_source(line: JobLine, above: Sequence[JobLine]) -> bool:
    """Whether the line is source code that a traceback shows below a frame, and so not a message."""
    if _found(line.text):  # an exception: some frames have no code, and tables indent tracebacks
        return False
    same = next((one for one in reversed(above) if one.stream == line.stream), None)
    return same is not None and bool(_FRAME.match(same.text))


def looks_like_one(line: JobLine) -> bool:
    return bool(_found(line.text))


def traceback_head(line: JobLine, above: Sequence[JobLine]) -> str:
    """The text right above the traceback that ends with this line; '' without a traceback."""
    same, place = _traceback(line, above)
    if place is None:
        return ""
    inside = same[place].text.partition(_TRACEBACK)[0].strip()
    return inside or (same[place - 1].text if place else "")


def traceback_logger(line: JobLine, above: Sequence[JobLine]) -> JobLine | None:
    """The line of the logger that printed the traceback: the line above it, or its first line if that has a prefix."""
    same, place = _traceback(line, above)
    return None if place is None else logger_above(same)


def logger_above(lines: Sequence[JobLine]) -> JobLine | None:
    """The line of the logger that printed the last traceback of a process."""
    place = max((place for place, one in enumerate(lines) if _TRACEBACK in one.text), default=None)
    if place is None:
        return None
    return lines[place] if lines[place].level or not place else lines[place - 1]


def _traceback(line: JobLine, above: Sequence[JobLine]) -> tuple[list[JobLine], int | None]:
    """The lines of the same process, and the index where the traceback that ends with this line begins."""
    same = [one for one in above if one.stream == line.stream]
    heads = [place for place, one in enumerate(same) if _TRACEBACK in one.text]
    if not heads or not _found(line.text) or any(_found(one.text) for one in same[heads[-1] + 1 :]):
        return same, None
    return same, heads[-1]


def is_ignored(line: JobLine, above: Sequence[JobLine]) -> bool:
    """Whether Python printed the exception and went on."""
    return _is_ignored([one for one in above if one.stream == line.stream])


def _is_ignored(above: Sequence[JobLine]) -> bool:
    """Whether Python says that it ignored the exception: in a destructor, at exit, in logging."""
    for one in reversed(above):
        if one.text.removeprefix("^C").startswith(_IGNORED):
            return True
        if _found(one.text):
            return False
    return False


def _chained(above: Sequence[JobLine]) -> str:
    """How the exception relates to the one above it: 'handling', 'cause' or ''."""
    for one in reversed(above):
        for words, how in _FOLLOWS.items():
            if words in one.text:
                return how
        if _found(one.text):
            return ""
    return ""


def where(lines: Sequence[JobLine]) -> str:
    """The innermost frame outside libraries, as 'train.py:120 in step'."""
    frames = [(place, match) for place, one in enumerate(lines) if (match := any_frame(one.text))]
    own = [(place, match) for place, match in frames if not _FOREIGN.search(match["file"])]
    if not frames:
        return ""
    place, innermost = (own or frames)[-1]
    function = f" in {innermost['function']}" if innermost["function"] else ""
    number = innermost.groupdict().get("line") or _arrow(lines[place + 1 :])
    return f"{_SEPARATOR.split(innermost['file'])[-1]}{f':{number}' if number else ''}{function}"


def any_frame(text: str) -> re.Match[str] | None:
    """A frame, also in the format of older IPython versions, which has no line number."""
    return frame(text) or _OLD_CELL_FRAME.match(text)


def _arrow(below: Sequence[JobLine]) -> str:
    """The number of the line that IPython marks in the first frame of these lines."""
    for one in below:
        if match := _ARROW.match(one.text):
            return str(match["line"])
        if any_frame(one.text):
            break
    return ""
