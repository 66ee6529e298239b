"""The setting to change: the fix of the known problem, advice in the log itself, the interface or library it names."""

import re
from collections.abc import Sequence

from holdfast.catalog import error_forms, nccl
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.model.evidence import Evidence

_INNER = re.compile(r"(?:lo|docker|veth|virbr|br-|cni|flannel|cali|tun|tap|vmnet|kube)")  # networks inside one host
_TRANSPORT = ("fabric.retry_exceeded", "fabric.port_down")
_ADVICE = re.compile(  # a sentence of the log that says what to do
    r"(?:\b(?:[Pp]lease|[Tt]ry|[Cc]onsider|[Mm]ake sure|[Ee]nsure|[Yy]ou (?:can|could|should|must|need to|may want to)"
    r"|[Dd]id you (?:mean|call|forget|run|set|install)|[Cc]heck (?:that|if|whether|your)"
    r"|[Pp]ossible fix\w*|[Hh]int|Solution)\b"
    r"|(?:(?<=[.;:!] )|(?<=^))(?:[Ss]et|[Uu]se|[Ii]nstall|[Rr]un(?! ?time)|[Ii]ncrease|[Dd]ecrease|[Rr]educe"
    r"|[Uu]pgrade|[Dd]owngrade|[Aa]dd|[Pp]ass|[Ee]nable|[Dd]isable"
    r"|[Ss]pecify|[Pp]rovide|[Rr]emove|[Rr]eplace)\b|\bpip3? install\b)"
    r"(?:(?![.;!](?:\s|$))[^\n]){3,300}"
)
_SHORTEST_ADVICE = 15
_NO_ADVICE = re.compile(  # sentences for the program's authors, or about a step that failed
    r"\breport (?:this|the|a|an|it)\b|file an? (?:issue|bug)|^[Pp]lease (?:understand|wait|be patient|note)\b"
    r"|^(?:[Ss]et|[Uu]se|[Rr]un|[Aa]dd|[Pp]ass)\b.{0,40}\bfail"
)
_OPEN = ("job.exception", "launcher.setup", "unknown")  # causes that leave open what to change
_SAY_NOTHING = ("any_exception", "any_launcher")  # omitted if the log, its wording or its frames give better advice


def settings(first: Candidate, evidence: Sequence[Evidence]) -> dict[str, str]:
    connected = first.name == "fabric.port_down" or any(one.event.kind == "steps" for one in evidence)
    if first.name in _TRANSPORT and connected:  # before the first step a longer timeout only hides a wrong route
        versions = [one.word("version") for one in evidence if one.word("version")]
        now = nccl.transport_timeout(versions[0] if versions else "")
        return {"NCCL_IB_TIMEOUT": f"22 (survives 120 s; now {now.seconds:.1f} s, {now.because})"}
    problem = first.problem
    chosen = dict(problem.settings) if problem else {}
    interface = _interface(evidence)
    if interface and "NCCL_SOCKET_IFNAME" in chosen:
        chosen["NCCL_SOCKET_IFNAME"] = interface
    return chosen


def fix(first: Candidate, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    problem = first.problem
    steps = problem.steps(first.parts) if problem else ()
    advised, library, formed = _advice_of_the_log(first, steps), _library(first), _by_its_form(first)
    bare = problem is not None and problem.name in _SAY_NOTHING and (formed or (advised and library))
    steps = (*advised, *formed, *(() if bare else steps), *library)
    interface = _interface(evidence)
    if interface and any("NCCL_SOCKET_IFNAME" in one for one in steps):
        others = [one for one in steps if not one.startswith("NCCL_SOCKET_IFNAME=")]
        return (f"NCCL_SOCKET_IFNAME={interface}", *others)
    return steps


def _advice_of_the_log(first: Candidate, steps: Sequence[str]) -> list[str]:
    """What the message itself tells the reader to set, install or run."""
    shown = first.best_evidence()[0]
    if shown.event.action:  # a kernel's message
        return []
    advised = (shown.event.text, shown.word("advice"))
    found = [" ".join(match[0].split()) for text in advised for match in _ADVICE.finditer(text)]
    useful = [one for one in found if len(one) > _SHORTEST_ADVICE and not _NO_ADVICE.search(one)]
    new = [one for one in useful if not any(one in step for step in steps)]
    return [f"As the log says: {one}" for one in new[:2]]


def _is_unknown(first: Candidate) -> bool:
    """Whether the catalog knows only the cause or the exception class."""
    problem = first.problem
    return problem is None or problem.is_default or problem.name.startswith("class_")


def _by_its_form(first: Candidate) -> list[str]:
    """Advice from the wording of a message that the catalog does not have."""
    shown = first.best_evidence()[0]
    unknown = _is_unknown(first) and first.name in _OPEN and not shown.event.action
    return error_forms.advice(shown.word("above") or shown.event.text) if unknown else []


def _library(first: Candidate) -> list[str]:
    """Where the exception was raised inside a library that no row knows."""
    shown = first.best_evidence()[0]
    if not shown.word("library") or not _is_unknown(first):
        return []
    where = f", called at {shown.word('where')}" if shown.word("where") else ""
    name = shown.word("library")
    compare = f"`pip show {name}` against the version that the code asks for, and the arguments of that call"
    return [f"It is raised inside {name}{where}: {compare}"]


def _interface(evidence: Sequence[Evidence]) -> str:
    """The interface to use, where the log shows that NCCL took one that other hosts cannot reach."""
    used = [one for one in evidence if one.event.code == "interface"]
    names = list(dict.fromkeys(name for one in used for name in one.word("interfaces").split()))
    inner = [name for name in names if _INNER.match(name)]
    good = [name for name in names if not _INNER.match(name)]
    if not inner:
        return ""
    chosen = f"{good[0]}" if good else "^lo,docker,veth,virbr,br-,cni,flannel,cali"
    return f"{chosen} (the log shows that NCCL took {', '.join(inner[:3])}, which other hosts cannot reach)"
