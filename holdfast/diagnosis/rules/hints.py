"""Hints that matter only together with a wait (a save that never ended, a rank busy elsewhere), and missing
evidence."""

import re
from collections.abc import Mapping, Sequence
from math import inf

from holdfast.catalog import causes
from holdfast.diagnosis.rules import exits
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.waiting import Waiting
from holdfast.model.evidence import Evidence

SURE = 0.6  # below it the answer says what is missing
_LAST_WORDS = 0.35
_QUIET_LINES = 2  # lines of any kind below an error without a rule
_MAY_BE_HARDWARE = frozenset({"job.rank_missing", "job.illegal_access", "job.nan", "host.killed", causes.UNKNOWN})
_LOG_OPTION = {"task": "srun --output=job-%j-%t.log", "hydra": "mpiexec -outfile-pattern=out.%r"}
_TIMEOUT = re.compile(r"[Ss]ocket [Tt]imeout|[Ww]ait timeout|timed out|Timed out|likely a timeout")
_KERNEL_KINDS = frozenset({
    "xid", "sxid", "aer", "pcie_link", "mlx5", "nic", "link", "oom", "soft_lockup", "hard_lockup", "panic", "hung_task",
    "rcu_stall", "gpu_lost", "amdgpu", "uvm", "mce", "edac", "cpu_thermal", "disk", "storage", "firmware", "segfault",
})  # fmt: skip


def candidates(evidence: Sequence[Evidence], wait: Waiting | None) -> list[Candidate]:
    found = [_odd_network(evidence), _never_connected(evidence), _killed_while_loading(evidence)]
    if wait:
        found += [_unfinished_save(evidence, wait)]
    if wait or any(_timed_out(one) for one in evidence):
        found += [_busy_elsewhere(evidence, wait)]
    return [one for one in found if one]


def _unfinished_save(evidence: Sequence[Evidence], wait: Waiting) -> Candidate | None:
    """A save that began and has no end in the logs, while the other ranks waited since its start."""
    saves = [one for one in evidence if one.event.kind == "save" and one.event.code in ("begin", "end")]
    if not saves:
        return None
    last = max(saves, key=lambda one: (one.at, one.event.line))
    if last.event.code != "begin" or last.number_or_zero("steps_after") > 1:
        return None
    if wait.since and last.at and not -300.0 <= wait.since - last.at <= 900.0:
        return None
    hung = [one for one in evidence if one.role == "hint" and one.cause == "storage.stall"]
    note = last.word("path")
    base = 0.75 if hung else 0.6
    return Candidate(causes.find("storage.stall"), ranks=_rank(last), evidence=[last, *hung[:2]], base=base, note=note)


def name_the_storage(found: Sequence[Candidate], evidence: Sequence[Evidence]) -> None:
    """Adds the storage path from the save that failed, because the error of a write seldom names it."""
    saves = [one.word("path") for one in evidence if one.event.kind == "save" and one.word("path")]
    for one in found:
        if one.cause.subject == "storage" and not one.note and not one.device and saves:
            one.note = saves[-1]


def _timed_out(one: Evidence) -> bool:
    """Whether the store, not a watchdog, reports a timeout while waiting for another rank."""
    return one.event.kind in ("rendezvous", "exception") and bool(_TIMEOUT.search(one.event.text))


def warned(evidence: Sequence[Evidence]) -> list[Candidate]:
    """Problems that appear only as warnings or were tried again, for a job that failed without an error."""
    found: dict[str, Candidate] = {}
    for one in evidence:
        named = one.event.kind in ("nccl.warning", "cuda") or (one.event.kind == "problem" and one.word("problem"))
        if one.role == "hint" and one.cause and (named or one.word("retried")):
            candidate = found.setdefault(one.cause, Candidate(causes.find(one.cause), host=one.host, base=0.45))
            candidate.evidence.append(one)
    return [*found.values()]


def hung(evidence: Sequence[Evidence]) -> list[Candidate]:
    """Hung-task reports of the kernel, for a job whose programs report nothing."""
    found = [one for one in evidence if one.event.kind == "hung_task" and one.role == "hint"]
    if not found or any(one.event.kind in ("steps", "life") for one in evidence):
        return []
    note = " ".join(found[0].event.text.split())[:80]
    return [Candidate(causes.find(found[0].cause), host=found[0].host, evidence=found[:3], base=_LAST_WORDS, note=note)]


def last_words(evidence: Sequence[Evidence]) -> list[Candidate]:
    """The last error of a log in which nothing else was found."""
    done = {one.file: one.event.line for one in evidence if one.event.kind == "life" and one.event.code == "done"}
    errors = [one for one in evidence if one.event.kind == "tail" and not _is_before_a_good_end(one, done)]
    errors = [one for one in errors if not _was_survived(one)]
    if not errors:
        return []
    first = errors[0]
    running = any(one.event.kind == "steps" for one in evidence)
    name = causes.UNKNOWN if running and first.event.code != "traceback" else first.cause
    where = f", at {first.word('where')}" if first.word("where") else ""
    last_error = " ".join(first.event.text.split())[:160]
    note = f"its last error is: {last_error}{where}"
    if first.event.code == "traceback" and last_error.startswith("Traceback"):
        kind = last_error.removeprefix("Traceback").removeprefix(" of a ")
        what = f"the message of the {kind} is missing" if kind else "what was raised is missing"
        note = f"the log ends inside a traceback{where}: {what}"
    ranks = () if first.rank is None else (first.rank,)
    return [Candidate(causes.find(name), host=first.host, ranks=ranks, evidence=[first], base=_LAST_WORDS, note=note)]


def _is_before_a_good_end(one: Evidence, done: Mapping[str, int]) -> bool:
    """Whether the work of its file ended well; a traceback after that end belongs to later work."""
    return one.file in done and (one.event.code != "traceback" or one.event.line < done[one.file])


