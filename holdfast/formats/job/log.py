"""A job's log as a stream of bytes to evidence. Only lines with a known keyword are decoded."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

from holdfast.catalog import failed_calls, job_errors, job_messages, job_problems
from holdfast.formats.job import message as job_message
from holdfast.formats.job import mpi_banner, python_exceptions, quoted, tail, training_steps
from holdfast.formats.job.evidence_fold import EvidenceFold, Key
from holdfast.formats.job.line import JobLine, decode, is_binary, near_stamp
from holdfast.formats.job.step_series import StepSeries
from holdfast.formats.kernel.folding import EventFolder
from holdfast.formats.kernel.line import printable
from holdfast.formats.kernel.log import KernelLog
from holdfast.formats.kernel.prefix import NO_PREFIX, Prefix, is_about, prefix_of
from holdfast.formats.lines.keywords import Hits, Keywords, line_end
from holdfast.formats.pytorch import elastic_summary
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event, Value

BLOCK_BYTES = 1 << 18
LONGEST_LINE = 1 << 20
_CONTEXT_BYTES = 8192
_CONTEXT_LINES = 60
_ALL_STEPS = 5_000  # every step is read; of a longer log ever fewer, so that its numbers never cost more than its bytes
_GAP_BYTES = 32  # that the gap between two steps grows by with each that is read
_MOST_OF_A_STEP = 2000
_NOT_A_NUMBER = frozenset(training_steps.NOT_A_NUMBER)
_MAX_SERIES = 64
_MOST_OF_A_SHAPE = 3_000  # lines that differ in numbers alone, such as those of as many ranks
_MOST_SHAPES = 20_000
_SHAPE_BYTES = 300
_FEWEST_READ, _BYTES_A_READ = 700, 300  # lines read in full: so many of any log, and one more for so many bytes
_MOST_SAVED = 20_000  # of them, while nothing happens
_OVERDRAFT = 2_000  # lines of a new shape that are read although none is left
_MESSAGE_LINES = 4
_ADVICE_BYTES = 800
_ADVICE_WORDS = (b"try using", b"Try ", b"Please ", b"Solution:", b"Hint:", b"hint:", b"onsider ")
_STAMP_LINES = 20  # lines that share one search for a time above them
_DIGITS = re.compile(rb"\d+")


@dataclass(slots=True)
class _Shape:
    seen: int = 0
    keys: list[Key] = field(default_factory=list)


class JobLog:
    """Feed it chunks of any size; `finish` gives what was found. Its memory does not grow with the log."""

    def __init__(self) -> None:
        self._carry = b""
        self._above = b""  # the end of what was read before this block
        self._lines = 0
        self._kernel = KernelLog(shipped=True)
        self._kernel_words = _kernel_words()
        self._kernel_events: dict[str, EventFolder] = {}  # by the host that the lines name
        self._readers = _readers()
        self._found = EvidenceFold()
        self._shapes: dict[bytes, _Shape] = {}
        self._stamp = (-_STAMP_LINES, 0.0)  # the line that a time was looked for above, and the time
        self._series: dict[bytes, StepSeries] = {}
        self._steps_read = 0
        self._budget = float(_FEWEST_READ)

    @property
    def lines(self) -> int:
        return self._lines

    def feed(self, chunk: bytes) -> None:
        data = self._carry + chunk if self._carry else chunk
        end = data.rfind(b"\n") + 1
        if not end and len(data) > BLOCK_BYTES:
            end = data.rfind(b"\r") + 1 or (len(data) if len(data) > LONGEST_LINE else 0)
        self._carry = data[end:]
        if end:
            self._scan(data[:end] if end < len(data) else data)

    def finish(self) -> list[Evidence]:
        if self._carry:
            self._scan(self._carry + b"\n")
            self._carry = b""
        self._keep_kernel(self._kernel.finish(), {})
        kernel = [
            job_message.of_kernel(event, host)
            for host, folder in self._kernel_events.items()
            for event in folder.take()
        ]
        known = [*kernel, *self._found.take()]
        roles = {one.role for one in known} - {"note", "hint"}
        seen = {one.event.line for one in known if one.role != "note"}
        alone = not any(one.role == "effect" and one.event.kind != "exit" for one in known)
        end = None if roles - {"effect", "exit"} else self._end(seen, alone=alone)
        found = [self._placed_in_run(one) for one in (*known, *([end] if end else []))]
        return sorted([*found, *self._of_steps()], key=lambda one: one.event.line)

    def _end(self, seen: set[int], *, alone: bool) -> Evidence | None:
        """What a short text quotes, then what the end of a log says that holds no known error (`alone`).

        `seen`: the numbers of lines that are evidence already.
        """
        reported = None if self._steps_read else quoted.find(self._above, self._lines, _read_alone)
        if reported or not alone:
            return reported
        last = tail.find(self._above, self._lines, seen)
        return last or (None if self._steps_read else quoted.unknown(self._above, self._lines))

    def _scan(self, block: bytes) -> None:
        block = training_steps.joined(block)
        hits, seen = _finder().find(block)
        if _QUOTED in seen or block.startswith(_QUOTED[1:]):
            block = _QUOTED_KERNEL.sub(b"", block)
            hits, seen = _finder().find(block)
        seen.discard(_QUOTED)
        kernel: Hits = {}
        prefixes: dict[int, Prefix] = {}
        not_numbers: list[tuple[int, int]] = []
        position, number = 0, self._lines + 1
        self._budget = min(self._budget + len(block) / _BYTES_A_READ, _MOST_SAVED)
        for start in sorted(hits):
            number += block.count(b"\n", position, start)
            position = start
            if not _NOT_A_NUMBER.isdisjoint(hits[start]):
                not_numbers.append((start, line_end(block, start)))
            mine = [word for word in hits[start] if word in self._readers]
            theirs = [word for word in hits[start] if word in self._kernel_words]
            if theirs and not is_about(block[start : start + 300], theirs):
                kernel[block.rfind(b"\n", 0, start) + 1] = theirs
                prefixes[number] = prefix_of(block[start : start + 300])
            if mine:
                self._budget -= self._read(block, start, number, mine)
        if seen:  # the same lines are counted once: counting is the larger part of the work
            number, position = self._read_steps(block, seen, not_numbers)
        lines = number - self._lines - 1 + block.count(b"\n", position)
        self._keep_kernel(self._kernel.scan(block, kernel, lines), prefixes)
        self._lines += lines
        self._above = (
            (self._above + block)[-_CONTEXT_BYTES:] if len(block) < _CONTEXT_BYTES else block[-_CONTEXT_BYTES:]
        )

    def _keep_kernel(self, events: list[Event], prefixes: dict[int, Prefix]) -> None:
        for event in events:
            prefix = prefixes.get(event.line, NO_PREFIX)
            dated = event if event.at else replace(event, at=prefix.at)
            self._kernel_events.setdefault(prefix.host, EventFolder()).add(dated)

    def _read(self, block: bytes, start: int, number: int, words: list[bytes]) -> int:
        """What it cost: a line that is only counted is free, one that holds many words is dear."""
        end = line_end(block, start)
        shape = self._shape(block[start : min(end, start + _SHAPE_BYTES)])
        shape.seen += 1
        if shape.seen > _MOST_OF_A_SHAPE or self._budget <= (-_OVERDRAFT if shape.seen == 1 else 0):
            for key in shape.keys:
                self._found.again(key, number)
            return 0
        context = _Context(self._above, block, start)
        line = decode(block[start:end], number)
        if is_binary(block[start:end], line.text) or _is_no_message(line, context):
            return 1
        context.rows = job_problems.with_keywords(words)
        if _CONTINUES.match(line.text) and (above := context.lines()):
            line, context.rows = line._replace(text=f"{above[-1].text.rstrip()} {line.text.strip()}"), None
        if python_exceptions.looks_like_one(line):
            if python_exceptions.is_ignored(line, context.lines()):
                return 1
            if _GOES_ON_BELOW.search(line.text) and (more := context.below(line.stream)):
                line, context.rows = line._replace(text=f"{line.text.rstrip()} {more}"), None
        if not line.at:
            line = line._replace(at=self._near_stamp(number, context))
        readers = dict.fromkeys(reader for word in words for reader in self._readers[word])
        reported = [evidence for reader in readers if (evidence := reader(line, context))]
        clearest = min(reported, key=lambda one: (one.event.kind in _BESIDE, *_clearness(one)), default=None)
        if clearest and clearest.role in ("strong", "likely") and (advice := context.advice_below()):
            reported[reported.index(clearest)] = clearest = job_message.with_detail(
                clearest, {**clearest.event.detail, "advice": printable(advice)}
            )
        shape.keys = [
            self._found.add(_with_problem(evidence, reported))
            for evidence in reported
            if evidence is clearest or evidence.event.kind in _BESIDE
        ]
        return 1 + len(words) ** 2 // 16

    def _shape(self, raw: bytes) -> "_Shape":
        """What is known of lines that differ in their numbers alone: of a storm some thousand are read, all counted."""
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        return self._shapes.setdefault(_DIGITS.sub(b"0", raw), _Shape())

    def _near_stamp(self, number: int, context: "_Context") -> float:
        if not self._stamp[0] <= number < self._stamp[0] + _STAMP_LINES:
            self._stamp = (number, context.near_stamp())
        return self._stamp[1]

    def _read_steps(self, block: bytes, words: set[bytes], forced: list[tuple[int, int]]) -> tuple[int, int]:
        """The number of the last line that was looked at, and where it begins."""
        number, position = self._lines + 1, 0
        sparse = max(self._steps_read - _ALL_STEPS, 0) * _GAP_BYTES
        places = training_steps.lines(block, words, sparse)
        for start, end in places if not (sparse and forced) else sorted({*places, *forced}):
            number += block.count(b"\n", position, start)
            position = start
            raw = block[start : min(end, start + _MOST_OF_A_STEP)]
            if step := training_steps.parse(raw, number):
                self._steps_read += 1
                self._series_of(training_steps.speaker(raw)).add(step)
        return number, position

    def _series_of(self, speaker: bytes) -> StepSeries:
        series = self._series.get(speaker)
        if series is None:
            speaker = speaker if len(self._series) < _MAX_SERIES else b""
            series = self._series.setdefault(speaker, StepSeries())
        return series

    def _placed_in_run(self, evidence: Evidence) -> Evidence:
        """How many steps the run made after it, and at which step it was."""
        reported = max(self._series.values(), key=lambda series: series.count, default=None)
        if reported is None or not reported.count:
            return evidence
        line = evidence.event.line
        last = line if evidence.event.kind != "numbers" else evidence.number("last_line") or line  # it goes on and on
        places: dict[str, Value] = {"steps_after": float(reported.steps_after(last))}
        if reported.repeats(line, evidence.number("last_line") or line):
            places["again"] = "yes"
        if (step := reported.step_before(line)) is not None:
            places["step"] = float(step)
        return job_message.with_detail(evidence, {**places, **evidence.event.detail})

    def _of_steps(self) -> list[Evidence]:
        found = []
        for series in self._series.values():
            found += [job_message.of_steps(finding, series) for finding in series.findings()]
            if series.first and series.last:
                found.append(job_message.of_progress(series))
        return found


class _Context:
    """What stands above a line, read only when somebody asks."""

    def __init__(self, above: bytes, block: bytes, start: int) -> None:
        self._above, self._block, self._start = above, block, start
        self._lines: list[JobLine] | None = None
        self.rows: list[job_problems.JobProblem] | None = []  # known problems with a keyword in the line; None: all

    def text(self) -> bytes:
        text = self._block[max(0, self._start - _CONTEXT_BYTES) : self._start]
        return text if len(text) == _CONTEXT_BYTES else self._above[-(_CONTEXT_BYTES - len(text)) :] + text

    def near_stamp(self) -> float:
        return near_stamp(self.text())

    def lines(self) -> list[JobLine]:
        if self._lines is None:
            self._lines = [decode(raw) for raw in self.text().split(b"\n")[-_CONTEXT_LINES - 1 : -1]]
        return self._lines

    def below(self, stream: str) -> str:
        """The first words under a line: a message that begins, or goes on, on a line of its own."""
        end = line_end(self._block, self._start)
        for raw in self._block[end + 1 : end + 1 + _CONTEXT_BYTES].split(b"\n")[:_MESSAGE_LINES]:
            found = decode(raw[:_SHAPE_BYTES])
            if found.text.strip(" =-*") and found.stream == stream:
                return found.text.strip()
        return ""

    def advice_below(self) -> str:
        """A line shortly under an error that tells what to do about it."""
        end = line_end(self._block, self._start)
        below = self._block[end + 1 : end + 1 + _ADVICE_BYTES]
        if not any(word in below for word in _ADVICE_WORDS):
            return ""
        lines = [raw for raw in below.split(b"\n")[:_MESSAGE_LINES] if any(word in raw for word in _ADVICE_WORDS)]
        return decode(lines[0]).text.strip() if lines else ""

    def after(self) -> str:
        """What follows the line, as far as it is read yet."""
        end = line_end(self._block, self._start)
        return self._block[end + 1 : end + 1 + _CONTEXT_BYTES].decode("utf-8", "replace")

    def next_line(self) -> bytes:
        """What follows the line, for messages that were wrapped."""
        end = line_end(self._block, self._start)
        return self._block[end + 1 : line_end(self._block, end + 1)][:400]


_QUOTED = b"\n> ["
_QUOTED_KERNEL = re.compile(rb"(?m)^> (?=\[)")  # of a report; other readers know the mark themselves
_GOES_ON_BELOW = re.compile(r"(?:[:=]|\.\.\.)\s*$")  # a message whose text, value or list stands on the next line
_CONTINUES = re.compile(
    r"\s+(?:fails?|failed|returned|with|error|strerror|errno|reason)\b"
)  # what the line above began
Reader = Callable[[JobLine, _Context], Evidence | None]
_LAST_ERROR = "Last error:"
_LISTED_BELOW = "Missing ranks:"  # Horovod names them on the next line
_SAY_MORE = frozenset({"watchdog", "exit", "slurm", "kubernetes"})  # which name ranks, hosts and codes
_BESIDE = frozenset({"loading", "busy", "save", "life"})  # reported beside an error on one line: a bar has no line end
_CLEAREST = ("strong", "likely", "watchdog", "exit", "weak", "hint", "effect", "note")  # of several readers' one line


def _read_alone(line: JobLine) -> Evidence | None:
    """What a line means without those around it."""
    raw = line.text.encode()
    context = _Context(b"", raw, 0)
    context.rows = None
    ended = raw + b"\n"  # some keywords end a line
    readers = dict.fromkeys(reader for word, all_of in _readers().items() if word in ended for reader in all_of)
    return min((found for reader in readers if (found := reader(line, context))), key=_clearness, default=None)


def _is_no_message(line: JobLine, context: _Context) -> bool:
    if failed_calls.is_calm(line.text):
        return True
    return line.text.startswith("    ") and python_exceptions.is_source(line, context.lines())


def _clearness(one: Evidence) -> tuple[bool, bool, int, bool]:
    """A known problem before what only names a class, its exception before the bare line, a call's error last."""
    kind = one.event.kind
    vague = one.role == "hint" or (not one.word("problem") and kind not in _SAY_MORE)
    return kind == "call", vague, _CLEAREST.index(one.role), kind == "problem"


