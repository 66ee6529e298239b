"""Slurm jobs: `squeue` and `sacct` tables, `scontrol show job`, and JSON of any version.

Missing values are empty or None; lines that cannot be read are counted, and nothing here raises.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.formats.slurm import fields as slurm
from holdfast.formats.slurm import hostlist
from holdfast.formats.slurm import json_layout as slurm_json
from holdfast.formats.slurm import table as slurm_table
from holdfast.model.job import Job, JobState

_S = JobState
_STATES: dict[str, JobState] = {
    **dict.fromkeys(("PENDING", "PD", "REQUEUED", "RQ", "REQUEUE_HOLD", "RH", "REQUEUE_FED", "RF"), _S.WAITING),
    **dict.fromkeys(("RESV_DEL_HOLD", "RD", "SPECIAL_EXIT", "SE", "EXPEDITING"), _S.WAITING),
    **dict.fromkeys(("RUNNING", "R", "CONFIGURING", "CF", "RESIZING", "RS", "SIGNALING", "SI"), _S.RUNNING),
    **dict.fromkeys(("POWER_UP_NODE", "UPDATE_DB"), _S.RUNNING),
    **dict.fromkeys(("SUSPENDED", "S", "STOPPED", "ST"), _S.SUSPENDED),
    **dict.fromkeys(("COMPLETING", "CG", "STAGE_OUT", "SO"), _S.ENDING),
    **dict.fromkeys(("COMPLETED", "CD"), _S.COMPLETED),
    **dict.fromkeys(("FAILED", "F", "LAUNCH_FAILED", "RECONFIG_FAIL"), _S.FAILED),
    **dict.fromkeys(("CANCELLED", "CA", "REVOKED", "RV"), _S.CANCELLED),
    **dict.fromkeys(("TIMEOUT", "TO", "DEADLINE", "DL"), _S.TIMED_OUT),
    **dict.fromkeys(("PREEMPTED", "PR"), _S.PREEMPTED),
    **dict.fromkeys(("OUT_OF_MEMORY", "OOM"), _S.OUT_OF_MEMORY),
    **dict.fromkeys(("NODE_FAIL", "NF", "BOOT_FAIL", "BF"), _S.NODE_FAILED),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJobs:
    whole: list[Job] = field(default_factory=list)
    steps: list[Job] = field(default_factory=list)
    unreadable: int = 0
    """Records that could not be read, such as a truncated line."""


def job_state(words: Iterable[str]) -> JobState:
    """`CANCELLED by 1000`, `R`, or the list of newer JSON, in which a flag such as COMPLETING comes with a base
    state."""
    firsts = (word.split()[0].rstrip("+").upper() for word in words if word.split())
    known = [_STATES[first] for first in firsts if first in _STATES]
    if _S.ENDING in known:
        return _S.ENDING
    return known[0] if known else _S.UNKNOWN


def in_prolog(words: Iterable[str], reason: str = "") -> bool:
    """Whether the prolog runs: some versions show the state CONFIGURING, others RUNNING with the reason Prolog."""
    shown = any(word.split()[0].upper() in ("CONFIGURING", "CF") for word in words if word.split())
    return shown or reason.strip().upper() == "PROLOG"


# ---------------------------------------------------------------- tables

_COLUMNS = {
    "jobidraw": "raw",
    "jobid": "shown",
    "reason": "reason",
    "account": "account",
    "user": "user",
    "username": "user",
    "nodelist": "nodes",
    "nodelist(reason)": "nodes",
    "alloctres": "tres",
    "tres_alloc": "tres",
    "tres-alloc": "tres",
    "allocgres": "gres_per_node",
    "allocnodes": "node_count",
    "start": "start",
    "start_time": "start",
    "starttime": "start",
    "end": "end",
    "end_time": "end",
    "endtime": "end",
    "state": "state",
    "st": "state",
    "exitcode": "exit_code",
    "exit_code": "exit_code",
}


def from_table(text: str, columns: Sequence[str] | None = None, delimiter: str = "") -> SlurmJobs:
    """A table of `sacct` or `squeue`. Without `columns` the first line gives the names and the delimiter."""
    table = slurm_table.read(text, _COLUMNS, columns, delimiter)
    jobs = [job for cells in table.rows if (job := _from_cells(cells)) is not None]
    return SlurmJobs(
        whole=[job for job in jobs if not job.step],
        steps=[job for job in jobs if job.step],
        unreadable=table.unreadable + len(table.rows) - len(jobs),
    )


def _from_cells(cells: Mapping[str, str]) -> Job | None:
    shown = slurm.value(cells.get("shown", ""))
    raw = slurm.value(cells.get("raw", "")) or shown
    number, _, step = raw.partition(".")
    if not re.match(r"[0-9]", number):
        return None
    whole_shown = shown.partition(".")[0]
    state = job_state([cells.get("state", "")])
    return _job(
        number,
        shown_as=whole_shown if whole_shown != number else "",
        step=step,
        account=slurm.value(cells.get("account", "")),
        user=slurm.value(cells.get("user", "")),
        nodes=cells.get("nodes", ""),
        gpus=_gpus(cells),
        start=slurm.time(cells.get("start", "")),
        end=slurm.time(cells.get("end", "")),
        state=state,
        prolog=in_prolog([cells.get("state", "")], cells.get("reason", "")),
        exit_code=_exit_code(cells.get("exit_code", "")),
    )


def _gpus(cells: Mapping[str, str]) -> int | None:
    total = slurm.gpus_in_tres(cells.get("tres", ""))
    if total is not None or not slurm.value(cells.get("gres_per_node", "")):
        return total
    count = cells.get("node_count", "")
    return slurm.gpus_in_gres(cells["gres_per_node"]) * int(count) if count.isascii() and count.isdigit() else None


# ---------------------------------------------------------------- scontrol show job

_FREE_LINES = re.compile(
    r"^[^\S\n]+(?:Command|WorkDir|StdErr|StdIn|StdOut|Comment|AdminComment|SystemComment)=.*$", re.M
)


def from_scontrol(text: str) -> list[Job]:
    blocks = re.split(r"^(?=JobId=)", text, flags=re.MULTILINE)
    return [job for block in blocks if (job := _from_block(block)) is not None]


def _from_block(block: str) -> Job | None:
    pairs: dict[str, str] = {}
    for key, value in re.findall(r"(?:^|(?<=\s))([A-Za-z][\w:/]*)=(\S*)", _FREE_LINES.sub("", block)):
        pairs.setdefault(key, value)
    if not pairs.get("JobId", "").isdigit() or "JobState" not in pairs:
        return None
    array = f"{pairs['ArrayJobId']}_{pairs['ArrayTaskId']}" if {"ArrayJobId", "ArrayTaskId"} <= pairs.keys() else ""
    return _job(
        pairs["JobId"],
        shown_as=array,
        account=slurm.value(pairs.get("Account", "")),
        user=pairs.get("UserId", "").partition("(")[0],
        nodes=pairs.get("NodeList", ""),
        gpus=slurm.gpus_in_tres(pairs.get("AllocTRES", pairs.get("TRES", ""))),
        start=slurm.time(pairs.get("StartTime", "")),
        end=slurm.time(pairs.get("EndTime", "")),
        state=job_state([pairs["JobState"]]),
        prolog=in_prolog([pairs["JobState"]], pairs.get("Reason", "")),
        exit_code=_exit_code(pairs.get("ExitCode", "")),
    )


# ---------------------------------------------------------------- JSON


def from_json(text: str | bytes) -> list[Job] | None:
    """`squeue --json` or `sacct --json` of 21.08 and later; None if it is neither."""
    document = slurm_json.document(text)
    if document is None or not isinstance(document.get("jobs"), list):
        return None
    return [job for entry in slurm_json.entries(document, "jobs") if (job := _from_entry(entry)) is not None]


def _from_entry(entry: slurm_json.Entry) -> Job | None:
    number = slurm_json.number(entry, "job_id")
    if number is None:
        return None
    times = slurm_json.inner(entry, "time")  # in sacct; squeue has them at the top level
    state = slurm_json.words(entry, "job_state") or slurm_json.words(slurm_json.inner(entry, "state"), "current")
    tres = slurm_json.text(entry, "tres_alloc_str")
    return _job(
        str(number),
        shown_as=_shown(entry),
        account=slurm_json.text(entry, "account"),
        user=slurm_json.text(entry, "user_name") or slurm_json.text(entry, "user"),
        nodes=slurm_json.text(entry, "nodes"),
        gpus=slurm.gpus_in_tres(tres) if tres else _gpus_allocated(slurm_json.inner(entry, "tres")),
        start=slurm_json.time(entry, "start_time") or slurm_json.time(times, "start"),
        end=slurm_json.time(entry, "end_time") or slurm_json.time(times, "end"),
        state=job_state(state),
        prolog=in_prolog(state, slurm_json.text(entry, "state_reason")),
        exit_code=_exit_code_text(entry),
    )


def _shown(entry: slurm_json.Entry) -> str:
    array = slurm_json.inner(entry, "array")
    of = slurm_json.number(entry, "array_job_id") or slurm_json.number(array, "job_id")
    task = slurm_json.number(entry, "array_task_id")
    task = slurm_json.number(array, "task_id") if task is None else task
    return f"{of}_{task}" if of and task is not None else ""


def _exit_code_text(entry: slurm_json.Entry) -> str:
    """A wait status before 23.02; later its parts, where the signal's number may be nested once more."""
    status = slurm_json.number(entry, "exit_code")
    if status is not None:
        return _exit_code(str(status))
    reported = slurm_json.inner(entry, "exit_code")
    code = slurm_json.number(reported, "return_code")
    if code is None:
        return ""
    by = slurm_json.inner(reported, "signal")
    number = slurm_json.number(by, "signal_id") or slurm_json.number(by, "id") or 0
    return f"{code}:{number}"


