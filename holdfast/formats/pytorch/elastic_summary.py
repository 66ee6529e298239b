"""torchrun's summary table of a failed worker, read upwards from the line with its exit code."""

import re
from collections.abc import Sequence
from dataclasses import replace

from holdfast.formats.job.line import JobLine, last_stamp
from holdfast.formats.job.message import with_detail
from holdfast.model.evidence import Evidence

_FIELD = re.compile(r"\s*(time|host|rank)\s+: (\S+)(?:.*local_rank: (\d{1,6}))?")
_ROWS = 5
_ROOT_ROWS = 8


def completed(evidence: Evidence, above: Sequence[JobLine]) -> Evidence:
    """Adds rank, host and time from the rows above, and whether the table names this worker as the root cause."""
    fields = {match[1]: match for line in above[-_ROWS:] if (match := _FIELD.match(line.text))}
    if "host" in fields:
        evidence = replace(evidence, host=fields["host"][2])
    if "rank" in fields and fields["rank"][2].isdecimal():
        evidence = replace(evidence, rank=int(fields["rank"][2]))
    if "time" in fields and (at := last_stamp(fields["time"][2].encode())):
        evidence = replace(evidence, event=replace(evidence.event, at=at))
    root = any("Root Cause" in line.text for line in above[-_ROOT_ROWS:])
    return with_detail(evidence, {**evidence.event.detail, "first": "yes" if root else "no"})
