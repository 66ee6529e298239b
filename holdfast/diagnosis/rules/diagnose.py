"""Ranks the causes of a job's end and selects the next step, from evidence of any reader."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mode

from holdfast.catalog import causes
from holdfast.diagnosis.rules import causality, collect, exits, hints, mismatch, next_step, timeline, waiting, weighing
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.next_step import JobNextStep
from holdfast.diagnosis.rules.waiting import Waiting
from holdfast.model import subject
from holdfast.model.evidence import Evidence

THIS_JOB = "this"
MOST_CAUSES = 8
_ABORTED = 0.4  # confidence of an abort without a reason
MOST_RANKS = 8  # most ranks in a subject; with more, the subject is the job
_COLLECTIVE_CALL = re.compile(r"\bnccl[A-Z]\w+|\b[NR]CCL\b|unhandled (?:system|cuda) error")
_LAUNCHERS = ("task", "hydra")  # their lines name the process that ended, not the cause


@dataclass(frozen=True, slots=True)
class Diagnosis:
    causes: tuple[Candidate, ...]
    next: JobNextStep | None  # None for a healthy job
    unseen: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    wait: Waiting | None = None


def diagnose(evidence: Sequence[Evidence]) -> Diagnosis:
    reported = timeline.prepared(evidence)
    reached = timeline.milestones(reported)
    reported = timeline.with_named_origins(reported)
    mattering = [one for one in timeline.as_hints(reported) if not timeline.survived(one, reached)]
    mattering = timeline.without_followers(mattering)
    wait = waiting.find(mattering)
    found = collect.candidates(mattering)
    found += waiting.suspects(wait, mattering) if wait else waiting.left_early(mattering)
    found += [one for one in (exits.candidate(mattering, waited=bool(wait)),) if one]
    found += hints.candidates(mattering, wait)
    hints.name_the_storage(found, mattering)
    mismatch.name_the_rank(found, mattering)
    weighing.weigh(found, mattering, wait)
    roots = _worth_reporting(causality.roots(found))
    if not roots:
        roots = _without_a_cause(mattering, wait)
    elif all(one.evidence[0].role == "exit" and one.confidence < _ABORTED for one in roots):
        roots = hints.warned(mattering)[:1] or roots  # a warning before the abort says more than the abort alone
    _add_symptoms(roots, mattering, wait)
    step = next_step.decide(roots, mattering) if roots else None
    return Diagnosis(
        tuple(roots[:MOST_CAUSES]), step, tuple(hints.unseen(reported, roots, wait)), tuple(reported), wait
    )


def _without_a_cause(evidence: Sequence[Evidence], wait: Waiting | None) -> list[Candidate]:
    """Fallbacks without a cause: a warning, the last error, or that the job ended without a reason in the log."""
    last = [] if wait else hints.last_words(evidence)
    badly = _ended_badly(evidence, wait)
    warned = hints.warned(evidence)[:1] if badly or last else []
    return warned or last or ([_unknown(evidence, wait)] if badly else hints.hung(evidence))


def subject_of(one: Candidate) -> subject.Subject:
    host = one.host or "unknown"
    if one.cause.subject == "gpu":
        return subject.pci(host, one.device) if one.device else subject.node(host) if one.host else _rank(one)
    if one.cause.subject == "port" and one.device:
        name, _, number = one.device.partition(":")
        if ":" in number:  # PCI address of the adapter: its driver names no port
            return subject.pci(host, one.device)
        return subject.port(host, name, number or 1)
    if one.cause.subject in ("port", "node"):
        return subject.node(host)
    if one.cause.subject == "storage":
        return f"storage/{(one.note or one.device).strip('/') or 'unknown'}"
    return _rank(one) if one.cause.subject == "rank" else subject.job(THIS_JOB)


def _rank(one: Candidate) -> subject.Subject:
    job = subject.job(THIS_JOB)
    return f"{job}/rank/{','.join(map(str, one.ranks))}" if 0 < len(one.ranks) <= MOST_RANKS else job


def _worth_reporting(roots: list[Candidate]) -> list[Candidate]:
    """A doubtful candidate is reported only if there is no better one."""
    good = [one for one in roots if one.confidence >= causality.LEAST]
    return good or [one for one in roots[:1] if one.confidence >= 0.1]


def _ended_badly(evidence: Sequence[Evidence], wait: Waiting | None) -> bool:
    effects = [one for one in evidence if one.role == "effect" and one.event.kind not in ("xid",) and not _usual(one)]
    return bool(wait) or bool(effects) or any(exits.failed(one) for one in evidence)


def _usual(one: Evidence) -> bool:
    """Whether the line is normal at the end: NCCL_DEBUG=INFO prints it in every process, or a user stopped the job."""
    return one.event.code in ("closed_by_local_rank", "KeyboardInterrupt")


def _unknown(evidence: Sequence[Evidence], wait: Waiting | None) -> Candidate:
    symptoms = [*wait.reported] if wait else [one for one in evidence if one.role in ("exit", "effect")]
    ranks = wait.ranks if wait else ()
    peers = [peer for one in evidence if one.role == "effect" and (peer := one.word("peer").partition("<")[0])]
    note = f"look at the log of {mode(peers)}, which went away first" if peers and not wait else ""
    first_sign = next(
        (one.event.text for one in symptoms if one.event.kind in ("nccl.last_error", "exception", "exit", "failure")),
        "",
    )
    note = note or (f"the first sign is: {collect.short(first_sign)}" if first_sign and not wait else "")
    quiet = None if wait or peers else exits.first_quiet(evidence)
    if quiet and str(quiet.event.code) in _LAUNCHERS:
        symptoms, note = [quiet], f"{exits.who(quiet)} ended first, with exit code {quiet.number('exit')}"
        if said := quiet.word("above"):
            note = f"{note}; the line above it: {collect.short(said)}"
    collective = wait or peers or any(_of_a_collective(one) for one in evidence if one.role == "effect")
    known = "" if collective else "quiet_exit"
    unknown = causes.find(causes.UNKNOWN)
    return Candidate(unknown, ranks=ranks, evidence=symptoms[:5], base=0.3, note=note, known=known)


def _of_a_collective(one: Evidence) -> bool:
    """Whether the message comes from a collective library, or is an exception that names a collective."""
    return one.event.kind.startswith(("nccl.", "rendezvous")) or bool(_COLLECTIVE_CALL.search(one.event.text))


def _add_symptoms(roots: Sequence[Candidate], evidence: Sequence[Evidence], wait: Waiting | None) -> None:
    crash = next((one for one in roots if one.cause.failure_class == "crash"), None)
    if crash is None:
        return
    if wait:
        crash.explains.append(wait.says())
    closed = [one for one in evidence if one.role == "effect" and one.event.kind not in ("xid",)]
    if closed:
        count = sum(one.event.count for one in closed)
        crash.explains.append(f"{count} line{'s' * (count != 1)} of processes that lost a peer or were ended")
