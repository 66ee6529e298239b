"""Chooses the readers of a log line by its keywords, and the best of their answers."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from holdfast.catalog import failed_calls, job_errors, job_messages, job_problems, translations
from holdfast.formats.job import aside, mpi_banner, python_exceptions, training_steps
from holdfast.formats.job import message as job_message
from holdfast.formats.job.context import LineContext
from holdfast.formats.job.line import JobLine, decode
from holdfast.formats.kernel.line import printable
from holdfast.formats.kernel.log import KernelLog
from holdfast.formats.lines.keywords import Keywords
from holdfast.formats.pytorch import elastic_summary
from holdfast.model.evidence import Evidence

QUOTED = b"\n> ["
QUOTED_KERNEL = re.compile(rb"(?m)^> (?=\[)")  # a kernel line that a report quotes with '>'
_GOES_ON_BELOW = re.compile(r"(?:[:=]|\.\.\.)\s*$")  # the message continues on the next line
_CONTINUES = re.compile(
    r"\s+(?:fails?|failed|returned|with|error|strerror|errno|reason)\b"
)  # the end of a message that began on the line above
_START = 4  # first bytes of a word, by which it is looked up
_PANIC = re.compile(r"panicked at \S{1,300}:\d{1,6}:\d{1,4}:$")  # Rust prints the reason on the next line
_NODE = re.compile(r"\s*\[\[\{\{node ")  # TensorFlow names the operator below the message
_CELL = "| UNAVAILABLE: "
_ROW_GOES_ON = re.compile(r"\|(?: +\|){1,4} +\S")
_MOST_ROWS = 8
_WORDS = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,80}[^A-Za-z]{1,80}[A-Za-z]{2}")
_LAUNCHER = re.compile(r"srun|slurmstepd|mpi(?:run|exec)|In: |[-=*]{3}")
_FIELD_OF_A_BOX = re.compile(  # a field in a box of Open MPI, whose heading names the call; this line has the error
    r"\s{1,8}(?:Error|Reason|System error|Error code|errno|Errno)(?: \w+)?\s*: \S|Error:\s{2,8}\S"
)
Reader = Callable[[JobLine, LineContext], Evidence | None]
_LAST_ERROR = "Last error:"
_NCCL_WARNING = "NCCL WARN"
_SAYS_LEAST = ("call", "nccl.warning")  # kinds that rest only on an errno or a source file
_LISTED_BELOW = "Missing ranks:"  # Horovod lists the ranks on the next line
_SAY_MORE = frozenset({"watchdog", "exit", "slurm", "kubernetes"})  # kinds whose messages name ranks, hosts and codes
# kinds that are kept in addition to an error: a progress bar may precede it on the line
_BESIDE = frozenset({"loading", "busy", "save", "life"})
_ERRORS = frozenset({"strong", "likely", "weak", "hint", "effect"})
# roles, the clearest first, for a line that several readers match
_CLEAREST = ("strong", "likely", "watchdog", "exit", "weak", "hint", "effect", "note")


def read(line: JobLine, context: LineContext, words: list[bytes], stamp_above: Callable[[], float]) -> list[Evidence]:
    """The clearest evidence of a line, and evidence beside it. `words`: the keywords found in the line."""
    if _is_no_message(line, context):
        return []
    said_otherwise = bool(_other_language().intersection(words))
    context.rows = _rows_of(line.text) if said_otherwise else job_problems.with_keywords(words)
    whole = _whole(line, context)
    if whole is not line:
        if _is_no_message(whole, context):
            return []
        line, context.rows = whole, _rows_of(whole.text)
    if python_exceptions.looks_like_one(line):
        if python_exceptions.is_ignored(line, context.near()):
            return []
        if _GOES_ON_BELOW.search(line.text) and (more := context.below(line.stream)):
            line = line._replace(text=f"{line.text.rstrip()} {more}")
            context.rows = _rows_of(line.text)
    if not line.at:
        line = line._replace(at=stamp_above())
    asked = dict.fromkeys(reader for word in words for reader in by_keyword()[word])
    reported = [evidence for reader in asked if (evidence := reader(line, context))]
    reported = _with_what_follows(reported, line, context)
    clearest = min(reported, key=lambda one: (one.event.kind in _BESIDE, *_clearness(one)), default=None)
    if clearest and clearest.role in ("strong", "likely") and (advice := context.advice_below()):
        reported[reported.index(clearest)] = clearest = job_message.with_detail(
            clearest, {**clearest.event.detail, "advice": printable(advice)}
        )
    return [
        _with_problem(evidence, reported)
        for evidence in reported
        if evidence is clearest or evidence.event.kind in _BESIDE
    ]


def _whole(line: JobLine, context: LineContext) -> JobLine:
    """The line joined with the other lines of its message: above it in a box or sentence, below it in a table."""
    if _FIELD_OF_A_BOX.match(line.text) and (heading := context.heading()):
        return line._replace(text=f"{heading} {line.text.strip()}")
    if (_CONTINUES.match(line.text) or _NODE.match(line.text)) and (above := context.near()):
        return _goes_on(above[-1], line)
    if _PANIC.search(line.text) and (said := context.below(line.stream)):
        return line._replace(text=f"{line.text} {said}")
    return line._replace(text=_whole_cell(line, context)) if _CELL in line.text else line


def _goes_on(above: JobLine, line: JobLine) -> JobLine:
    """A message joined with its last line, with the level of its first line."""
    return line._replace(text=f"{above.text.rstrip()} {line.text.strip()}", level=line.level or above.level)


def _whole_cell(line: JobLine, context: LineContext) -> str:
    """The last cell of a row of Triton's table of models, which continues in the rows below."""
    text = line.text.rstrip(" |")
    for raw in context.after().split("\n")[:_MOST_ROWS]:
        if not _ROW_GOES_ON.match(raw):
            break
        text = f"{text} {raw.strip(' |')}"
    return text


