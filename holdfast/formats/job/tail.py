"""Reads the end of a log without known errors: a traceback that was cut off, or the last error that was printed."""

import re
from collections.abc import Sequence, Set

from holdfast.catalog import failed_calls, job_errors
from holdfast.formats.job import aside, text_lines
from holdfast.formats.job.line import JobLine, decode
from holdfast.formats.job.message import is_code, of_exception, with_detail
from holdfast.formats.job.python_exceptions import Raised, any_frame, find_by_place, logger_above, where
from holdfast.formats.kernel.line import printable
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event, Value

MOST_LINES = 40
_LAST_WORDS = 2  # lines at the very end that may report a failure without the word error
_LONG_SENTENCE = 25  # words; a longer sentence is from a person or a language model, not from a program
_SENTENCES = 2  # sentences above a line that make it part of a paragraph
_TRACEBACK = "Traceback (most recent call last)"
_BOX = "\N{BOX DRAWINGS LIGHT ARC DOWN AND RIGHT}"  # rich's box around a traceback
_FRAME = re.compile(  # the last frame may be cut off; notebooks have their own format
    r'\s*File "[^"]{1,500}(?:", line \d{1,9}|$)|File \S{1,300}:\d{1,9}, in |(?:Cell )?In ?\[\d{1,6}\], (?:in <|line \d)'
)
_NOTEBOOK_HEAD = re.compile(r"-{0,200}(?P<type>[A-Z]\w{2,60}?) {0,80}Traceback \(most recent call last\)")
_NOTEBOOK_FRAME = re.compile(r"(?:Cell )?In ?\[\d{1,6}\],? (?:in )?.{0,40}line:? ?(?P<line>\d{1,6})")
_BETWEEN = re.compile(
    r"[\s~^]*$|`{3,}\s*$|\d{1,5}:\s*$|-{1,5}> ?\d|\d{1,5} +\S|File [\w:\\/.-]{3,300}$|\.\.\."
    r"|[A-Z][^:\n]{0,80}\b(?:re-?rais\w+|traceback)\b[^:\n]{0,40}$"
)
_NATIVE_FRAME = re.compile(  # needs an address, a call or a namespace: steps of a build are numbered in the same way
    r"(?:^|\s)(?:frame )?\\?#\d{1,3}:? +(?=.*(?:0x|\(|::|\bat \S+:\d| in ))(?P<function>[\w:~/.<]{3,120})"
)
_RAISE = re.compile(r"(?:^| )raise (?:\w{1,80}\.){0,5}(?P<type>[A-Z]\w{1,80})\(")
_STRINGS = re.compile(r"\"([^\"\n]{0,400})\"|'([^'\n]{0,400})'")
_DEFAULT = "launcher.setup"  # the cause if nothing else is known about the error
_STACK = re.compile(  # heads of stacks that Julia, Lua, MXNet, Rust and Go print
    r"\s*(?:Stack ?trace(?: returned \d+ entries)?|[Ss]tack traceback|stack backtrace|goroutine \d+ \[\w[\w ]*\]):"
)
_NO_FUNCTION = re.compile(r"[/<.]|unknown")  # a program or a library
_NATIVE = 2  # frames that make a native backtrace
_ERROR = re.compile(
    r"(?:[\w./\\\[\]@():-]{1,160} ){0,4}?"
    r"(?:FATAL|[Ff]atal(?: error)?|ERROR|CRITICAL|[Ee]rror|[Pp]anic|Failure|FAILED|terminate)"
    r"(?: [#\[(]?[\w-]{1,20}[\])]?)?\s*(?:[:!]|called\b)"
)
_FAILED = re.compile(
    r"\b(?:[Ff]ail(?:ed|ure)|[Uu]nable to|[Cc]annot|[Cc]ould(?:n.t| not)|[Cc]an.t|[Dd]enied|not found|[Nn]o such"
    r"|[Ii]nvalid|[Rr]efused|[Uu]nsupported|not supported|[Aa]bort(?:ed|ing)|[Cc]rashed|timed out|[Kk]illed"
    r"|does not exist|[Mm]ismatch|exceeded|[Uu]nreachable|[Ff]atal|[Ee]rror|(?<=[:=] )FAILED\w*)\b"
)
_LACKS = re.compile(  # an error only if it was logged as one: the missing thing may be optional
    r"(?:\bnot|n.t) (?:\w+ ){0,3}(?:installed|set|defined|available)\b|\b[Mm]issing\b|[Ss]hort write"
)
_CONDITION = re.compile(r"\s*(?:If|When|Whenever|Unless|Only|For|Returns|Note|Use|This \w+ (?:does|is|will)|You)\b")
_ENDS = re.compile(r"\b(?:exiting|aborting|terminating|giving up|shutting down)\b", re.IGNORECASE)
_NO_ERROR = re.compile(
    r"\b(?:no|without|zero|(?:^|(?<=[,;:(=\[|])|(?<=[,;:(=\[|] )|(?<=with )|(?<=and ))0)"  # but not task 0
    r" (?:\w+ ){0,2}(?:errors?|failed|failures?)\b"
    r"|(?:failed|failures?)[:=] ?0\b"
    r"|errors?\s*[:=]\s*(?:0|none|null|\[\])\b"
    r"|(?:fail|err|crash|lost|abort|kill|occurr)\w*[^:=\n]{0,40}\s*[:=]\s*(?:no|none|0|false|n/?a|never|off|null|\[\])\s*$"
    r"|\brecovered\b|\b[Cc]orrected error|\bno action (?:is )?required\b|warn(?:ing)?\b(?! messages)|ignor|retry"
    r"|fall(?:ing)? ?back|skipp|harmless|deprecat|\bwill (?:happen|fail (?:if|when|unless))\b"
    r"|\botherwise\b|\bmay\b(?! not)|\bmight\b|\bfor example\b"
    r"|\busing (?:\w+ ){0,3}(?:cached|default|local|fallback)\b"
    r"|error[ _]rate|squared error|\b(?:mean|abs|relative|test|eval|val|avg|average|max(?:imum)?|training)[ _]error\b"
    # a measured error
    r"|\d ?% error\b|\berrors?\s*(?:less than|below|within|of|is|[<=:]{1,2}|)\s*\d{0,9}(?:\.\d|\de-?\d)",
    re.IGNORECASE,
)
_PROGRESS = re.compile(  # signs that the program continues
    r"(?i:\b(?:global_)?(?:epoch|step|iteration|iter|batch|round|episode)s?['\"]?[ :=#\[]{1,3}\d+\b(?!.{0,200}\berror))"
    r"|\b100 ?%.{0,80}\bdone\b|\b(?:completed|finished|succeeded) successfully\b|\bSUCCESS\b"
)
_EVENT = re.compile(  # a row of `kubectl describe`
    r"\s*Warning {2,}(?P<reason>[A-Z]\w{2,60}) {2,}\S.{0,80}? {2,}[\w.-]{2,80}(?:, \S{1,100})? {2,}(?P<text>\S.{3,})"
)
_USUAL_EVENTS = frozenset(
    {"Unhealthy", "DNSConfigForming", "BackOff"}
)  # events of pods that start slowly or give the reason elsewhere
_TITLE = re.compile(r"#{1,4} {1,4}(?P<text>\S.{8,400})")  # the title of a report
_ROW = re.compile(r"(?:[^|\n]{0,200}\|){2}|.{0,200}<a ")  # a row of a table, or of a web page
_PATH = re.compile(r"\s*(?:\.{0,2}/)?[\w.+@-]{1,120}(?:/[\w.+@:-]{1,120}){1,30}/?\s*$")  # a path alone
_COLUMNS = re.compile(r"\s*(?:[A-Z][A-Z_()%:-]+ +){2,}[A-Z][A-Z_()%:-]+\s*$")  # column names; the lines below are rows
_OF_A_LISTING = re.compile(
    r"\s*(?:[^\s:]+(?: [^\s:]+)? {2,}){3,}\S+(?: \S+)?\s*$"
)  # cells with a few words, without a sentence
_TALLY = re.compile(
    r"(?!.*\b(?:code|status|errno|signal|line)\b)\s*[A-Za-z][\w ()/-]{2,40}\s*[:=]\s*[\d.,]{1,12} ?%?\s*$"
)  # a count with its name
_LABEL = re.compile(r"(?:[^\s:]+ ){0,9}[^\s:]+:\s*$")  # a label that introduces the next lines
_BANNER = re.compile(r"(?:^|[\s:\]])[*=#~-]{8,}\s*$")  # a line that ends with a row of stars or dashes
_ROFF = re.compile(r"\\(?:&|f[BIRP]|-|\()")  # the escapes of a manual page
_THROWN = re.compile(r"\bthrow new \w{0,40}(?:Error|Exception)\(")  # source code in one line
_MINIFIED = re.compile(
    r"[;,]\w{0,40}\([^\s]{0,80}\)\{|\)\}\w{1,40}\("
)  # the end of one function and the head of the next
_MOST_FUNCTIONS = 3  # at most this many in a line of a log
_PROSE = re.compile(r"\s*(?:#|//|>|\*|-\s|\"|'|\{|<|\d+\.\s|https?://|\|)")