def _with_problem(one: Evidence, beside: list[Evidence]) -> Evidence:
    """What names the host or the code takes the fix from the reader that knows the problem on the same line."""
    known = next((other.word("problem") for other in beside if other.cause == one.cause and other.word("problem")), "")
    if not known or one.word("problem") or not one.cause:
        return one
    return job_message.with_detail(one, {**one.event.detail, "problem": known})


def _exception(line: JobLine, context: _Context) -> Evidence | None:
    raised = None if line.nccl else python_exceptions.find(line, context.lines())
    if raised is None:
        return None
    return job_message.of_exception(raised, line, job_errors.of_exception(raised.text), context.rows)


def _problem(line: JobLine, context: _Context) -> Evidence | None:
    return job_message.of_problem(line, context.rows)


def _failed_call(line: JobLine, _context: _Context) -> Evidence | None:
    return job_message.of_failed_call(line)


def _last_error(line: JobLine, context: _Context) -> Evidence | None:
    """PyTorch prints the last warning of NCCL on the line below."""
    if line.text.strip() != _LAST_ERROR:
        return None
    below = decode(context.next_line(), line.number + 1)
    reported = below._replace(nccl=True, level="E", host=below.host or line.host, at=below.at or line.at)
    return job_message.of_nccl(reported)


