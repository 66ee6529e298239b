"""Turns a message, exception or finding of a job's log into evidence. Quoted text is ignored."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite

from holdfast.catalog import failed_calls, job_errors, job_problems
from holdfast.catalog.job_errors import Meaning, of_cuda, of_kernel_event
from holdfast.catalog.job_messages import JobMessage, JobMessageGroup, groups
from holdfast.catalog.regex_literals import PrefilteredPattern
from holdfast.formats.job.line import JobLine, decode
from holdfast.formats.job.python_exceptions import Raised
from holdfast.formats.job.step_series import SeriesFinding, StepSeries
from holdfast.formats.job.training_steps import TrainingStep
from holdfast.formats.kernel.line import printable
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event, Value

_NUMBERS = frozenset({"rank", "local_rank", "local"})
_JSON_KEY = re.compile(r"\s*\"\w{1,40}\": ")
_DESCRIBES = re.compile(
    r"\s*[\"']?(?:description|desc|textRaw|summary|help|title|doc|comment|markdownDescription|prompt)[\"']?: ?[\"'|>]"
)
_QUOTES = re.compile(r"(?<!\w)'|'(?!\w)|\"|`+")
_CODE = re.compile(
    r"\s*(?:#|//|[\u2502\u251c\u2514]|\*(?!\*\* )|>|\+{1,4} [\w'\"\[({:./]|raise\b|except\b|if\b|elif\b"
    r"|assert\b|return\b|print\(|logger?\.|def\b|@|\"\"\"|r?\"(?!\w{1,40}\": )|-\s(?!\[\d)"
    r"|from [\w.]{1,200} import\b|import [\w.]{1,200}(?: as \w{1,60})?$|[\w./-]{1,200}\.(?:py|h|c|cc|cpp|cu|hpp):\d{1,6}:\s*(?://|#|throw\b|raise\b))"
)
_AT_THE_MARGIN = frozenset(
    {"files", "memory", "numbers", "mismatch", "dataloader", "cuda"}
)  # messages of these groups are never indented
_LEVELLED = frozenset({"files", "memory", "numbers", "mismatch", "dataloader", "cuda", "rendezvous"})
_DEEP = " " * 8
_SUMMARY = "{'train_runtime'"  # printed by a trainer at the end of a run
_NO_FILES = ("verbs", "registration", "gpu", "shm", "cgroup")
_LONGEST_MESSAGE = 800
_LONGEST_PROBLEM = 800  # characters of a line that are matched with the known problems
_PATH_AT_THE_END = re.compile(r":\s*'?(/[^'\s:]{1,500})'?$")
_TRACEBACK = "Traceback (most recent call last)"
# classes that are raised for any fault, faults of the cluster included
_SAY_LITTLE = frozenset({"RuntimeError", "Exception", "OSError", "Error"})
_PLACES = frozenset({"host", "host2", "rank", "device"})
_ERROR_MARK = re.compile(
    r"\b(?:[Ee]rrors?|ERROR|[Ff]ail(?:ed|ure|s)?|FAIL(?:ED)?|WARN|[Ff]atal|FATAL|\w+Error|\w+Exception"
    r"|[Aa]bort\w*|[Cc]annot"
    r"|[Uu]nable|[Cc]ould(?:n.t| not)|terminate|refuse[ds]?|[Ee]xception|dead|died|[Ll]ost|missed|timed out"
    r"|[Dd]enied|[Ii]nvalid"
    r"|not (?:found|enough|available|supported|installed|allowed))\b|what\(\):"
)
_GOES_ON = re.compile(
    r"\b[Rr]etrying\b|[Rr]etry in|[Rr]etry \d{1,3}/\d|try=|will (?:be )?retr(?:y|ied)|Device or resource busy|harmless"
)
_MAY_HAPPEN = re.compile(  # a condition under which a warning predicts a failure
    r"\b(?:will|would|may|might|could) (?:\w+ ){0,2}?"
    r"(?:fail|crash|hang|stall|abort|be (?:killed|terminated|evicted|lost|aborted))\b"
    r"(?: \w+){0,3}? (?:if|when|unless|once)\b"
)
_OPTION = re.compile(  # a help text, or a numbered list of advice
    r"\s{0,8}-{1,2}[a-z][\w-]*(?:[ =,]|$)|\s{0,8}\d{1,2}\. "
    r"(?:[Ss]et|[Tt]ry|[Uu]se|[Dd]isable|[Ii]ncrease|[Rr]educe|[Dd]ecrease)\b"
)
_SPOKEN = re.compile(
    r"[^'\"`]{0,200}\b(?:[Ff]ailure|[Ff]ailed|[Ee]rror)\b[^'\"`]{0,60}['\"`]$"
    r"|.{0,400}\bexception occurred ?: ?\(?['\"]$"
)  # words that announce a quoted error
# a quoted field of a structured log is a message, not a quotation
_FIELD = re.compile(
    r"\b(?:[Ee]rr(?:or)?|msg|reason|[Mm]essage|desc|details)(?:=|: ?| = )\\?\"|\bcaused:? \\?\"|\bmessage: '"
)
# one setting; a line with several prints a program's configuration
_SETTING = re.compile(r"[(, ]\w{2,60}=[^=,\n]{0,200},")
_MANY_SETTINGS = 3
_SOURCE_PLACE = re.compile(r"[\w./-]{1,300}\.(?:c|cc|cpp|cu|h|hpp):\d+: ")
_NCCL_RETURNED = re.compile(r"/?(?:[\w.-]+/)*[\w.-]+:\d{1,6} -> [1-9]\b")  # the calling function passed the error on
_NCCL_ECHO = re.compile(  # a repeated error of another thread
    r"\[Proxy Service|Failed to execute operation|while polling for opId|Proxy Call to rank|\[Service [Tt]hread\]"
    r"|\[Rem Allocator\]|[Pp]roxy(?:Progress|Connect)|socket progress error|NET/Socket : (?:message truncated|socket)"
)
_PREFIX_END = re.compile(r"[\]:>|)}%=.*-]\s*$")
_ROLE_OF_SEVERITY = {"strong": "fatal", "weak": "warning", "watchdog": "warning", "exit": "warning", "effect": "info"}


def find(group: JobMessageGroup, line: JobLine) -> Evidence | None:
    """The first message of a group that matches. The catalog lists specific messages before general ones."""
    placed = line._replace(text=with_place(line))
    # a launcher prints its arguments first and the error at the end of the line
    if len(placed.text) > _LONGEST_MESSAGE:
        placed = placed._replace(text=f"{placed.text[:_LONGEST_MESSAGE]} {placed.text[-_LONGEST_MESSAGE // 4 :]}")
    if group.kind in ("files", "memory") and failed_calls.subsystem(placed.text) in _NO_FILES:
        return None  # "Input/output error" of an adapter or a GPU is not about files
    for message in group.messages:
        match = message.regex.search(placed.text)
        if match:
            about = _is_about(group, placed, max(match.start() - message.lead, 0))
            return None if about else _by_level(_evidence(group.kind, message, match, line), line)
    return None


def _by_level(found: Evidence, line: JobLine) -> Evidence | None:
    """Lowers the role of a message that was logged as a warning, and drops one that was logged as information."""
    if line.nccl or found.event.kind not in _LEVELLED or found.role in ("note", "hint"):
        return found
    if line.level == "I":
        return None
    if line.level == "W" and found.role in ("strong", "likely", "effect"):
        return replace(found, role="hint" if found.cause else "note")
    return found


def with_place(line: JobLine) -> str:
    """The text with NCCL's source file before it, because only the file name tells which part failed."""
    return f"{line.place}: {line.text}" if line.nccl and line.place else line.text


