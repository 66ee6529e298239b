"""When two events say the same of the same device, and what one event says for both."""

import re
from dataclasses import replace

from holdfast.model.signal import Event

MAX_PROCESSES = 16

# What varies between two reports of one thing: the process, long numbers, addresses. Short numbers (a link, a GPC, a
# port) tell two things apart and stay.
_VARYING = re.compile(r"pid='?[\w<>]+'?,?|name=[^,]*,?|0x[0-9a-fA-F_]+|\b[0-9a-fA-F]{5,}\b|\[\d+\]|\d{4,}")

Key = tuple[str, str, int | str | None, str, str, str]


def key_of(event: Event) -> Key:
    return (event.kind, event.device, event.code, event.severity, event.action, _VARYING.sub("#", event.text))


def processes(event: Event) -> list[str]:
    """The processes an event, folded or not, was told of."""
    told = str(event.detail.get("pids") or event.detail.get("pid") or "")
    return told.split(",") if told else []


def merged(earlier: Event, later: Event) -> Event:
    """The later of two, with the count and the processes of both."""
    pids = list(dict.fromkeys([*processes(earlier), *processes(later)]))[-MAX_PROCESSES:]
    detail = {**later.detail, "pids": ",".join(pids)} if len(pids) > 1 else later.detail
    return replace(later, count=earlier.count + later.count, at=max(earlier.at, later.at), detail=detail)