def _with_what_follows(reported: list[Evidence], line: JobLine, context: LineContext) -> list[Evidence]:
    """Drops errors that the program calls harmless and marks errors that it retries."""
    below = context.lines_below()
    if any(one.event.kind == "exit" for one in reported) and aside.restarted(line, below):
        return [job_message.as_retried(one) for one in reported]
    if not any(one.role in _ERRORS for one in reported):
        return reported
    if aside.called_harmless(below):
        return [one for one in reported if one.role not in _ERRORS]
    if aside.retried(line, context.near(), below):
        return [job_message.as_retried(one) if one.role in _ERRORS else one for one in reported]
    if aside.handled(line, context.near()):
        return [replace(one, role="hint") if one.role in _ERRORS else one for one in reported]
    return reported


def read_alone(line: JobLine) -> Evidence | None:
    """The evidence of a line without its context."""
    words = _words_of(line.text)
    context = LineContext(b"", line.text.encode(), 0)
    context.rows = job_problems.with_keywords(words)
    readers = dict.fromkeys(reader for word, all_of in by_keyword().items() if word in words for reader in all_of)
    return min((found for reader in readers if (found := reader(line, context))), key=_clearness, default=None)


def _words_of(text: str) -> set[bytes]:
    """The keywords of a line whose text differs from the file: a joined or a translated line."""
    hits, _ = finder().find(text.encode() + b"\n")  # some keywords end a line
    return {word for words in hits.values() for word in words}


def _rows_of(text: str) -> list[job_problems.JobProblem]:
    return job_problems.with_keywords(_words_of(text))


def _is_no_message(line: JobLine, context: LineContext) -> bool:
    if failed_calls.is_calm(f"{line.place}: {line.text}" if line.place else line.text):
        return True
    if job_message.describes(line.text):
        return True
    return line.text.startswith("    ") and python_exceptions.is_source(line, context.near())


def _clearness(one: Evidence) -> tuple[int, bool, int, bool]:
    """Sort key: known problems before class names, exceptions before plain lines, failed calls last."""
    kind = one.event.kind
    vague = one.role == "hint" or (not one.word("problem") and kind not in _SAY_MORE)
    least = _SAYS_LEAST.index(kind) + 1 if kind in _SAYS_LEAST else 0
    return least, vague, _CLEAREST.index(one.role), kind == "problem"


def _with_problem(one: Evidence, beside: list[Evidence]) -> Evidence:
    """The evidence with the known problem that another reader found on the same line, for the same cause."""
    known = next((other.word("problem") for other in beside if other.cause == one.cause and other.word("problem")), "")
    if not known or one.word("problem") or not one.cause:
        return one
    return job_message.with_detail(one, {**one.event.detail, "problem": known})


def _exception(line: JobLine, context: LineContext) -> Evidence | None:
    raised = None if line.nccl else python_exceptions.find(line, context.near())
    if raised is None:
        return None
    found = job_message.of_exception(raised, line, job_errors.of_exception(raised.text), context.rows)
    if raised.framed and aside.is_logged(line, context.near()):
        return job_message.with_detail(found, {**found.event.detail, "logged": "yes"})
    return found


def _problem(line: JobLine, context: LineContext) -> Evidence | None:
    return job_message.of_problem(line, context.rows)


def _failed_call(line: JobLine, _context: LineContext) -> Evidence | None:
    return job_message.of_failed_call(line)


def _nccl_warning(line: JobLine, context: LineContext) -> Evidence | None:
    return job_message.of_nccl_warning(line, context.lines_below())


