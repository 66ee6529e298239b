"""Turns evidence into candidates, grouped by cause and subject."""

from collections.abc import Sequence

from holdfast.catalog import causes
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.model.evidence import Evidence

LONGEST_NOTE = 160
_BY_HOST = ("gpu", "port", "node")


def candidates(evidence: Sequence[Evidence]) -> list[Candidate]:
    found: dict[tuple[str, str, str], Candidate] = {}
    for one in evidence:
        if not one.cause or one.role not in ("strong", "likely", "weak"):
            continue
        cause = causes.find(one.cause)
        key = (one.cause, *_subject_key(cause, one))
        candidate = found.setdefault(key, Candidate(cause, host=one.host, device=one.event.device))
        candidate.evidence.append(one)
        candidate.host = candidate.host or one.host
        candidate.device = candidate.device or one.event.device
    for candidate in found.values():
        candidate.ranks = _ranks(candidate.evidence)
        candidate.note = _note(candidate)
    return _without_placeless_twins([*found.values()])


def _subject_key(cause: causes.Cause, one: Evidence) -> tuple[str, str]:
    if cause.subject == "gpu":
        return one.host, _address(one.event.device)
    if cause.subject in _BY_HOST:
        return one.host, ""
    return "", ""


def _address(device: str) -> str:
    """Kernel, NVML and CUDA spell the address of one GPU in three ways."""
    domain, _, rest = device.lower().partition(":")
    return f"{domain[-4:]}:{rest.removesuffix('.0')}" if rest else device


def _ranks(evidence: Sequence[Evidence]) -> tuple[int, ...]:
    """The ranks that the lines name; the host of the line only if they name none."""
    named: set[int] = set()
    for one in evidence:
        named |= {int(word) for word in one.word("ranks").replace(",", " ").split() if word.isdecimal()}
    return tuple(sorted(named or {one.rank for one in evidence if one.rank is not None}))


def _note(candidate: Candidate) -> str:
    first = candidate.best_evidence()[0]
    if first.event.kind == "exception" and candidate.name in ("job.exception", "launcher.setup", "storage.corrupt"):
        where = first.word("where")
        return f"{short(first.event.text)}{f', at {where}' if where else ''}"
    for name in ("says", "path", "reason", *(() if candidate.cause.subject == "storage" else ("where",))):
        if first.word(name):
            return first.word(name)
    peers = sorted({peer.partition("<")[0] for one in candidate.evidence if (peer := one.word("peer"))})
    if peers:
        return f"peer {', '.join(peers[:4])}"
    known = candidate.problem is not None and not candidate.problem.is_default
    return "" if known or candidate.name not in ("launcher.setup", "job.exception") else short(first.event.text)


def short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_NOTE else f"{text[: LONGEST_NOTE - 3]}..."


def _without_placeless_twins(found: list[Candidate]) -> list[Candidate]:
    """Drops candidates without a host that repeat one with a host: a rank and the log of its host report the same
    lost GPU."""
    kept = []
    for one in found:
        twins = [] if one.host else [other for other in found if other.name == one.name and other.host]
        if len(twins) == 1:
            twins[0].evidence += one.evidence
            twins[0].ranks = _ranks(twins[0].evidence)
        else:
            kept.append(one)
    return kept
