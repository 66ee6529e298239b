"""Evidence on one clock: completes years, finds hosts, and removes what the run survived."""

import calendar
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from holdfast.catalog import causes
from holdfast.catalog.job_errors import of_kernel_event
from holdfast.diagnosis.rules import exits
from holdfast.model.evidence import Evidence
from holdfast.model.signal import usable_time

YEARLESS = 1972  # the year that readers give to stamps without one
_BETWEEN_WORDS = re.compile(r"[^0-9A-Za-z]+")
_MOST_EDGES = 40
SURVIVED_STEPS = 5  # a run that makes this many steps after an error was not ended by it
_RAISED_STEPS = 3  # the same for an exception without a rank: other ranks make a step, then wait
_STARTED_STEPS = 2  # the same for errors that prevent a start: no rank makes steps then
_NEVER_SURVIVED = (
    "steps",
    "nccl.plugin",
    "exit",
    "slurm",
    "kubernetes",
)  # slowdowns during a run, and ends of a run
_OF_A_PROCESS = frozenset({"exception", "problem", "cuda", "memory"})  # reported by the failing process itself
_TERM = 15
_GOES_ON_LINES = 2  # lines below an error that is tried again: the announcement and one more
_CALM_LINES = {"hint": 1, "weak": 2}  # normal lines below an error, by its role, that make it count as a hint
_MOST_CALM_LINES = 3
_CAUGHT_LINES = 2  # normal lines below an exception that a logger printed, and that was therefore caught
_BEFORE_A_START = ("kubelet_timeout", "kubernetes_scheduling", "volume_mount", "image_pull")
_STARTER = re.compile(
    r"(?:slurmstepd|slurmd|srun|docker|dockerd|containerd|pyxis|enroot|apptainer|singularity)\b.{0,20}?: "
)
_QUIET_LINES = 3  # lines of any kind below a message that its own logger calls a warning
_REPEATED = 3
_LOOKUP_ERRORS = frozenset({"KeyError", "AttributeError", "IndexError", "StopIteration", "LookupError"})


def prepared(evidence: Sequence[Evidence]) -> list[Evidence]:
    placed = _with_hosts([_with_usable_time(one) for one in evidence])
    year = _year(placed)
    dated = [_in_year(one, year) for one in placed]
    return sorted(dated, key=lambda one: (one.at or float("inf"), one.file, one.event.line))


def _with_usable_time(one: Evidence) -> Evidence:
    at = usable_time(one.at)
    return one if at == one.at else replace(one, event=replace(one.event, at=at))


def _year(evidence: Sequence[Evidence]) -> int | None:
    years = Counter(_moment(one.at).year for one in evidence if one.at)
    reported = {year: count for year, count in years.items() if year > YEARLESS}
    return max(reported, key=lambda year: reported[year], default=None)


def _in_year(one: Evidence, year: int | None) -> Evidence:
    if year is None or _moment(one.at).year != YEARLESS:
        return one
    moment = _moment(one.at)
    try:
        at = calendar.timegm(moment.replace(year=year).timetuple()) + moment.microsecond / 1e6
    except ValueError:  # the 29th of February of another year
        return one
    return replace(one, event=replace(one.event, at=at))


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _with_hosts(evidence: list[Evidence]) -> list[Evidence]:
    """Adds a host to lines without one, from their rank or file."""
    of_rank = {one.rank: one.host for one in evidence if one.host}
    known = {one.host for one in evidence if one.host}
    of_file: dict[str, Counter[str]] = {}
    for one in evidence:
        if one.host:
            of_file.setdefault(one.file, Counter())[one.host] += 1
    placed = []
    for one in evidence:
        if not one.host:
            host = of_rank.get(one.rank, "") if one.rank is not None else ""
            host = host or _named_in(one.file, known) or _only(of_file.get(one.file))
            one = replace(one, host=host) if host else one
        placed.append(one)
    return placed


def _named_in(file: str, hosts: set[str]) -> str:
    """The longest host that the file or one of its folders is named after, as a word or several."""
    fitting = [name for part in file.split("/")[-3:] for name in _names_in(part) if name in hosts]
    return max(fitting, key=len, default="")


def _names_in(part: str) -> Iterator[str]:
    """Every run of words of a file's name: of a-1.log these are a, a-1, a-1.log, 1, 1.log and log."""
    edges = [0, *(place for match in _BETWEEN_WORDS.finditer(part) for place in match.span()), len(part)]
    for first in range(0, min(len(edges), _MOST_EDGES), 2):
        for last in range(first + 1, min(len(edges), _MOST_EDGES), 2):
            yield part[edges[first] : edges[last]]


