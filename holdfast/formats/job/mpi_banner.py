"""Reads Hydra's (MPICH's) banner of a failed process, upwards from the line with its exit code or signal."""

import re
from collections.abc import Sequence
from dataclasses import replace

from holdfast.formats.job.line import JobLine
from holdfast.model.evidence import Evidence

_WHO = re.compile(r"=? *(?:RANK (?P<rank>\d{1,6}) )?PID (?P<pid>\d{1,9}) RUNNING AT (?P<host>[\w.-]{1,253})")
_ROWS = 3


def completed(evidence: Evidence, above: Sequence[JobLine]) -> Evidence:
    """The evidence with rank and host from the rows above."""
    found = [match for line in above[-_ROWS:] if (match := _WHO.match(line.text))]
    if not found:
        return evidence
    rank = int(found[-1]["rank"]) if found[-1]["rank"] else evidence.rank
    return replace(evidence, host=found[-1]["host"], rank=rank)