def _of_group(group: job_messages.JobMessageGroup) -> Reader:
    def read(line: JobLine, context: _Context) -> Evidence | None:
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
        if evidence and evidence.event.code == "hydra":
            return mpi_banner.completed(evidence, context.lines())
        return evidence

    return read


@cache
def _readers() -> dict[bytes, tuple[Reader, ...]]:
    readers: dict[bytes, tuple[Reader, ...]] = dict.fromkeys(python_exceptions.KEYWORDS, (_exception,))
    for group in job_messages.groups():
        reader = _of_group(group)
        for keyword in group.keywords:
            word = keyword.encode()
            readers[word] = (*readers.get(word, ()), reader)
    readers[_LAST_ERROR.encode()] = (_last_error,)
    for words in failed_calls.keywords():
        readers[words.encode()] = (*readers.get(words.encode(), ()), _failed_call)
    for problem in job_problems.problems():
        for keyword in problem.keywords:
            word = keyword.encode()
            readers[word] = tuple(dict.fromkeys((*readers.get(word, ()), _problem)))
    return readers


@cache
def _kernel_words() -> frozenset[bytes]:
    return frozenset(KernelLog().keywords)


def keywords() -> tuple[bytes, ...]:
    """A line without any of these is never looked at."""
    return tuple(dict.fromkeys([*_readers(), *KernelLog().keywords, *training_steps.COMMON]))


@cache
def _finder() -> Keywords:
    return Keywords(
        [*_readers(), *KernelLog().keywords, *training_steps.NOT_A_NUMBER], (*training_steps.COMMON, _QUOTED)
    )
