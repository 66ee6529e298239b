"""Other Slurm output than nodes and jobs: logs of slurmctld and slurmd, partitions, seff, sdiag, settings."""

import re

from holdfast.formats.slurm import hostlist
from holdfast.formats.tool_output import ToolOutput

_LOG = re.compile(r"(?:^|\s)(?:slurmctld|slurmd|slurmstepd)(?:\[\d+\])?: |^\[\d{4}-\d\d-\d\dT[\d:.]+\] ", re.MULTILINE)
_NODE = r"[\w.-]+(?:\[[\d,-]+\][\w.-]*)*"
_MARKED = re.compile(
    rf"(?:^|\s|: )(?:error: )?(?:Setting node (?P<set>{_NODE}) state to (?P<as>\w+) with reason:\s*(?P<why>.*)"
    rf"|[Nn]odes? (?P<silent>{_NODE}) not responding(?:, setting DOWN)?"
    rf"|drain_nodes: node (?P<drained>{_NODE}) state set to (?P<drain>DRAIN\w*)"
    rf"|STEPD TERMINATED ON (?P<stuck>{_NODE}) AT \S+ DUE TO JOB NOT ENDING WITH SIGNALS"
    rf"|update_node: node (?P<updated>{_NODE}) (?:reason set to: (?P<reason>.*)|state set to (?P<state>\w+)))",
)
_ENDED = re.compile(
    r"(?P<said>(?:^|\s)(?:(?P<daemon>slurm(?:ctld|d|dbd))(?:\[\d+\])?: |\[\d{4}-\d\d-\d\dT[\d:.]+\] )"
    r"(?:fatal: |error: slurmd initialization failed).*)|slurm(?:ctld|d|dbd) version \S{1,20} started",
    re.IGNORECASE,
)
_PARTITION = re.compile(r"^PartitionName=(?P<name>\S+)(?P<rest>(?:(?!\n\s*\n|^PartitionName=).|\n)*)", re.MULTILINE)
_CPUS = re.compile(r"\d+/\d+/\d+/\d+")
_AVAILABILITY = frozenset({"up", "down", "drain", "inact"})
LEAST_COLUMNS = 3
_STATE = re.compile(r"\bState=(\w+)")
_SEFF = re.compile(r"^Job ID: (?P<job>\S+)\n(?:.*\n){0,20}?State: (?P<state>[A-Z_]+)", re.MULTILINE)
_KNOWN = (
    ("sdiag", re.compile(r"^sdiag output at |\"schedule_cycle_last\"", re.MULTILINE)),
    ("scontrol show config", re.compile(r"^Configuration data as of \S+$", re.MULTILINE)),
    ("scontrol listpids", re.compile(r"^PID +JOBID +STEPID", re.MULTILINE)),
    ("scontrol show topology", re.compile(r"^(?:SwitchName|BlockName)=\S+ ", re.MULTILINE)),
    ("scontrol show reservation", re.compile(r"^ReservationName=\S+ StartTime=", re.MULTILINE)),
    ("sshare", re.compile(r"^[^\S\n]*Account[ |]+User[ |]+RawShares", re.MULTILINE)),
    ("sacctmgr", re.compile(r"^[^\S\n]*Cluster[ |]+Account[ |]+User", re.MULTILINE)),
    ("Slurm version", re.compile(r"\Aslurm \d\d\.\d\d\.\S+\s*\Z")),
    (
        "sinfo of GPUs",
        re.compile(r"\A(?:\d+ (?:[^\s:(]+ )?(?:gpu:\S+|\(null\))(?: (?:gpu:\S+|\(null\)))?[ \t]*(?:\n|\Z))+\Z"),
    ),
    ("sinfo of CPUs", re.compile(r"\A(?:[\w.*-]+(?:[ |,]+\d+)*[ |,]+\d+/\d+/\d+/\d+[ \t]*(?:\n|\Z))+\Z")),
)
RESUME = "see why, repair it, then `scontrol update nodename=... state=resume`"


def read(text: str) -> ToolOutput | None:
    return _partitions(text) or _efficiency(text) or _recognised(text)


def read_log(text: str) -> ToolOutput | None:
    """Reads the last state of each node; a node that slurmctld resumed is healthy."""
    if not _LOG.search(text):
        return None
    states: dict[str, str] = {}
    for found in _MARKED.finditer(text):
        node, state = _said(found)
        states[node] = "" if state.startswith(("RESUME", "IDLE")) else f"{state}{_reason(found, states.get(node, ''))}"
    ended = None
    for found in _ENDED.finditer(text):
        ended = found if found["said"] else None
    if not states and not ended and len(re.findall(r"\bslurm(?:ctld|d|stepd)\b", text)) < 2:
        return None
    output = ToolOutput("Slurm log")
    output.lines = text.count("\n")
    if ended:
        what = f"{ended['daemon'] or 'a daemon of Slurm'} ended: {ended['said'].strip()}"
        output.complain("", what, remedy="repair the part that it names, then start the service")
    for node, state in states.items():
        for name in _names(node):
            if state:
                output.complain(f"node/{name}", state, fails=not state.startswith("DRAIN"), remedy=RESUME)
    return output


def _said(found: re.Match[str]) -> tuple[str, str]:
    if found["set"]:
        return found["set"], found["as"]
    if found["silent"]:
        return found["silent"], "NOT_RESPONDING"
    if found["stuck"]:
        return found["stuck"], "DRAIN: Kill task failed, processes of a job did not end"
    if found["drained"]:
        return found["drained"], found["drain"]
    return found["updated"], found["state"] or "DRAIN"


def _reason(found: re.Match[str], before: str) -> str:
    why = found["why"] or found["reason"] or before.partition(": ")[2]
    return f": {why.strip()}" if why else ""


def _names(text: str) -> list[str]:
    try:
        return hostlist.expand(text)
    except ValueError:
        return [text]


def _partitions(text: str) -> ToolOutput | None:
    states = ((one["name"], _STATE.search(one["rest"])) for one in _PARTITION.finditer(text))
    found = [(name, state[1]) for name, state in states if state] or _partition_rows(text)
    if not found:
        return None
    output = ToolOutput("Slurm partitions")
    output.lines = len(found)
    for name, state in found:
        if state.upper() != "UP":
            output.complain("", f"partition {name} is {state}", fails=False, remedy="scontrol update partition")
    return output


def _partition_rows(text: str) -> list[tuple[str, str]]:
    """`sinfo -o` without a header: one column contains only the availability of partitions, one counts CPUs."""
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.strip()]
    if not rows or min(map(len, rows)) < LEAST_COLUMNS or not all(any(map(_CPUS.fullmatch, row)) for row in rows):
        return []
    columns = list(zip(*rows, strict=False))
    state = next((n for n, column in enumerate(columns) if _AVAILABILITY.issuperset(column)), None)
    return [] if state is None else [(row[0].rstrip("*"), row[state]) for row in rows]


def _efficiency(text: str) -> ToolOutput | None:
    job = _SEFF.search(text)
    if job is None:
        return None
    output = ToolOutput("seff")
    output.lines = 1
    if job["state"] == "NODE_FAIL":
        output.complain("", f"job {job['job']} ended because a node failed", fails=False)
    return output


def _recognised(text: str) -> ToolOutput | None:
    tool = next((tool for tool, shape in _KNOWN if shape.search(text)), "")
    if not tool:
        return None
    output = ToolOutput(tool)
    output.lines = text.count("\n") + 1
    return output