def find(text: bytes, last_line: int, seen: Set[int] = frozenset()) -> Evidence | None:
    """`text`: the end of the log. `last_line`: the number of its last line. `seen`: lines that are evidence already."""
    raw = text.rstrip(b"\n").split(b"\n")
    lines = [decode(one[-2000:], last_line - len(raw) + 1 + place) for place, one in enumerate(raw)][-MOST_LINES:]
    columns = next((place for place, one in enumerate(lines) if _COLUMNS.match(one.text)), len(lines))
    rows = {one.number for one in lines[columns:] if not text_lines.is_logged(one)}
    spoken = [
        one
        for place, one in enumerate(lines)
        if one.text.strip()
        and one.number not in {*seen, *rows}
        and not aside.called_harmless(lines[place + 1 : place + 2])
    ]
    return _cut_traceback(spoken) or _native_frames(spoken) or _unnamed_class(spoken) or _last_error(spoken)


def _native_frames(lines: Sequence[JobLine]) -> Evidence | None:
    """A backtrace of compiled code at the very end, without its message above it."""
    last = [one for one in lines[-_NATIVE:] if not failed_calls.is_harmless(one.text)]
    frames = [match for one in last if (match := _NATIVE_FRAME.search(one.text))]
    if len(frames) < _NATIVE or _last_error(lines):
        return None
    inner = next((one["function"] for one in frames if not _NO_FUNCTION.match(one["function"])), "")
    cause = failed_calls.cause_of_error(" ".join(one["function"] for one in frames))
    cause = "job.exception" if cause == _DEFAULT else cause  # it was running
    first = next(one for one in lines if _NATIVE_FRAME.search(one.text))
    return _evidence(first._replace(text="Traceback"), "traceback", cause, {"where": printable(inner)} if inner else {})


