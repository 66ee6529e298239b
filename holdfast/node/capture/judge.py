"""Evaluates captured output: readings of a file go through the same checks as those of a live node.

A check runs if the file has its inputs. Errors that a tool reports and no check covers become the verdict
`file.report`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from holdfast.formats.tool_output import NODE, NOT_SUPPORTED, Complaint, ToolOutput
from holdfast.model.health import FailureClass, Health, worst
from holdfast.model.settings import Settings
from holdfast.model.signal import Event, Reading, Signal
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.node import checks
from holdfast.node.agent.assemble import questions
from holdfast.node.agent.census import Census
from holdfast.node.agent.node import Node, Question
from holdfast.node.checks.gpu.temperature import NO_LIMIT

REPORT = "file.report"
HISTORY_SECONDS = 20 * 3600.0  # events are dated back from the end of the file, at most this far
GPU_MODEL = "gpu_model"
SOMETIME = 1.0e9
_AGE = re.compile(rf"^(?:0|{HISTORY_SECONDS:.0f}) s ago: ")
MOST_NOTED = 5
LINK = "link"  # a link that is down is reported; a recovered link is not a fault
_OWNERS = {"gpu": "hardware", "pci": "hardware", "nvswitch": "hardware", "nic": "network", "switch": "network"}
FATAL = "fatal"
FRESH_SECONDS = 7 * 86400.0


@dataclass(slots=True)
class FileVerdict:
    """Verdicts of a node from a file or a bundle."""

    node: str
    tools: list[str]
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)  # checks whose inputs are missing
    not_read: list[str] = field(default_factory=list)  # files, or commands of a session, that no reader recognises

    @property
    def health(self) -> Health:
        asked = [one.health for one in self.verdicts.values() if one.health is not Health.NOT_APPLICABLE]
        return worst(asked) if asked else Health.UNKNOWN


def judge_outputs(outputs: Sequence[ToolOutput], name: str, settings: Settings) -> FileVerdict:
    events = [event for output in outputs for event in output.events]
    now = max([event.at for event in events], default=0.0) or SOMETIME
    readings = [_reading(output, name, now) for output in outputs]
    seen = {signal.name for one in readings for signal in one.signals} | {
        key[1] for one in readings for key in one.absent
    }
    kinds = {event.kind for event in events}
    if any(place.startswith("gpu/") for output in outputs for place in output.present):
        seen.add(GPU_MODEL)  # checks of GPUs read it to know that there is one; an excerpt may lack it
    questions_there = _questions(settings)
    asked = [one for one in questions_there if _is_answerable(one, seen, kinds)]
    node = Node(Census(node=name), asked)
    for reading in readings:
        node.history.expect_freshness(reading.source, FRESH_SECONDS)
        node.take(reading)
    node.judge(now)
    judged = FileVerdict(name, [output.tool for output in outputs])
    judged.left_out = [one.check.name for one in questions_there if one not in asked]
    errors = {why for one in readings for why in one.absent.values() if why != NOT_SUPPORTED}
    for check, verdict in node.verdicts.items():
        rows = tuple(row for row in verdict.rows if not _is_not_there(row, errors))
        if rows:
            judged.verdicts[check] = _without_ages(replace(verdict, rows=rows))
        else:
            judged.left_out.append(check)
    complaints = [one for output in outputs for one in output.complaints]
    complaints += _without_verdict(events) if judged.health is Health.PASS and not complaints else []
    judged.verdicts[REPORT] = _report(complaints, outputs, name, judged.health)
    return judged


def _without_verdict(events: Sequence[Event]) -> list[Complaint]:
    """Fatal events that no check reports, because the text does not say which part they are about."""
    texts = dict.fromkeys(event.text for event in events if event.severity == FATAL and not event.device)
    remedy = "give the whole kernel log: the lines around it say which part it is"
    return [Complaint(NODE, f"a part that the text does not name: {text}", remedy=remedy) for text in texts]


def _without_ages(verdict: Verdict) -> Verdict:
    """Removes the age of events without a time, or older than the evaluated period."""
    return replace(verdict, evidence=tuple(_AGE.sub("", line) for line in verdict.evidence))


def _questions(settings: Settings) -> list[Question]:
    found = {one.check.name: one for stage in ("passive", "bootstrap") for one in questions(settings, stage)}
    return [one for one in found.values() if not one.off and one.check.name not in checks.OF_THE_AGENT]


def _is_answerable(question: Question, seen: set[str], kinds: set[str]) -> bool:
    """Whether the file has the inputs without which the check cannot pass, or an event that it handles."""
    reads = question.check.reads
    return (bool(reads) and all(name in seen for name in reads)) or bool(kinds.intersection(question.check.event_kinds))


def _is_not_there(row: Row, errors: set[str]) -> bool:
    """Whether a value is unknown because the file or the part lacks it, and not because of an error."""
    is_warm = NO_LIMIT in row.reason  # the file shows the temperature, but not its limit
    return row.health is Health.UNKNOWN and not is_warm and not any(error in row.reason for error in errors)


def _reading(output: ToolOutput, name: str, now: float) -> Reading:
    return Reading(
        source=output.tool,
        at=now,
        signals=[Signal(_subject(name, place), signal, value) for place, signal, value in output.signals],
        absent={(_subject(name, place), signal): why for (place, signal), why in output.absent.items()},
        present=[_subject(name, place) for place in output.present if not place.startswith(("switch/", "node/"))],
        events=[_dated(event, now) for event in output.events],
    )


def _subject(name: str, place: str) -> Subject:
    if place == NODE:
        return f"node/{name}"
    return place if place.startswith(("switch/", "node/")) else f"node/{name}/{place}"


def _dated(event: Event, now: float) -> Event:
    """Dates a text without times as of now."""
    return replace(event, at=min(max(event.at, now - HISTORY_SECONDS), now) if event.at else now)


def _health(complaint: Complaint) -> Health:
    if complaint.unknown:
        return Health.UNKNOWN
    return Health.FAIL if complaint.fails else Health.DEGRADED


def merged(judged: Sequence[FileVerdict]) -> FileVerdict:
    """Merges hosts of one file: the rows of each check together, with remedy and class of the first host that is not
    healthy."""
    verdicts: dict[str, Verdict] = {}
    for one in judged:
        for check, verdict in one.verdicts.items():
            known = verdicts.get(check)
            if known is None:
                verdicts[check] = verdict
            else:
                leading = known if known.remedy else verdict
                verdicts[check] = replace(leading, rows=(*known.rows, *verdict.rows))
    tools = list(dict.fromkeys(tool for one in judged for tool in one.tools))
    left_out = [check for check in dict.fromkeys(c for one in judged for c in one.left_out) if check not in verdicts]
    return FileVerdict(", ".join(one.node for one in judged), tools, verdicts, left_out)


def _nothing_wrong(outputs: Sequence[ToolOutput], others: Health) -> str:
    """A summary of the input, with events that need no repair: an Xid caused by a program, a non-fatal SXid."""
    read = ", ".join(one.tool for one in outputs)
    if others in (Health.FAIL, Health.DEGRADED):
        return f"{read} reports nothing in addition to the checks"
    noted = {(one.kind, one.code, one.device): one for output in outputs for one in output.events if one.kind != LINK}
    named = [f"{kind} {code or ''} {device or ''}".strip() for kind, code, device in list(noted)[:MOST_NOTED]]
    more = f" and {len(noted) - MOST_NOTED} more" if len(noted) > MOST_NOTED else ""
    return f"{read} reports nothing wrong" + (f"; it mentions {', '.join(named)}{more}" if named else "")


def _report(complaints: Sequence[Complaint], outputs: Sequence[ToolOutput], name: str, others: Health) -> Verdict:
    rows = [Row(_subject(name, one.place), _health(one), reason=one.text) for one in complaints]
    leading = next((one for one in complaints if one.fails), next((one for one in complaints if not one.unknown), None))
    if not rows:
        rows = [Row(f"node/{name}", Health.PASS, reason=_nothing_wrong(outputs, others))]
    return Verdict(
        check=REPORT,
        rows=tuple(rows),
        failure_class=FailureClass.CRASH if leading else None,
        remedy=(leading.remedy or f"see what {_tools(outputs)} says about it") if leading else "",
        owner=_owner(leading.place) if leading else "",
    )


def _tools(outputs: Sequence[ToolOutput]) -> str:
    return ", ".join(dict.fromkeys(output.tool for output in outputs if output.complaints))


def _owner(place: str) -> str:
    return _OWNERS.get(place.partition("/")[0], "platform")