def _is_about(group: JobMessageGroup, line: JobLine, start: int) -> bool:
    """Whether the words are part of a text about errors (a data sample, a docstring, source code), not of a message."""
    if group.kind == "life" and line.text.startswith(_SUMMARY):
        return False
    if not line.nccl and (_CODE.match(line.text) or _is_inside_prose(group, line.text, start)):
        return True
    if group.kind in _AT_THE_MARGIN and _OPTION.match(line.text):
        return True
    words = min((at for word in group.keywords if (at := line.text.find(word.strip())) >= 0), default=start)
    if len(_QUOTES.findall(line.text, 0, max(words, start))) % 2 and not _JSON_KEY.match(line.text):
        return True
    if _is_in_a_record(line.text, max(words, start)):
        return True
    before = line.text[:start]
    return bool(before.strip()) and not _PREFIX_END.search(before)


def _is_in_a_record(text: str, at: int) -> bool:
    """Whether the words are quoted inside a value of a record, as in a sample of the data."""
    return text.startswith('{"') and text.count('"', 0, at) % 2 == 1 and text.count("'", 0, at) % 2 == 1


def is_code(text: str) -> bool:
    """Whether a line is source code, a quotation, or a row of a help text."""
    return bool(_CODE.match(text) or _OPTION.match(text))