def _last_error(line: JobLine, context: LineContext) -> Evidence | None:
    """NCCL's last error: PyTorch prints it on the line below."""
    if line.text.strip() != _LAST_ERROR:
        return None
    below = decode(context.next_line(), line.number + 1)
    reported = below._replace(nccl=True, level="E", host=below.host or line.host, at=below.at or line.at)
    return job_message.of_nccl(reported)


def _of_group(group: job_messages.JobMessageGroup) -> Reader:
    def read(line: JobLine, context: LineContext) -> Evidence | None:
        if line.text.endswith(_LISTED_BELOW):
            line = line._replace(text=f"{line.text} {decode(context.next_line()).text}")
        evidence = job_message.find(group, line)
        if evidence and group.kind == "watchdog" and evidence.event.code == "timeout" and not evidence.word("ran_ms"):
            whole = line._replace(text=line.text + context.next_line().decode("utf-8", "replace"))
            evidence = job_message.find(group, whole) or evidence
        if evidence and evidence.event.code == "summary":
            return elastic_summary.completed(evidence, context.lines())
        if evidence and evidence.event.code == "python" and (place := python_exceptions.fatal_place(context.after())):
            return job_message.with_detail(evidence, {**evidence.event.detail, "where": printable(place)})
        if evidence and evidence.event.code == "task" and (said := _said_last(context)):
            return job_message.with_detail(evidence, {**evidence.event.detail, "above": printable(said)})
        if evidence and evidence.event.code == "hydra":
            return mpi_banner.completed(evidence, context.lines())
        return evidence

    return read


def _said_last(context: LineContext) -> str:
    """The line above a launcher's first report of an ended process: usually the last output of that process."""
    above = context.near()[-1:]
    return (
        above[0].text.strip() if above and _WORDS.search(above[0].text) and not _LAUNCHER.match(above[0].text) else ""
    )


@cache
def by_keyword() -> dict[bytes, tuple[Reader, ...]]:
    readers: dict[bytes, tuple[Reader, ...]] = dict.fromkeys(python_exceptions.KEYWORDS, (_exception,))
    for group in job_messages.groups():
        reader = _of_group(group)
        for keyword in group.keywords:
            word = keyword.encode()
            readers[word] = (*readers.get(word, ()), reader)
    readers[_LAST_ERROR.encode()] = (_last_error,)
    readers[_NCCL_WARNING.encode()] = (*readers.get(_NCCL_WARNING.encode(), ()), _nccl_warning)
    for words in failed_calls.keywords():
        readers[words.encode()] = (*readers.get(words.encode(), ()), _failed_call)
    for problem in job_problems.problems():
        for keyword in problem.keywords:
            word = keyword.encode()
            readers[word] = tuple(dict.fromkeys((*readers.get(word, ()), _problem)))
    readers |= _in_other_languages(readers)
    return {word: all_of for word, all_of in readers.items() if all_of}


def _in_other_languages(readers: dict[bytes, tuple[Reader, ...]]) -> dict[bytes, tuple[Reader, ...]]:
    """Gives a phrase in another language the readers of its English words.

    One search covers all words, instead of one per pair of phrase and word, because every start of the command runs it.
    """
    by_start: dict[bytes, list[bytes]] = {}
    for word in readers:
        by_start.setdefault(word[:_START], []).append(word)
    everything, order = b"\0%b\0" % b"\0".join(readers), {word: at for at, word in enumerate(readers)}
    found: dict[bytes, tuple[Reader, ...]] = {}
    for other, english in translations.said_as().items():
        phrase = english.encode()
        starts = (phrase[at : at + size] for at in range(len(phrase)) for size in range(1, _START + 1))
        words = [word for start in starts for word in by_start.get(start, ()) if word in phrase]
        words += _words_around(phrase, everything)
        words.sort(key=order.__getitem__)
        found[other.encode()] = tuple(dict.fromkeys(reader for word in words for reader in readers[word]))
    return found


def _words_around(phrase: bytes, words: bytes) -> Iterator[bytes]:
    """The words that contain a phrase; each word is between zero bytes."""
    at = words.find(phrase)
    while at >= 0:
        end = words.index(b"\0", at)
        yield words[words.rindex(b"\0", 0, at) + 1 : end]
        at = words.find(phrase, end)


@cache
def _other_language() -> frozenset[bytes]:
    return frozenset(other.encode() for other in translations.said_as())


@cache
def kernel_words() -> frozenset[bytes]:
    return frozenset(KernelLog().keywords)


def keywords() -> tuple[bytes, ...]:
    """All keywords. Lines without any of them are skipped."""
    return tuple(dict.fromkeys([*by_keyword(), *KernelLog().keywords, *training_steps.COMMON]))


@cache
def finder() -> Keywords:
    return Keywords(
        [*by_keyword(), *KernelLog().keywords, *training_steps.NOT_A_NUMBER], (*training_steps.COMMON, QUOTED)
    )