def _unnamed_class(lines: Sequence[JobLine]) -> Evidence | None:
    """A traceback whose exception class does not end in Error."""
    found = find_by_place(lines)
    if found is None:
        return None
    line, raised = found
    evidence = of_exception(raised, line, job_errors.of_exception(raised.text))
    head = logger_above([one for one in lines if one.number < line.number and one.stream == line.stream])
    caught = head is not None and head.level in ("E", "W")
    return with_detail(evidence, {**evidence.event.detail, "logged": "yes"}) if caught else evidence


def _cut_traceback(lines: Sequence[JobLine]) -> Evidence | None:
    """Frames at the very end: the log was copied without the exception."""
    frames = [place for place, one in enumerate(lines) if _is_frame(one.text) or _is_head(one)]
    if not frames or not all(_is_inside(one.text) for one in lines[frames[-1] + 1 :]):
        return None
    began = next(one for one in lines if _is_frame(one.text) or _is_head(one))
    place = where(lines) or _cell(lines)
    before = [one for one in lines if one.number < began.number]
    code = lines[frames[-1] + 1 :]
    if raised := _of_raise_statement(code, place):
        statement = next((one for one in code if _RAISE.search(one.text)), began)
        return of_exception(raised, statement, job_errors.of_exception(raised.text))
    error = _last_error(before)
    kind = next((match["type"] for one in reversed(lines) if (match := _NOTEBOOK_HEAD.match(one.text))), "")
    text = error.event.text if error else _title(before) or (f"Traceback of a {kind}" if kind else "Traceback")
    detail: dict[str, Value] = {"where": printable(place)} if place else {}
    return _evidence(began._replace(text=text), "traceback", "job.exception", detail)


def _of_raise_statement(code: Sequence[JobLine], place: str) -> Raised | None:
    """The exception that the source line below the last frame raises, if it contains the message. Not framed."""
    source = " ".join(one.text.strip() for one in code)
    match = _RAISE.search(source)
    message = "".join(first or second for first, second in _STRINGS.findall(source[match.end() :])) if match else ""
    if match is None or " " not in message.strip():
        return None
    return Raised(match["type"], message, framed=False, where=place)


def _title(before: Sequence[JobLine]) -> str:
    """The title of a report, if it names a failure."""
    found = [match["text"] for one in before if (match := _TITLE.match(one.text)) and _FAILED.search(match["text"])]
    return found[0] if found else ""


def _is_head(line: JobLine) -> bool:
    boxed = line.text.startswith(_BOX) and _TRACEBACK in line.text
    return boxed or line.text.startswith(_TRACEBACK) or bool(_NOTEBOOK_HEAD.match(line.text))


def _is_frame(text: str) -> bool:
    return bool(_FRAME.match(text) or any_frame(text))


