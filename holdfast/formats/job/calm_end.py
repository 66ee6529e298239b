"""Counts normal lines below the last trouble in a log. Many of them show that the process survived it."""

import re
from collections.abc import Set
from typing import NamedTuple

from holdfast.formats.job import tail, text_lines, training_steps
from holdfast.formats.job.line import JobLine, decode

_ENDING = re.compile(  # words of any shutdown, clean or not
    r"\b(?:exit|shut|clos|clean|stop|terminat|finali[sz]|sync|abort|kill|destroy|cancel|releas|upload|leav|remov|delet"
    r"|flush|teardown|tear|bye|goodbye|quit|drain|kick|deregist|unregist|disconnect|detach|unmount|evict|dump|report"
    r"|wait(?:ing)? for|end(?:ed|ing|s)?\b|finish)\w*|^wandb\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z]{2}|\d\S*\s+\d")  # a word, or a row of numbers
_DIGITS = re.compile(r"\d{1,20}(?:\.\d{1,20})?")
# the name of the program that logs
_WORKS = re.compile(  # an answered request, or something that came to its end
    r'"(?:GET|POST|PUT|HEAD) (?!/metrics)[^"]{1,300} HTTP/[\d.]{1,4}" 2\d\d\b'
    r"|\b100 ?%(?! (?:full|used|usage|util|packet|loss))"
)
_SPEAKER = re.compile(r"(?!\w*(?:Error|Exception))[a-z][\w.-]{1,40}(?:\[\d{1,9}\])?: ")
_LONGEST = 300
_LEAST_SHAPE = 3


class CalmEnd(NamedTuple):
    lines: int = 0  # lines like those above the trouble, training steps and logged lines
    quiet: int = 0  # these lines and all others without trouble


def below(text: bytes, last_line: int, seen: Set[int]) -> CalmEnd:
    """Counts the lines below the last trouble.

    `text`: the end of the log. `last_line`: the number of its last line. `seen`: the lines that report trouble.
    """
    raw = text.rstrip(b"\n").split(b"\n")
    first = last_line - len(raw) + 1
    last_seen = max(seen)
    usual: set[str] = set()
    troubled: set[str] = set()
    calm = quiet = 0
    for place, one in enumerate(raw):
        line = decode(one[:_LONGEST], first + place)
        if line.number in seen or (line.number > last_seen and tail.speaks_of_trouble(line)):
            troubled.add(_speaker(line.text))
            calm = quiet = 0
            continue
        shape = _DIGITS.sub("0", " ".join(line.text.split()))
        if line.number > last_seen and _is_calm(line):
            quiet += 1
            known = shape in usual or _speaker(line.text) in troubled - {""}
            known = known or bool(_WORKS.search(line.text)) or training_steps.parse(one[:_LONGEST], 0) is not None
            calm += known or (text_lines.is_logged(line) and bool(line.at or line.level))
        if len(shape) >= _LEAST_SHAPE:
            usual.add(shape)
    return CalmEnd(calm, quiet)


def _speaker(text: str) -> str:
    match = _SPEAKER.match(text)
    return match[0] if match else ""


def _is_calm(line: JobLine) -> bool:
    if line.nccl or line.level in ("W", "E") or not _WORDS.search(line.text):
        return False
    return not (_ENDING.search(line.text) or text_lines.is_prose(line.text) or tail.is_trouble_word(line.text))
