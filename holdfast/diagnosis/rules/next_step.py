"""The next step: restart unchanged, without a node, after a probe, when storage is back, or not at all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.catalog import job_problems
from holdfast.diagnosis.rules import advice
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.model.evidence import Evidence

_SURE_ENOUGH_TO_EXCLUDE = 0.5
_SURE_WITHOUT_A_NAME = 0.7
_SAID = 24  # characters of a message that identify it
MOST_RANKS_BESIDE_A_HOST = 2  # with more, only the host is named
_DETERMINISTIC = frozenset({
    "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "NameError", "AttributeError", "TypeError",
    "ValueError", "KeyError", "IndexError", "AssertionError", "FileNotFoundError", "NotImplementedError",
    "UnboundLocalError", "ZeroDivisionError", "RecursionError", "UnicodeDecodeError", "JSONDecodeError", "ConfigError",
    "HTTPError", "GatedRepoError", "RepositoryNotFoundError", "OSError", "PermissionError", "ValidationError",
    "ConfigAttributeError", "ArgumentError", "UnpicklingError", "IsADirectoryError", "NotADirectoryError",
})  # fmt: skip
_SHAPES = (
    "size mismatch",
    "loading state_dict",
    "shapes cannot be multiplied",
    "must match",
    "shape",
    "same device",
    "same dtype",
    "dtype",
    "finished reduction in the prior iteration",
    "ready only once",
    "does not require grad",
    "divisible",
)
_TRANSIENT = re.compile(r"[Cc]onnect|[Tt]imed? ?out|[Uu]nreachable|[Rr]etr(?:y|ies)|[Tt]emporar|[Uu]navailable|reset")
_MAY_REPEAT = ("job.exception", "host.oom", "job.cuda_oom", "job.illegal_access", "job.dataloader")
_CORRUPT = ("job.nan", "job.loss_spike")


@dataclass(frozen=True, slots=True)
class JobNextStep:
    action: str
    reason: str
    exclude: tuple[str, ...] = ()
    checkpoint: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    fix: tuple[str, ...] = ()  # what to change, each with its reason
    verify: str = ""
    link: str = ""
    report_to: str = ""  # a message for the cluster team, if the fault is not in the job


def decide(roots: Sequence[Candidate], evidence: Sequence[Evidence]) -> JobNextStep:
    first = roots[0]
    suspected = min((step for one in roots if one.name in _CORRUPT and (step := _step(one)) is not None), default=None)
    action, why = _action(first)
    exclude = (
        tuple(dict.fromkeys(one.host for one in roots if _to_exclude(one))) if action == "restart_excluding" else ()
    )
    problem = first.problem
    return JobNextStep(
        action,
        why,
        exclude,
        _checkpoint(evidence, suspected),
        advice.settings(first, evidence),
        advice.fix(first, evidence),
        job_problems.filled(problem.verify, first.parts) if problem else "",
        problem.link if problem else "",
        _report_to(first) if problem and problem.owner == "cluster" else "",
    )


def _action(first: Candidate) -> tuple[str, str]:
    return _action_of_problem(first) or _action_of_cause(first, sentence(first))


def _action_of_problem(first: Candidate) -> tuple[str, str] | None:
    says, problem = sentence(first), first.problem
    if problem and problem.action:
        return problem.action, says
    if problem and problem.again and not _to_exclude(first):
        return "stop", f"{says}; the same start fails the same way"
    if first.name == "launcher.setup" and problem and not problem.is_default and not problem.again:
        return "restart_same", f"{says}; it may only have been late: restart once, then stop"
    return None


def _action_of_cause(first: Candidate, says: str) -> tuple[str, str]:
    if first.name in _MAY_REPEAT and _happened_before(first):
        return "stop", f"{says}; it ended the run the same way before, so another run would end there too"
    if first.name == "job.exception":
        if _is_deterministic(first):
            return "stop", f"{says}; the same code on the same data will fail again"
        return "restart_same", f"{says}; once is no proof that it will again: if it does, stop and correct it"
    if first.name == "job.cuda_oom" and _made_progress(first):
        return "restart_same", f"{says} after many steps that fitted; if it does so again, stop and use less memory"
    if first.name == "host.oom" and not _made_progress(first) and not first.host:
        return "restart_same", f"{says}; give it more memory or fewer workers"
    if first.cause.action != "restart_excluding" or _to_exclude(first):
        return first.cause.action, says
    if first.confidence >= _SURE_WITHOUT_A_NAME:
        return first.cause.action, f"{says}; the log does not name its node: exclude the one it is from"
    return first.cause.unplaced, says


def _to_exclude(one: Candidate) -> bool:
    return one.cause.action == "restart_excluding" and bool(one.host) and one.confidence >= _SURE_ENOUGH_TO_EXCLUDE


def _happened_before(one: Candidate) -> bool:
    """Whether the same error happened at the same step of an earlier attempt."""
    attempts: dict[tuple[object, ...], set[str]] = {}
    for item in one.evidence:
        if step := item.number("step"):
            attempts.setdefault((item.event.kind, item.event.code, item.rank, step), set()).add(item.file)
    return any(len(files) > 1 for files in attempts.values()) or any(item.word("again") for item in one.evidence)


def _is_deterministic(one: Candidate) -> bool:
    raised = [item for item in one.evidence if item.event.kind == "exception"]
    if not raised:
        return False
    first = raised[0]
    if str(first.event.code) in _DETERMINISTIC or any(word in first.event.text for word in _SHAPES):
        return True
    at_the_start = bool(first.word("where")) and not any(item.number("step") for item in one.evidence)
    return at_the_start and not _TRANSIENT.search(first.event.text)


def _made_progress(one: Candidate) -> bool:
    return any(item.number_or_zero("step") > 50 for item in one.evidence)


def _step(one: Candidate) -> int | None:
    return min((step for item in one.evidence if (step := item.number("step")) is not None), default=None)


def _checkpoint(evidence: Sequence[Evidence], suspected: int | None) -> str | None:
    """The last finished save; after corruption, the last one before its first sign."""
    saves = [one for one in evidence if one.event.kind == "save" and one.event.code == "end"]
    if suspected is not None:
        saves = [one for one in saves if one.number_or_zero("step") < suspected]
    if not saves:
        return None
    last = max(saves, key=lambda one: (one.number("step") or 0, one.at, one.event.line))
    step = one_step if (one_step := last.number("step")) is not None else "?"
    return f"{last.word('path') or 'the checkpoint'} (step {step})"


def _report_to(first: Candidate) -> str:
    where = ", ".join(part for part in (first.host, first.device) if part)
    shown = first.best_evidence()[0]
    text = " ".join(shown.event.text.split())[:200]
    return f"{sentence(first)}{f' on {where}' if where and where not in sentence(first) else ''}. The log says: {text}"


def sentence(one: Candidate) -> str:
    """What happened and where, in one sentence. An unknown place is left out."""
    problem = one.problem
    if problem and problem.says:
        text = problem.sentence(one.parts)
        subject = subject_words(one, said=text)
        return f"{text} ({subject})" if subject and subject not in text else text
    subject = subject_words(one)
    return one.cause.says.replace("%s", subject) if subject else one.cause.says.replace(" (%s)", "")


def _few_of_a_node(one: Candidate) -> bool:
    """Whether only one or two processes of a host are affected."""
    return one.cause.subject == "node" and len(one.ranks) <= MOST_RANKS_BESIDE_A_HOST


def subject_words(one: Candidate, said: str = "") -> str:
    """'n17, 0000:9b:00', 'rank 3', 'ranks 1, 2 and 5 more'; what else a person should read of it and was not `said`."""
    parts = [one.host, one.device] if one.cause.subject in ("gpu", "port", "node") else []
    if one.ranks and (not one.host or one.cause.subject == "rank" or _few_of_a_node(one)):
        shown = ", ".join(map(str, one.ranks[:4])) + (f" and {len(one.ranks) - 4} more" if len(one.ranks) > 4 else "")
        parts.append(f"rank{'s' * (len(one.ranks) > 1)} {shown}")
    parts.append(_unsaid(one.note, said))
    return ", ".join(part for part in parts if part)


def _unsaid(note: str, said: str) -> str:
    """The note without what the sentence already says. Of an exception, class and frame stay."""
    if note.removeprefix("peer ") in said:
        return ""
    name, _, message = note.partition(": ")
    if not said or len(message) < _SAID or message[:_SAID] not in said:
        return note
    return f"{name}, at {note.rpartition(', at ')[2]}" if ", at " in note else name