def _gpus_allocated(tres: slurm_json.Entry) -> int | None:
    allocated = list(slurm_json.entries(tres, "allocated"))
    if not allocated:
        return None
    gpus = [one for one in allocated if one.get("type") == "gres" and slurm_json.text(one, "name").startswith("gpu")]
    total = [one for one in gpus if one.get("name") == "gpu"]
    return sum(slurm_json.number(one, "count") or 0 for one in total or gpus)


def _exit_code(text: str) -> str:
    """Code and signal as sacct prints them; a bare number is a wait status."""
    stripped = slurm.value(text)
    if re.fullmatch(r"[0-9]{1,5}:[0-9]{1,3}", stripped):
        return stripped
    if stripped.isascii() and stripped.isdigit() and len(stripped) < 7:
        status = int(stripped)
        return f"{status >> 8}:{status & 0x7F}"
    return ""


def _job(
    number: str,
    *,
    shown_as: str = "",
    step: str = "",
    account: str = "",
    user: str = "",
    nodes: str = "",
    gpus: int | None = None,
    start: float | None = None,
    end: float | None = None,
    state: JobState = JobState.UNKNOWN,
    prolog: bool = False,
    exit_code: str = "",
) -> Job:
    """A job. The start of a waiting job is an estimate, and the end of a running one is its time limit, so both are
    dropped."""
    ended = state not in (_S.WAITING, _S.RUNNING, _S.SUSPENDED, _S.UNKNOWN)
    try:
        names = tuple(hostlist.expand(nodes))
    except hostlist.NotAHostlist:
        names = ()
    return Job(
        id=number,
        source="slurm",
        shown_as=shown_as,
        step=step,
        account=account,
        user=user,
        nodes=names,
        gpus=gpus,
        start=None if state is _S.WAITING else start,
        end=end if ended else None,
        state=state,
        in_prolog=prolog and state is _S.RUNNING,
        exit_code=exit_code if ended else "",
    )