def describes(text: str) -> bool:
    """Whether the text is a description in a schema or a configuration."""
    return bool(_DESCRIBES.match(text))


def _is_inside_prose(group: JobMessageGroup, text: str, at: int) -> bool:
    """Whether the words are deep in a help text, or in a traceback that a person quotes on one line with own words."""
    if group.kind in _AT_THE_MARGIN and text.startswith(_DEEP):
        return True
    return bool(text[: max(text.find(_TRACEBACK, 0, at), 0)].strip())


def _evidence(kind: str, message: JobMessage, match: re.Match[str], line: JobLine) -> Evidence:
    detail: dict[str, Value] = {name: printable(text) for name, text in match.groupdict().items() if text is not None}
    meaning = of_cuda(str(detail["error"])) if message.role == "cuda" else Meaning(message.role, message.cause)
    host = str(detail.pop("host", "")) or line.host
    return _placed_evidence(kind, message.code, line, meaning, detail, host=host)


def _placed_evidence(
    kind: str, code: str, line: JobLine, meaning: Meaning, detail: dict[str, Value], *, host: str = ""
) -> Evidence:
    rank = detail.pop("rank", None)
    device = str(detail.pop("device", ""))
    if line.local_rank is not None:
        detail.setdefault("local_rank", str(line.local_rank))
    if line.level == "W":
        detail["warned"] = "yes"
    event = Event(
        kind=kind, at=line.at, text=printable(line.text.strip()), code=code, device=device, line=line.number,
        severity=_ROLE_OF_SEVERITY.get(meaning.role, "info"), detail=detail,
    )  # fmt: skip
    evidence_rank = int(rank) if rank is not None else line.rank
    return Evidence(event=event, host=host or line.host, rank=evidence_rank, role=meaning.role, cause=meaning.cause)


def as_retried(one: Evidence) -> Evidence:
    """The evidence of an error that the program retries: it points to a cause but does not prove it."""
    role = "weak" if one.role in ("strong", "likely") else one.role
    return replace(with_detail(one, {**one.event.detail, "retried": "yes"}), role=role)


def of_problem(line: JobLine, rows: Sequence[job_problems.JobProblem] | None = None) -> Evidence | None:
    """The known problem that a line shows. Quoted words and prose about errors show none."""
    found = job_problems.find(with_place(line)[:_LONGEST_PROBLEM], rows, raised=False)
    if found is None or (line.level == "I" and not found[0].warned) or _is_talk(line, found[0].match):
        return None
    problem, parts = found
    if line.level == "I" and problem.role == "strong" and not _ERROR_MARK.search(line.text):
        return None
    role = "hint" if line.level == "W" and not problem.warned else problem.role
    if line.level in ("I", "W") and role == "strong":
        role = "likely"
    if role == "strong" and not (line.nccl or line.level == "E" or problem.warned or _ERROR_MARK.search(line.text)):
        role = "likely"  # no word of the line says that something failed
    detail: dict[str, Value] = {name: printable(value) for name, value in parts.items()}
    if role in ("strong", "likely") and _GOES_ON.search(line.text):
        role = "weak"
    if role in ("strong", "likely", "weak") and _MAY_HAPPEN.search(line.text):
        role = "hint"
    host = str(detail.pop("host", "") or detail.pop("host2", ""))
    detail["problem"] = problem.name
    return _placed_evidence("problem", problem.name, line, Meaning(role, problem.cause), detail, host=host)