def _was_survived(one: Evidence) -> bool:
    """Whether the run made steps, or continued as before, after its last error."""
    if one.number("steps_after"):
        return True
    goes_on = one.number("calm_end") or one.number_or_zero("quiet_end") >= _QUIET_LINES
    return one.event.code == "error" and bool(goes_on)


def _busy_elsewhere(evidence: Sequence[Evidence], wait: Waiting | None) -> Candidate | None:
    """The last progress bar before the watchdogs fired. A bar has no line end, so the rank after it is not its own."""
    busy = [one for one in evidence if one.role == "hint" and one.cause == "job.rank_slow"]
    if not busy:
        return None
    spoke = min((one.event.line for one in wait.reported), default=inf) if wait else inf
    last = [one for one in busy if one.event.line <= spoke][-1:] or busy[-1:]
    waiting = {one.rank for one in evidence if one.role in ("watchdog", "effect")}
    ranks = () if last[0].rank in waiting else _rank(last[0])
    note = last[0].event.text[:60]
    return Candidate(causes.find("job.rank_slow"), ranks=ranks, evidence=last, base=0.55, note=note)


def _never_connected(evidence: Sequence[Evidence]) -> Candidate | None:
    """A peer that never answered before the first step: it may not be on the same fabric."""
    failed = [one for one in evidence if one.event.kind == "nccl.completion" and one.cause == "fabric.retry_exceeded"]
    if not failed or any(one.event.kind == "steps" for one in evidence):
        return None
    note = "before the first step: are the ports on one fabric?"
    return Candidate(causes.find("fabric.unreachable"), host=failed[0].host, evidence=failed[:2], base=0.4, note=note)


def _killed_while_loading(evidence: Sequence[Evidence]) -> Candidate | None:
    """A process killed while it loads weights: most often it ran out of memory."""
    killed = [one for one in evidence if exits.failed(one) and exits.signal_of(one) == exits.KILL]
    loading = [one for one in evidence if one.event.kind in ("loading", "busy")]
    if not killed or not loading or any(one.event.kind == "steps" for one in evidence):
        return None
    note = "killed by SIGKILL while it loaded weights, optimizer states or data"
    return Candidate(
        causes.find("host.oom"), host=killed[0].host, evidence=[killed[0], loading[-1]], base=0.55, note=note
    )


def _odd_network(evidence: Sequence[Evidence]) -> Candidate | None:
    """Hosts of a job that use sockets while the others use the fabric."""
    networks: dict[str, str] = {}
    for one in evidence:
        if one.event.kind == "nccl.plugin" and one.event.code == "network" and one.host:
            networks[one.host] = one.word("network")
    slow = [host for host, network in networks.items() if network.startswith("Socket")]
    if not slow or len(slow) == len(networks):
        return None
    reported = [one for one in evidence if one.event.code == "network" and one.host in slow]
    return Candidate(causes.find("fabric.plugin_fallback"), host=slow[0], evidence=reported, base=0.7)


def _rank(one: Evidence) -> tuple[int, ...]:
    return () if one.rank is None else (one.rank,)


def unseen(evidence: Sequence[Evidence], roots: Sequence[Candidate], wait: Waiting | None) -> list[str]:
    """Missing evidence and how to get it. A certain answer that hardware cannot change needs none."""
    if not roots:
        return []
    first = roots[0]
    if first.confidence >= SURE and first.name not in _MAY_BE_HARDWARE:
        return []
    missing = _quiet_ends(evidence) if first.name == causes.UNKNOWN else []
    if first.evidence[0].event.kind == "tail" and first.evidence[0].event.code == "traceback":
        return ["the lines below the last frame, which name the exception: the whole log of that process"]
    if not any(one.event.kind in _KERNEL_KINDS for one in evidence):
        where = f"of {first.host}" if first.host else "of each node"
        missing.append(f"the kernel log {where}, which shows a lost GPU, a dead port or a killed process: dmesg -T")
    if wait and not any(one.event.kind.startswith("flight_recorder") for one in evidence):
        missing.append(
            "a Flight Recorder dump, which names the ranks that are missing: TORCH_NCCL_TRACE_BUFFER_SIZE=2000"
        )
    if wait and not any(one.event.kind.startswith("nccl.") for one in evidence):
        missing.append("lines of NCCL itself, which name transport errors: NCCL_DEBUG=WARN")
    silent = _silent_ranks(evidence)
    if silent:
        shown = f"{', '.join(map(str, silent[:10]))}{' ...' * (len(silent) > 10)}"
        missing.append(f"the log of rank{'s' * (len(silent) > 1)} {shown}: torchrun --log-dir logs --redirects 3")
    if not any(one.at for one in evidence) and len({one.file for one in evidence}) > 1:
        missing.append("times: no line has one, so what came first is taken from the order of lines in each file")
    return missing


def _quiet_ends(evidence: Sequence[Evidence]) -> list[str]:
    """Processes that failed without a reason in the given files."""
    first = exits.first_quiet(evidence)
    if first is None:
        return []
    launcher = _LOG_OPTION.get(str(first.event.code), "torchrun --log-dir logs --redirects 3")
    return [f"what {exits.who(first)} wrote before it ended with exit code {first.number('exit')}: {launcher}"]


def _silent_ranks(evidence: Sequence[Evidence]) -> list[int]:
    worlds = [world for one in evidence if (world := one.number("world"))]
    reported = {one.rank for one in evidence if one.rank is not None and one.event.kind != "nccl.about"}
    if not worlds or not reported or max(worlds) > 100_000:
        return []
    return [rank for rank in range(max(worlds)) if rank not in reported]
