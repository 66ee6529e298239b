"""A job's log as a stream of bytes to evidence. Only lines with a known keyword are decoded."""

import re
from dataclasses import dataclass, field, replace

from holdfast.formats.job import calm_end, markdown, quoted, readers, tail, text_kind, training_steps
from holdfast.formats.job import message as job_message
from holdfast.formats.job.calm_end import CalmEnd
from holdfast.formats.job.context import CONTEXT_BYTES, LineContext
from holdfast.formats.job.evidence_fold import EvidenceFold, Key
from holdfast.formats.job.line import decode, is_binary
from holdfast.formats.job.step_series import StepSeries
from holdfast.formats.job.text_kind import TextKind
from holdfast.formats.job.text_lines import is_prose
from holdfast.formats.kernel.folding import EventFolder
from holdfast.formats.kernel.log import KernelLog
from holdfast.formats.kernel.prefix import NO_PREFIX, Prefix, is_about, prefix_of
from holdfast.formats.lines.keywords import Hits, line_end
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event, Value

BLOCK_BYTES = 1 << 18
LONGEST_LINE = 1 << 20
# up to here every step is parsed; in a longer log fewer and fewer, so that parsing numbers stays cheap
_ALL_STEPS = 5_000
_GAP_BYTES = 32  # each parsed step widens the gap to the next one by this much
_MOST_OF_A_STEP = 2000
_NOT_A_NUMBER = frozenset(training_steps.NOT_A_NUMBER)
_MAX_SERIES = 64
_MOST_OF_A_SHAPE = 3_000  # lines that differ only in numbers, such as the same line of many ranks
_MOST_SHAPES = 20_000
_SHAPE_BYTES = 300
_FEWEST_READ, _BYTES_A_READ = 600, 400  # lines parsed in full: a minimum, and one more per this number of bytes
_MOST_SAVED = 20_000  # unused ones that a quiet log may save up
_OVERDRAFT = 1_000  # lines of a new shape that are parsed after the budget is used up
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
        self._above = b""  # the end of the previous blocks
        self._head = b""
        self._lines = 0
        self._kernel = KernelLog(shipped=True)
        self._kernel_words = readers.kernel_words()
        self._kernel_events: dict[str, EventFolder] = {}  # key: the host that the lines name
        self._readers = readers.by_keyword()
        self._found = EvidenceFold()
        self._shapes: dict[bytes, _Shape] = {}
        self._stamp = (-_STAMP_LINES, 0.0)  # (line whose context was searched for a time, that time)
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
        """The evidence of the log. A program and a document that is not a report have none."""
        if self._carry:
            self._scan(self._carry + b"\n")
            self._carry = b""
        match self._kind():
            case TextKind.LOG:
                return self._evidence()
            case TextKind.DOCUMENT if text_kind.is_report(self._head):
                return [one for one in self._evidence() if not is_prose(one.event.text)]
            case _:
                return []

    def _kind(self) -> TextKind:
        """The kind of text, by beginning and end: a log may begin with the script that wrote it."""
        kind = text_kind.kind_of(self._head)
        if kind == TextKind.LOG or text_kind.is_package(self._head) or self._lines <= self._head.count(b"\n"):
            return kind
        if text_kind.is_explained(self._head) and text_kind.is_explained(self._above):
            return kind  # training steps in a document are examples
        return TextKind.LOG if self._steps_read or text_kind.shows_a_log(self._above) else kind

    def _evidence(self) -> list[Evidence]:
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
        every = [*known, *([end] if end else [])]
        calm = self._calm_below(every)
        found = [self._placed_in_run(one, calm) for one in every]
        if markdown.quotes(self._head.decode("utf-8", "replace")):
            found = [job_message.with_detail(one, {**one.event.detail, "quoted": "yes"}) for one in found]
        return sorted([*found, *self._of_steps()], key=lambda one: one.event.line)

    def _calm_below(self, known: list[Evidence]) -> CalmEnd:
        """The number of normal lines below the last line that reports trouble."""
        trouble = {int(one.number("last_line") or one.event.line) for one in known if one.role != "note"}
        return calm_end.below(self._above, self._lines, trouble) if trouble else CalmEnd()

    def _end(self, seen: set[int], *, alone: bool) -> Evidence | None:
        """Errors that a short text quotes; else, in a log without a known error (`alone`), the error at its end.

        `seen`: numbers of the lines that are evidence already.
        """
        reported = None if self._steps_read else quoted.find(self._above, self._lines, readers.read_alone)
        if reported or not alone:
            return reported
        last = tail.find(self._above, self._lines, seen)
        return last or (None if self._steps_read else quoted.unknown(self._above, self._lines))

    def _scan(self, block: bytes) -> None:
        if len(self._head) < text_kind.SAMPLE_BYTES:
            self._head += block[: text_kind.SAMPLE_BYTES - len(self._head)]
        block = training_steps.joined(block)
        hits, seen = readers.finder().find(block)
        if readers.QUOTED in seen or block.startswith(readers.QUOTED[1:]):
            block = readers.QUOTED_KERNEL.sub(b"", block)
            hits, seen = readers.finder().find(block)
        seen.discard(readers.QUOTED)
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
        if seen:  # each range of lines is counted once: counting is most of the work
            number, position = self._read_steps(block, seen, not_numbers)
        lines = number - self._lines - 1 + block.count(b"\n", position)
        self._keep_kernel(self._kernel.scan(block, kernel, lines), prefixes)
        self._lines += lines
        self._above = (self._above + block)[-CONTEXT_BYTES:] if len(block) < CONTEXT_BYTES else block[-CONTEXT_BYTES:]

    def _keep_kernel(self, events: list[Event], prefixes: dict[int, Prefix]) -> None:
        for event in events:
            prefix = prefixes.get(event.line, NO_PREFIX)
            dated = event if event.at else replace(event, at=prefix.at)
            self._kernel_events.setdefault(prefix.host, EventFolder()).add(dated)

    def _read(self, block: bytes, start: int, number: int, words: list[bytes]) -> int:
        """Reads one line and returns the cost: 0 if the line was only counted, more the more keywords it has."""
        end = line_end(block, start)
        shape = self._shape(block[start : min(end, start + _SHAPE_BYTES)])
        shape.seen += 1
        if shape.seen > _MOST_OF_A_SHAPE or self._budget <= (-_OVERDRAFT if shape.seen == 1 else 0):
            for key in shape.keys:
                self._found.again(key, number)
            return 0
        raw = block[start:end]
        line = decode(raw, number)
        if is_binary(raw, line.text):
            return 1
        context = LineContext(self._above, block, start)
        found = readers.read(line, context, words, lambda: self._near_stamp(number, context))
        shape.keys = [self._found.add(evidence) for evidence in found]
        return 1 + len(words) ** 2 // 16

    def _shape(self, raw: bytes) -> "_Shape":
        """The record of lines that differ only in numbers. Some thousand of them are parsed; all are counted."""
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        return self._shapes.setdefault(_DIGITS.sub(b"0", raw), _Shape())

    def _near_stamp(self, number: int, context: "LineContext") -> float:
        if not self._stamp[0] <= number < self._stamp[0] + _STAMP_LINES:
            self._stamp = (number, context.near_stamp())
        return self._stamp[1]

    def _read_steps(self, block: bytes, words: set[bytes], forced: list[tuple[int, int]]) -> tuple[int, int]:
        """Parses training steps. Returns the number of the last parsed line and its offset."""
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

    def _placed_in_run(self, evidence: Evidence, calm: CalmEnd) -> Evidence:
        """The evidence with its place in the run: its step, the steps after it, and the normal lines after it."""
        if calm.quiet:
            below: dict[str, Value] = {"calm_end": float(calm.lines), "quiet_end": float(calm.quiet)}
            evidence = job_message.with_detail(evidence, {**evidence.event.detail, **below})
        if evidence.word("retried"):
            last_line = evidence.number("last_line") or evidence.event.line
            evidence = job_message.with_detail(
                evidence, {**evidence.event.detail, "lines_after": float(self._lines - last_line)}
            )
        reported = max(self._series.values(), key=lambda series: series.count, default=None)
        if reported is None or not reported.count:
            return evidence
        line = evidence.event.line
        last = line if evidence.event.kind != "numbers" else evidence.number("last_line") or line  # wrong numbers last
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