def of_nccl(line: JobLine) -> Evidence | None:
    """NCCL's last error: a known problem, a known NCCL message, a failed call, or else the text alone."""
    known = of_problem(line)
    if known:
        return known
    for group in groups():
        if group.kind.startswith("nccl.") and (found := find(group, line)):
            return found
    return of_failed_call(line) or _placed_evidence("nccl.last_error", "other", line, Meaning("effect", ""), {})


def of_nccl_warning(line: JobLine, below: Sequence[JobLine]) -> Evidence | None:
    """A warning of NCCL, judged by its source file.

    `below`: the next lines, which show a call that returned an error.
    """
    cause, problem = failed_calls.cause_of_nccl_source(line.place)
    if not line.nccl or line.level != "E" or not cause or _NCCL_ECHO.search(line.text):
        return None
    if failed_calls.is_harmless(line.text):
        return None
    returned = any(one.nccl and one.host == line.host and _NCCL_RETURNED.match(one.text) for one in below)
    detail: dict[str, Value] = {"what": printable(with_place(line))[:160]}
    if problem:
        detail["problem"] = problem
    role = "weak" if returned else "hint"
    return _placed_evidence("nccl.warning", "other", line, Meaning(role, cause), detail)


def of_failed_call(line: JobLine) -> Evidence | None:
    """The failed call that a line reports by its error code, for any call."""
    text = line.text[:_LONGEST_PROBLEM]
    if line.level == "I" or not _ERROR_MARK.search(text) or _is_quoted(line, 0) or _GOES_ON.search(line.text):
        return None
    found = failed_calls.meaning(text)
    if found is None:
        return None
    role = "hint" if line.level == "W" else found.role
    detail: dict[str, Value] = {"subsystem": found.subsystem, "error": found.error}
    if found.problem:
        detail["problem"] = found.problem
    return _placed_evidence("call", found.error, line, Meaning(role, found.cause), detail)


def _is_talk(line: JobLine, regex: PrefilteredPattern) -> bool:
    """Whether the words are part of source code, a quotation or a help text, not of a message."""
    if line.nccl:
        return False
    match = regex.search(line.text[:_LONGEST_PROBLEM])
    if match is None:
        return True
    return _is_quoted(line, match.start()) or bool(
        line.text[: max(line.text.find(_TRACEBACK, 0, match.start()), 0)].strip()
    )


def _is_quoted(line: JobLine, at: int) -> bool:
    if _SOURCE_PLACE.match(line.text):  # libraries quote their own message after file and line
        return False
    if _SPOKEN.match(line.text[:at]):
        return False
    said = max((match.end() for match in _FIELD.finditer(line.text, 0, at)), default=0)
    if _is_in_a_record(line.text, at):
        return True
    if _CODE.match(line.text) or _OPTION.match(line.text) or len(_QUOTES.findall(line.text, said, at)) % 2:
        return True
    if len(_SETTING.findall(line.text, 0, at)) >= _MANY_SETTINGS and not _ERROR_MARK.search(line.text[:at]):
        return True
    return line.text.startswith(_DEEP) and not _ERROR_MARK.search(line.text)


