"""Tells errors that a program retries, handles or calls harmless from errors that end it."""

import re
from collections.abc import Sequence

from holdfast.catalog import failed_calls
from holdfast.formats.job.line import JobLine
from holdfast.formats.job.python_exceptions import looks_like_one, traceback_head, traceback_logger

_NEAR = 2  # lines below an error, of the same process, that may comment on it
_TRACEBACK_LINES = 6
_TRACEBACK = "Traceback (most recent call last)"
_SAYS_IT_FAILED = re.compile(r"\b(?:[Ee]rror|ERROR|[Ff]ailed|[Cc]ould not|[Cc]annot|[Uu]nable|[Ee]xception)\b")
_FRAME = '  File "'
_NOT_THERE = re.compile(r"\b(?:Import|ModuleNotFound)Error\b")  # an optional package is missing
_AGAIN = re.compile(
    r"\b[Rr]e-?trying\b|\b[Rr]etry (?:in|after) \d|\bwill (?:be )?retr(?:y|ied)\b|\b[Rr]econnecting\b"
    r"|\bScheduled restart job\b|\b[Tt]rying to (?:resume|reconnect|re-establish)\b"
    r"|\b(?:[Tt]ry|[Tt]rying|[Tt]ries) (?:(?:it|this) )?again (?:in|after) \d|\b[Bb]ack(?:ing)?[ -]?off (?:for|of|by)\b"
    r"|\b[Ss]leep(?:ing)?\b.{0,30}\bbefore (?:the )?(?:next|another) (?:try|attempt|retry)"
)
_COUNTED = re.compile(
    r"\b(?:[Aa]ttempt|[Rr]etry|[Tt]ry)(?: number)?[ #:]{0,3}(?P<done>\d{1,4}) ?(?:/|of|out of) ?(?P<all>\d{1,4})\b"
)
_RESTARTS = re.compile(r"\b[Rr]estarting (?:the )?(?:worker|process|server|actor)\b(?! group)")
_LAST = re.compile(
    r"\b(?:[Gg]iving up|[Gg]ave up|(?:no|not) (?:more )?retr(?:y|ies|ying)|[Rr]etries (?:exhausted|exceeded)"
    r"|[Mm]ax(?:imum)? (?:number of )?(?:retries|attempts))\b"
)
_GOES_ON = re.compile(
    r"\b(?:[Ii]gnor(?:e[ds]?|ing)|[Cc]ontinuing|[Ss]kipp(?:ed|ing)(?! step)|[Ff]all(?:ing|s)? ?back)\b"
    r"|\b[Cc]onsider installing\b|\bfor (?:better|faster|improved) performance\b"
    r"|\b[Dd]isabl(?:e|ing)\b|, (?:so )?(?:using|use|will use|defaulting)\b"
)  # the program handled the exception that it prints


def tries_again(text: str) -> bool:
    """Whether the text announces another attempt. The last of N attempts announces none."""
    if _LAST.search(text):
        return False
    counted = _COUNTED.search(text)
    return int(counted["done"]) < int(counted["all"]) if counted else bool(_AGAIN.search(text))


def called_harmless(below: Sequence[JobLine]) -> bool:
    """Whether the next line continues the message and calls it harmless."""
    return bool(below) and _goes_on(below[0]) and failed_calls.is_called_harmless(below[0].text)


def _goes_on(line: JobLine) -> bool:
    """Whether the line continues the message above it."""
    return not (line.at or line.level or line.place) and "Warning" not in line.text


def retried(line: JobLine, above: Sequence[JobLine], below: Sequence[JobLine]) -> bool:
    """Whether the program announces a retry: on the line, right below it, or above its traceback."""
    if line.level == "E" and "timed out after" in line.text:  # the retries are over
        return False
    near = _near(line, below)
    return any(tries_again(text) for text in (line.text, *near, traceback_head(line, above)))


def is_logged(line: JobLine, above: Sequence[JobLine]) -> bool:
    """Whether a logger printed the traceback that ends with this line. A logged exception was caught."""
    head = traceback_logger(line, above)
    return (head is not None and head.level in ("E", "W")) or _is_indented(line, above)


def _is_indented(line: JobLine, above: Sequence[JobLine]) -> bool:
    """Whether a program printed the traceback below its own message. Python itself does not indent tracebacks."""
    if not line.text.startswith("  "):
        return False
    same = [one.text for one in above if one.stream == line.stream and one.text.strip()]
    heads = [place for place, text in enumerate(same) if _TRACEBACK in text]
    if not heads or not heads[-1] or not same[heads[-1]].startswith("  "):
        return False
    message = same[heads[-1] - 1]
    return not message.startswith(" ") and bool(_SAYS_IT_FAILED.search(message))


def restarted(line: JobLine, below: Sequence[JobLine]) -> bool:
    """Whether a parent process announces that it restarts the process that ended."""
    return any(_RESTARTS.search(text) for text in _near(line, below))


def _near(line: JobLine, below: Sequence[JobLine]) -> list[str]:
    return [one.text for one in below if _is_of(line, one) and one.text.strip()][:_NEAR]


def _is_of(line: JobLine, other: JobLine) -> bool:
    """Whether one process wrote both lines. Syslog lines have no common prefix: compare host and rank."""
    return other.stream == line.stream or (bool(line.host) and (other.host, other.rank) == (line.host, line.rank))


def handled(line: JobLine, above: Sequence[JobLine]) -> bool:
    """Whether the program says what it does instead: above the traceback, or on a line without a traceback."""
    if any(_FRAME in one.text for one in above[-_TRACEBACK_LINES:]):
        return bool(_GOES_ON.search(traceback_head(line, above)))
    if above and above[-1].level == "W" and looks_like_one(line) and not (line.at or line.level):
        return True  # a logger prints the exception below its warning
    is_error = line.nccl or line.level == "E" or (looks_like_one(line) and not _NOT_THERE.search(line.text))
    return not is_error and bool(_GOES_ON.search(line.text))