def _is_inside(text: str) -> bool:
    """Whether the line belongs to a traceback: source, marks below it, or the remains of a copy."""
    return text.startswith((" ", "\t", "\N{BOX DRAWINGS LIGHT VERTICAL}")) or bool(_BETWEEN.match(text))


def _cell(lines: Sequence[JobLine]) -> str:
    found = [match for one in lines if (match := _NOTEBOOK_FRAME.match(one.text))]
    return f"line {found[0]['line']} of the cell" if found else ""


def _last_error(lines: Sequence[JobLine]) -> Evidence | None:
    found = [one for one in lines if _is_error(one)] or [event for one in lines if (event := _event(one))]
    if not found:
        found = [one for one in lines[-_LAST_WORDS:] if _may_be_error(one) and not _is_of_a_paragraph(one, lines)]
    if not found:
        return None
    first = found[0]
    for one in reversed(found):  # the first error of the last group
        if first.number and one.number < found[-1].number - _LAST_WORDS * len(found):
            break
        first = one
    if any(_PROGRESS.search(one.text) for one in lines if one.number > found[-1].number):
        return None
    cause = failed_calls.cause_of_error(first.text)
    if cause == _DEFAULT and any(_STACK.match(one.text) for one in lines if one.number > first.number):
        cause = "job.exception"  # a stack in any language: the program was running
    return _evidence(first, "error", cause, {})


def _is_of_a_paragraph(line: JobLine, lines: Sequence[JobLine]) -> bool:
    """Whether the line continues a paragraph above it, as in a manual, or states a condition."""
    if _CONDITION.match(line.text):
        return True
    above = [one for one in lines if 0 < line.number - one.number <= _SENTENCES]
    return len(above) == _SENTENCES and all(text_lines.is_prose(one.text) for one in (*above, line))


def _event(line: JobLine) -> JobLine | None:
    """A warning event of Kubernetes without its columns."""
    match = _EVENT.match(line.text)
    if match is None or match["reason"] in _USUAL_EVENTS:
        return None
    return line._replace(text=f"{match['reason']}: {match['text']}")


def _is_error(line: JobLine) -> bool:
    if line.level in ("I", "W") or not _may_report(line):
        return False
    if line.nccl:  # NCCL continues after many of its warnings
        return False
    logged = line.level == "E" and bool(line.at or line.place or _FAILED.search(line.text) or _LACKS.search(line.text))
    return logged or bool(_ERROR.match(line.text))


def _may_be_error(line: JobLine) -> bool:
    """Whether the line says what failed. One of level I or W must also say that the program ends."""
    loud = line.level not in ("I", "W") or bool(_ENDS.search(line.text))
    if not loud or not _FAILED.search(line.text):
        return False
    is_sentence = text_lines.is_prose(line.text) and line.text.count(" ") >= _LONG_SENTENCE and not line.level
    return not is_sentence and _may_report(line)


def of_words(line: JobLine) -> Evidence | None:
    """The evidence of a text that says by itself that something failed."""
    if " " not in line.text.strip() or not _may_be_error(line):
        return None
    return _evidence(line, "error", failed_calls.cause_of_error(line.text), {})


def speaks_of_trouble(line: JobLine) -> bool:
    """Whether the line reports a failure that was not logged as information."""
    if line.nccl:
        return line.level == "E"
    stack = _FRAME.match(line.text) or _NATIVE_FRAME.search(line.text) or _STACK.match(line.text)
    return _is_error(line) or bool(stack) or _may_be_error(line)


def is_trouble_word(text: str) -> bool:
    return bool(_FAILED.search(text))


def is_doubtful(text: str) -> bool:
    """Whether the text is about an error that did not happen or is harmless."""
    return bool(_NO_ERROR.search(text))


def _may_report(line: JobLine) -> bool:
    text = line.text
    return not (
        _BANNER.search(text)
        or _FRAME.match(text)
        or _NATIVE_FRAME.match(text)
        or is_code(text)
        or _THROWN.search(text)
        or _ROFF.search(text)
        or len(_MINIFIED.findall(text)) > _MOST_FUNCTIONS
        or _PROSE.match(text)
        or _LABEL.match(text)
        or (
            not line.level
            and (_ROW.match(text) or _PATH.match(text) or _OF_A_LISTING.match(text) or _TALLY.match(text))
        )
        or is_doubtful(text)
        or failed_calls.is_harmless(text)
    )


def _evidence(line: JobLine, code: str, cause: str, detail: dict[str, Value]) -> Evidence:
    event = Event(
        kind="tail", at=line.at, text=printable(line.text.strip()[:400]), code=code, line=line.number,
        severity="warning", detail=detail,
    )  # fmt: skip
    return Evidence(event=event, host=line.host, rank=line.rank, role="hint", cause=cause)