def of_exception(
    raised: Raised, line: JobLine, meaning: Meaning, rows: Sequence[job_problems.JobProblem] | None = None
) -> Evidence:
    """The evidence of an exception. Without a traceback it may have been handled: then it points to a cause only."""
    found = job_problems.find(raised.text[:_LONGEST_PROBLEM], rows) if meaning.role != "watchdog" else None
    if found and found[0].raised and meaning != job_errors.OWN:
        found = None  # the class tells more than the known problem
    if found:
        meaning = Meaning(found[0].role, found[0].cause)
    elif meaning == job_errors.OWN and raised.type in _SAY_LITTLE:
        meaning = Meaning("likely", meaning.cause)
    unframed = "likely" if found and not found[0].raised else "weak"
    role = unframed if meaning.role == "strong" and not raised.framed else meaning.role
    detail: dict[str, Value] = {"type": raised.type}
    if found:
        detail |= {name: printable(value) for name, value in found[1].items() if name not in _PLACES}
        detail["problem"] = found[0].name
    for name in ("chained", "where", "code", "library"):
        if value := getattr(raised, name):
            detail[name] = printable(value)
    if meaning.cause.startswith("storage.") and (path := _PATH_AT_THE_END.search(raised.message)):
        detail["path"] = printable(path[1])
    return _placed_evidence("exception", raised.type, line, Meaning(role, meaning.cause), detail)


def of_kernel(event: Event, host: str = "") -> Evidence:
    meaning = of_kernel_event(event.kind, str(event.code), event.severity)
    if event.kind == "amdgpu" and meaning.cause == "job.illegal_access":
        event = replace(event, detail={**event.detail, "problem": "amd_memory_fault"})
    if event.kind == "xid" and "caused_by" in event.detail:
        meaning = Meaning("effect", "")
    return Evidence(event=event, host=host, role=meaning.role, cause=meaning.cause)


_WELL_AGAIN = 5  # finite steps that must follow before a NaN counts as a skipped step (1 if only the gradient was NaN)
_OF_FINDING = {"nan": "job.nan", "spike": "job.loss_spike", "norm": "job.loss_spike", "slow": "job.slowdown"}
_SMALL_DROP = 1.35  # a slowdown below this factor is reported with less confidence


def of_steps(finding: SeriesFinding, series: StepSeries) -> Evidence:
    sure = finding.to_the_end or finding.code != "nan"
    first = finding.first
    detail: dict[str, Value] = {
        "steps": float(finding.steps), "before": finding.before, "value": finding.value,
        "to_the_end": "yes" if finding.to_the_end else "no",
        "steps_after": 0.0 if finding.to_the_end else float(series.steps_after(first.line)),
    }  # fmt: skip
    if first.step is not None:
        detail["step"] = float(first.step)
    if finding.code == "norm":
        detail["problem"] = "gradient_norm"
    at = f"step {first.step}" if first.step is not None else f"line {first.line}"
    detail["says"] = {
        "nan": f"loss or gradient is not a number from {at} on",
        "spike": f"loss jumps from {finding.before:.4g} to {finding.value:.4g} at {at}",
        "norm": f"the norm of the gradients jumps from {finding.before:.4g} to {finding.value:.4g} at {at}",
        "slow": f"a step takes {finding.value / (finding.before or 1.0):.2f} times as long from {at} on",
    }[finding.code]
    event = Event(
        kind="steps", at=0.0, code=finding.code, text=_shown(first), line=first.line, severity="warning", detail=detail
    )
    needed = 1 if first.loss is not None and isfinite(first.loss) else _WELL_AGAIN
    if not sure and series.steps_after(first.line) >= finding.steps + needed:
        return Evidence(event=event)  # mixed precision skipped the step, or had not found its loss scale yet
    role = "strong" if sure else "weak"
    if finding.code == "norm" or (finding.code == "slow" and finding.value < _SMALL_DROP * finding.before):
        role = "likely" if finding.to_the_end else "weak"
    return Evidence(event=event, role=role, cause=_OF_FINDING[finding.code])


def _shown(step: TrainingStep) -> str:
    return printable(decode(step.raw).text.strip())


def of_progress(series: StepSeries) -> Evidence:
    first, last = series.first, series.last
    assert first is not None and last is not None
    detail: dict[str, Value] = {"steps": float(series.count), "first_line": float(first.line)}
    if last.step is not None:
        detail["step"] = float(last.step)
    event = Event(
        kind="steps", at=0.0, code="progress", text=_shown(last), line=last.line, severity="info", detail=detail
    )
    return Evidence(event=event)


def with_detail(evidence: Evidence, detail: Mapping[str, Value]) -> Evidence:
    return replace(evidence, event=replace(evidence.event, detail=detail))
