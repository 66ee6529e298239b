"""Slurm nodes from any output: JSON of 21.08 to 25.11, `scontrol show node`, `sinfo` with or without a header.

A table without a header is read by the content of its columns: one has states, one has host names, one may have
reasons.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from holdfast.formats.slurm import fields, hostlist, jobs, nodes, others
from holdfast.formats.slurm.nodes import SlurmNode
from holdfast.formats.tool_output import ToolOutput
from holdfast.model.job import JobState

_HOST = re.compile(r"[a-zA-Z][\w.-]*(?:\[[\d,-]+\][\w.-]*)*(?:,[a-zA-Z][\w.-]*(?:\[[\d,-]+\][\w.-]*)*)*")
_STATE = re.compile(r"[a-zA-Z_+@]+[*~#!%$@^+-]?")
_DELIMITERS = ("|", ";", "\t", ",", None)
_HEADER = re.compile(r"\b(?:STATE|HOSTNAMES?|NODELIST|PARTITION|NODENAME)\b")
_TABLE_HEAD = re.compile(r"^[ \t]*(?:PARTITION|NODELIST|HOSTNAMES|NODENAME)\b[^\n]*\bSTATE\b[^\n]*$", re.MULTILINE)
_JOB_HEADER = re.compile(r"\bJOBID|\bJOBIDRAW|\bJOBNAME\b")
_DATE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]{8} \d{4}\s*$")
_REASONS = re.compile(r"REASON\s+USER\s+TIMESTAMP\s+(?:STATE\s+)?NODELIST")
_REASON_ROW = re.compile(r"(.{0,300}?)\s+\S{1,80}\s+\d{4}-\d\d-\d\dT[\d:]+\s+(?:[a-z*~#!%$@^-]+\s+)?(\S+)\s*$")
_REASONS_ALONE = re.compile(r"REASON\s+NODELIST\s*$")
_REASON_ALONE_ROW = re.compile(r"(\S.{0,300}?)\s{2,}(\S+)\s*$")
_ERROR = re.compile(r"^[^\S\n]*(?:\w+: )?(?:error|usage|fatal)\b:?", re.IGNORECASE | re.MULTILINE)
_JOB_NUMBER = re.compile(r"\d+(?:_\d+|_\[[\d,%-]+\])?(?:\.\w+)?")
_ENOUGH = 0.9
_KNOWN = {flag.lower() for flag in fields.FLAGS} | {
    "idle",
    "alloc",
    "allocated",
    "mix",
    "mixed",
    "down",
    "drain",
    "drained",
}


def read(text: str) -> ToolOutput | None:
    found = _nodes(text)
    if found is None:
        return _jobs(text) or _summary(text) or others.read(text)
    output = ToolOutput("Slurm nodes")
    output.lines = len(found)
    for node in found:
        place = f"node/{node.name}"
        output.see(place)
        state = "+".join(sorted(node.flags))
        if node.down or "FAIL" in node.flags or "NOT_RESPONDING" in node.flags:
            output.complain(
                place,
                f"{state}: {node.reason or 'no reason given'}",
                remedy="see why, repair it, then `scontrol update nodename=... state=resume`",
            )
        elif node.drained:
            output.complain(
                place, f"{state}: {node.reason or 'no reason given'}", fails=False, remedy="repair it, then resume it"
            )
    return output


def _nodes(text: str) -> list[SlurmNode] | None:
    if text.lstrip().startswith("{"):
        return nodes.from_json(text)
    if re.search(r"^NodeName=", text, re.MULTILINE) and "State=" in text:
        return nodes.from_scontrol(text)
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and _DATE.match(lines[0]):  # printed by `sinfo -l` above its table
        lines = lines[1:]
    first = lines[0].upper() if lines else ""
    if _JOB_HEADER.search(first):
        return None
    heads = ((n, match.start()) for n, line in enumerate(lines) if (match := _REASONS.search(line)))
    if head := next(heads, None):  # the table may follow a prefix
        return _reasons([line[head[1] :] for line in lines[head[0] + 1 :]])
    if lines and all(_REASON_ROW.fullmatch(line) for line in lines):  # `sinfo -R -h`
        return _reasons(lines)
    if _REASONS_ALONE.match(first):
        return _reasons(lines[1:], _REASON_ALONE_ROW)
    if _HEADER.search(first) and (found := nodes.from_table("\n".join(lines))):
        return found
    return _guessed(text) or _inside(text)


def _inside(text: str) -> list[SlurmNode] | None:
    """A sinfo table after other text: from its header to the next empty line, without rows that do not fit."""
    head = _TABLE_HEAD.search(text)
    if head is None:
        return None
    body = text[head.start() :].lstrip("\n").partition("\n\n")[0]
    lines = [line for line in textwrap.dedent(body).splitlines() if len(line.split()) >= len(head[0].split())]
    return nodes.from_table("\n".join(lines)) or None


def _reasons(lines: Sequence[str], shape: re.Pattern[str] = _REASON_ROW) -> list[SlurmNode]:
    """`sinfo -R` lists nodes that are down, drained or failing, with the reason and without the state."""
    found = []
    for line in lines:
        if row := shape.match(line):
            try:
                names = hostlist.expand(row[2])
            except ValueError:
                continue
            found += [SlurmNode(name=name, flags=frozenset({"DRAIN"}), reason=row[1].strip()) for name in names]
    return found


def _tables(text: str) -> Iterator[tuple[list[list[str]], list[tuple[str, ...]]]]:
    """A text as rows and columns, once for every delimiter with which nearly all lines have the same width."""
    lines = [line for line in text.splitlines() if line.strip()][:20_000]
    for delimiter in _DELIMITERS:
        rows = [[cell.strip().strip("#") for cell in line.split(delimiter)] for line in lines]
        widths = Counter(len(row) for row in rows)
        width = widths.most_common(1)[0][0] if widths else 0
        same = [row for row in rows if len(row) == width]
        if width >= 2 and len(same) >= _ENOUGH * len(rows):
            yield same, list(zip(*same, strict=True))


def _guessed(text: str) -> list[SlurmNode] | None:
    """None unless nearly every line has a host name and a state in the same two columns."""
    if _ERROR.search(text):  # an error message of a tool may look like a host and a state
        return None
    for rows, columns in _tables(text):
        state = next((n for n, column in enumerate(columns) if _share(column, _is_state) >= _ENOUGH), None)
        host = _host_column(columns, state)
        if state is None or host is None:
            continue
        names = [f"column{number}" for number in range(len(columns))]
        names[state], names[host] = "statelong", "nodehost"
        if (reason := _reason_column(columns, state, host)) is not None:
            names[reason] = "reason"
        return nodes.from_table("\n".join("|".join(cell or " " for cell in row) for row in rows), names, "|") or None
    return None


def _summary(text: str) -> ToolOutput | None:
    """Counts of nodes by state without their names, as exporters request them."""
    for rows, columns in _tables(text):
        state = next((n for n, column in enumerate(columns) if _share(column, _is_state) >= _ENOUGH), None)
        count = next((n for n, column in enumerate(columns) if _share(column, str.isdigit) >= _ENOUGH), None)
        if state is None or count is None:
            continue
        output = ToolOutput("Slurm nodes")
        output.lines = len(rows)
        for row in rows:
            flags = fields.node_flags(row[state])
            if flags & fields.DOWN or "DRAIN" in flags:
                output.complain("", f"{row[count]} nodes are {row[state]}", fails=bool(flags & fields.DOWN))
        return output
    return None


def _share(column: Sequence[str], holds: object) -> float:
    return sum(bool(holds(cell)) for cell in column) / len(column) if column and callable(holds) else 0.0


def _is_state(cell: str) -> bool:
    return bool(_STATE.fullmatch(cell)) and cell.rstrip("*~#!%$@^+-").lower().split("+")[0] in _KNOWN


def _host_column(columns: Sequence[Sequence[str]], state: int | None) -> int | None:
    """The column of host names with a digit; of several, the one with the most different names."""
    found = [
        (len(set(column)), -number)
        for number, column in enumerate(columns)
        if number != state and _share(column, lambda cell: _HOST.fullmatch(cell) and re.search(r"\d", cell)) >= _ENOUGH
    ]
    return -max(found)[1] if found else None


def _reason_column(columns: Sequence[Sequence[str]], state: int, host: int) -> int | None:
    found = [
        n
        for n, column in enumerate(columns)
        if n not in (state, host) and any(" " in cell and len(cell) > 8 for cell in column)
    ]
    return found[0] if found else None


def _jobs(text: str) -> ToolOutput | None:
    """Recognises a list of jobs, which says nothing about a node's health."""
    if text.lstrip().startswith("{"):
        found = jobs.from_json(text)
    elif re.search(r"^JobId=", text, re.MULTILINE):
        found = jobs.from_scontrol(text)
    else:
        first = next((line for line in text.splitlines() if line.strip()), "").upper()
        found = jobs.from_table(text).whole if _JOB_HEADER.search(first) else None
    if not found:
        return _job_states(text) or _broken_table(text)
    output = ToolOutput("Slurm jobs")
    output.lines = len(found)
    failed = [job for job in found if job.state.name == "NODE_FAILED"]
    for job in failed[:50]:
        output.complain(
            "", f"job {job.id} ended because a node failed ({','.join(job.nodes) or 'nodes not given'})", fails=False
        )
    return output


def _broken_table(text: str) -> ToolOutput | None:
    """The header of a list of jobs with lines under it that do not fit."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not _JOB_HEADER.search(lines[0].upper()) or lines[0].count("|") < 3:
        return None
    output = ToolOutput("Slurm jobs")
    output.lines = len(lines) - 1
    output.doubt("", f"{len(lines) - 1} lines do not fit the header: no job can be read")
    return output


def _job_states(text: str) -> ToolOutput | None:
    """A list of jobs without a header: one column contains only job states.

    A single line must begin with a job number, because a sentence may contain "failed" too.
    """
    for rows, columns in _tables(text):
        column = next((one for one in columns if _share(one, _is_job_state) >= _ENOUGH), None)
        if column is not None and (len(rows) > 1 or _JOB_NUMBER.fullmatch(rows[0][0])):
            output = ToolOutput("Slurm jobs")
            output.lines = len(column)
            if failed := sum("NODE_FAIL" in cell.upper() for cell in column):
                output.complain("", f"{failed} jobs ended because a node failed", fails=False)
            return output
    return None


def _is_job_state(cell: str) -> bool:
    return jobs.job_state([cell]) is not JobState.UNKNOWN and len(cell) > 2
