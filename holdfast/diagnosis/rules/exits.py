"""Evidence from exit codes and signals. The first process that ended counts; later ones were ended because of it."""

from collections.abc import Sequence

from holdfast.catalog import causes
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.model.evidence import Evidence

KILL = 9
_TERM = 15
_ABORT = 6
_SIGNALS = {
    "SIGKILL": 9,
    "SIGSEGV": 11,
    "SIGBUS": 7,
    "SIGABRT": 6,
    "SIGTERM": 15,
    "SIGILL": 4,
    "SIGFPE": 8,
    "SIGINT": 2,
}
_WORDS = {
    "Killed": 9,
    "Segmentation fault": 11,
    "Bus error": 7,
    "Aborted": 6,
    "Process abort signal": 6,
    "Illegal instruction": 4,
    "Erroneous arithmetic operation": 8,
    "Termination signal": 15,
}
_SAYS = {  # signal -> (cause, how sure, in words)
    9: ("host.killed", 0.5, "killed by SIGKILL"),
    11: ("job.exception", 0.6, "segmentation fault"),
    7: ("job.dataloader", 0.5, "bus error: a memory-mapped file, most often /dev/shm, has no room"),
    4: ("job.exception", 0.5, "illegal instruction"),
    8: ("job.exception", 0.5, "arithmetic fault"),
    6: ("job.exception", 0.32, "aborted"),
    2: ("host.killed", 0.4, "interrupted by a person or the scheduler"),
    1: ("host.killed", 0.45, "the terminal it ran in was closed"),
    15: ("host.killed", 0.4, "the launcher was reported to end"),
}


_TRAINER_KINDS = ("steps", "exception", "dataloader", "busy", "loading", "save")
_KNOWN = {11: "segfault", 7: "bus_error", 6: "abort", 4: "illegal_instruction"}


def signal_of(one: Evidence) -> int | None:
    """The signal that ended a process; 0 if it exited, None if unknown."""
    if (number := one.number("signal")) is not None:
        return number
    name = one.word("name")
    if name:
        return _SIGNALS.get(name) or _WORDS.get(name)
    code = one.number("exit")
    if code is None:
        return None
    if one.event.code == "mpi_abort":  # the code that the program passed, not the exit status of a process
        return 0
    if code < 0:
        return -code
    return code - 128 if 128 < code < 160 else 0


def failed(one: Evidence) -> bool:
    return one.role == "exit" and (signal_of(one) != 0 or one.number_or_zero("exit") != 0)


def candidate(evidence: Sequence[Evidence], *, waited: bool = False) -> Candidate | None:
    """The cause that the first ended process suggests; weaker than anything that the process reported.

    `waited`: a watchdog reported a timeout; it aborts its own process.
    """
    ends = [one for one in evidence if failed(one) and not (waited and signal_of(one) == _ABORT)]
    if not ends:
        return None
    called_first = [one for one in ends if one.word("first") == "yes"]
    telling = [one for one in called_first or ends if signal_of(one) in _SAYS]
    if not telling:
        return _ended_itself(ends)
    first = telling[0]
    cause, sure, words = _SAYS[signal_of(first) or 0]
    if cause == "job.dataloader" and first.event.code == "task" and not any(_of_a_trainer(one) for one in evidence):
        cause = "job.exception"  # any program may map a truncated file
    if first.event.code != "agent" and signal_of(first) == _TERM:
        return None
    alike = [one for one in ends if signal_of(one) == signal_of(first)]
    ranks = tuple(sorted({one.rank for one in alike if one.rank is not None}))
    known = _KNOWN.get(signal_of(first) or 0, "")
    return Candidate(
        causes.find(cause),
        host=first.host,
        ranks=ranks,
        evidence=[first, *alike[1:3]],
        base=sure,
        note=words,
        known=known,
    )


def _of_a_trainer(one: Evidence) -> bool:
    """Whether the evidence is from a Python program, usually one with data loading processes."""
    return one.event.kind in _TRAINER_KINDS or one.event.code in ("python", "worker", "spawn", "elastic", "summary")


def _ended_itself(ends: Sequence[Evidence]) -> Candidate | None:
    """Whether the program called MPI_Abort. The reason is in its own lines."""
    called = [one for one in ends if one.event.code == "mpi_abort"]
    if not called:
        return None
    ranks = tuple(sorted({one.rank for one in called if one.rank is not None}))
    code = called[0].number("exit")
    note = f"code {code}" if code is not None else ""
    cause = causes.find("job.exception")
    return Candidate(cause, ranks=ranks, evidence=called[:3], base=0.42, note=note, known="mpi_abort")


def first_quiet(evidence: Sequence[Evidence]) -> Evidence | None:
    """The first process that ended with an error of its own, of those that wrote nothing about it."""
    ends = [one for one in evidence if one.role == "exit" and one.number_or_zero("exit") > 0]
    return next((one for one in ends if one.word("first") == "yes"), ends[0] if ends else None)


def who(one: Evidence) -> str:
    rank = f"rank {one.rank}" if one.rank is not None else ""
    return " on ".join(part for part in (rank, one.host) if part) or "the process"