def _only(hosts: Counter[str] | None) -> str:
    return next(iter(hosts)) if hosts and len(hosts) == 1 else ""


def with_named_origins(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Takes a consequence that names its origin as the origin, if the origin's own line is missing."""
    seen = {str(one.event.code) for one in evidence if one.event.kind == "xid"}
    return [_as_its_origin(one) if one.word("caused_by") not in {"", *seen} else one for one in evidence]


def _as_its_origin(one: Evidence) -> Evidence:
    if one.event.kind != "xid" or one.role != "effect":
        return one
    origin = of_kernel_event("xid", one.word("caused_by"), "fatal")
    return replace(one, role="likely", cause=origin.cause) if origin.cause.startswith("gpu.") else one


def without_followers(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Of chained exceptions, keeps the first, unless it is only a failed look-up."""
    reported: dict[tuple[str, int | None], int] = {}
    kept: list[Evidence] = []
    failed_tasks = {one.file for one in evidence if one.event.kind == "slurm" and one.role == "exit"}
    for one in sorted(evidence, key=lambda item: (item.file, item.event.line)):
        process = (one.file, one.rank)
        if one.event.kind == "exception" and one.word("chained") and process in reported:
            first = kept[reported[process]]
            if _is_failed_lookup(first, one):
                kept[reported[process]] = replace(first, role="effect", cause="")
                reported[process] = len(kept)
            else:
                one = replace(one, role="effect", cause="")
        elif one.event.kind == "slurm" and one.event.code == "cancelled" and one.file in failed_tasks:
            one = replace(one, role="effect", cause="")  # srun ends the others when one task fails
        elif one.event.kind == "exception" and one.cause:
            reported[process] = len(kept)
        kept.append(one)
    return sorted(kept, key=lambda item: (item.at or float("inf"), item.file, item.event.line))


def _is_failed_lookup(first: Evidence, then: Evidence) -> bool:
    """Whether the exception is a failed look-up whose handler then failed: the later exception is the cause."""
    is_lookup = str(first.event.code) in _LOOKUP_ERRORS and str(then.event.code) not in _LOOKUP_ERRORS
    return is_lookup and then.word("chained") == "handling" and bool(then.cause)


def _only_slows(one: Evidence) -> bool:
    """Whether the run continues after it, but slowly."""
    return bool(one.cause) and causes.find(one.cause).failure_class == "slowdown" and one.event.kind == "problem"


@dataclass(frozen=True, slots=True)
class Milestones:
    """The last line of each file that shows how far its run came."""

    done: Mapping[str, int]
    connected: Mapping[str, int] = field(default_factory=dict)
    saved: Mapping[str, int] = field(default_factory=dict)
    up: Mapping[str, int] = field(default_factory=dict)  # the server answers
    placed: Mapping[str, int] = field(default_factory=dict)  # the pod has a node
    started: Mapping[str, int] = field(default_factory=dict)  # the container runs


def milestones(evidence: Sequence[Evidence]) -> Milestones:
    def last(kind: str, code: str) -> dict[str, int]:
        fitting = [one for one in evidence if one.event.kind == kind and one.event.code == code]
        return {one.file: one.number("last_line") or one.event.line for one in fitting}

    return Milestones(
        last("life", "done"),
        last("nccl.about", "rank"),
        last("save", "end"),
        last("life", "up"),
        last("life", "placed"),
        last("life", "started"),
    )


def _stopped_as_asked(one: Evidence, saved: Mapping[str, int]) -> bool:
    """Whether the process was asked to end and saved a checkpoint, or whether its run was restarted and made steps."""
    if one.role != "effect":
        return False
    asked = one.event.code in ("agent", "closing")
    if asked and one.event.line < saved.get(one.file, 0):
        return True
    return one.number_or_zero("steps_after") >= (_STARTED_STEPS if asked else SURVIVED_STEPS)


def _went_well_later(one: Evidence, saved: Mapping[str, int]) -> bool:
    """Whether a step or a save follows an attempt that was announced to be repeated, or a step follows a wait."""
    if one.event.code == "lagging" and one.number_or_zero("steps_after") > 0:
        return True
    if not one.word("retried"):
        return False
    last = one.number("last_line") or one.event.line
    return one.number_or_zero("steps_after") > 0 or last < saved.get(one.file, 0)


_BESIDE_A_RUN = ("no_command",)


def as_hints(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Turns an error that is tried again into a hint; if no process ended, also one below which the log continues."""
    ended = any(_is_an_end(one) for one in evidence)
    needed = [replace(one, role="note") if _is_beside(one) else one for one in evidence]
    return [_as_hint(one) if _is_tried_again(one) or (not ended and _is_passed(one)) else one for one in needed]


def _is_beside(one: Evidence) -> bool:
    """Whether a missing helper program is harmless, because the run made steps without it."""
    return one.word("problem") in _BESIDE_A_RUN and one.number("step") is not None


def _is_tried_again(one: Evidence) -> bool:
    return one.number_or_zero("lines_after") >= _GOES_ON_LINES


def _is_an_end(one: Evidence) -> bool:
    """Whether the line itself shows that a process ended or hung."""
    return one.role in ("exit", "watchdog") and not _is_tried_again(one) and not _was_asked_to_end(one)


def _was_asked_to_end(one: Evidence) -> bool:
    """Whether SIGTERM ended a process and its log continues below that line."""
    return exits.signal_of(one) == _TERM and bool(one.number("calm_end"))


def _is_passed(one: Evidence) -> bool:
    """Whether the program's log continues below the line. An error that ends its process is never passed.

    A launcher's error about the start does not count if the job itself writes lines below it.
    """
    if one.role == "exit" and _was_asked_to_end(one):
        return True
    if one.event.action or one.event.kind in (*_NEVER_SURVIVED, "tail") or one.role == "note" or _only_slows(one):
        return False
    if one.event.kind == "exception" and one.word("where") and not one.word("logged"):
        return False
    usual = _CAUGHT_LINES if one.word("logged") else _MOST_CALM_LINES
    needed = _CALM_LINES.get(one.role, usual) if one.event.count < _REPEATED else _MOST_CALM_LINES
    if one.number_or_zero("calm_end") >= needed:
        return True
    if one.number_or_zero("quiet_end") < _QUIET_LINES:
        return False
    return bool(one.word("warned")) or (one.cause == "launcher.setup" and bool(_STARTER.match(one.event.text)))


def _as_hint(one: Evidence) -> Evidence:
    """The evidence as a hint. An exit keeps its role, unless SIGTERM caused it or the worker was restarted."""
    if one.role == "exit":
        over = exits.signal_of(one) == _TERM or (_is_tried_again(one) and one.event.count < _REPEATED)
        return replace(one, role="note") if over else one
    return replace(one, role="hint" if one.cause else "note")


def _only_delays_a_start(one: Evidence) -> bool:
    return one.event.code == "mount" or one.word("problem") in _BEFORE_A_START


def _was_placed(one: Evidence, placed: Mapping[str, int], started: Mapping[str, int]) -> bool:
    """Whether the missing machine or node was found later. Kubernetes sorts events by age, so lines have no order."""
    if one.event.line < started.get(one.file, 0) and _only_delays_a_start(one):
        return True
    if one.word("problem") == "kubernetes_scheduling":
        return one.file in placed
    return one.word("problem") == "cloud_capacity" and one.event.line < placed.get(one.file, 0)


def survived(one: Evidence, reached: Milestones) -> bool:
    """Whether the run continued normally after it: the error was handled, or it was text in the training data."""
    done, saved = reached.done, reached.saved
    if _stopped_as_asked(one, saved) or _went_well_later(one, saved):
        return True
    if _was_placed(one, reached.placed, reached.started):
        return True
    if one.event.kind == "exit" and one.event.line < done.get(one.file, 0):  # a later attempt finished
        return True
    if one.role == "note" or one.event.kind in _NEVER_SURVIVED or _only_slows(one):
        return False
    if one.event.line < max(done.get(one.file, 0), reached.up.get(one.file, 0)):
        return True
    if one.event.code == "call_failed" and one.event.line < reached.connected.get(one.file, 0):
        return True
    if one.role == "effect" and one.file in done:  # processes close their connections after the work is done
        return True
    enough = SURVIVED_STEPS
    if one.cause == "launcher.setup":
        enough = _STARTED_STEPS
    elif one.event.kind in _OF_A_PROCESS and one.rank is None:
        enough = _RAISED_STEPS
    return one.number_or_zero("steps_after") >= enough
