"""A runbook for this very incident: the steps of its kind, with the queries filled in."""

from typing import Any

from holdfast.catalog import seam_kinds
from holdfast.formats import hostlist

NOTHING = "(none)"


def filled(found: dict[str, Any]) -> list[str]:
    kind = seam_kinds.kind(found["cause"])
    values = _values(found)
    lines = [f"confirm: {_fill(one, values)}" for one in kind.confirm]
    lines += [f"{number}. {_fill(one, values)}" for number, one in enumerate(kind.act, start=1)]
    lines += [f"do not: {_fill(kind.leave, values)}"] if kind.leave else []
    lines += [f"over when: {_fill(kind.over, values)}"] if kind.over else []
    return lines


def _fill(text: str, values: dict[str, str]) -> str:
    """Only our own names are filled; the braces of a query stay."""
    for name, value in values.items():
        text = text.replace(f"<{name}>", value)
    return text


def _values(found: dict[str, Any]) -> dict[str, str]:
    account = found.get("account") or {}
    cause = str(found["subject"])
    victims = account.get("victims", [])
    jobs = sorted({one["subject"].partition("/")[2] for one in account.get("losses", [])})
    nodes = [str(one) for one in found["evidence"]]
    return {
        "cause": cause,
        "name": cause.partition("/")[2],
        "nodes": hostlist.compress(nodes) or NOTHING,
        "nodes_regex": "|".join(nodes[:64]) or NOTHING,
        "jobs": ", ".join(jobs) or NOTHING,
        "jobs_regex": "|".join(jobs) or NOTHING,
        "victims": str(len(victims)),
        "since": f"{account.get('since', found['opened']):.0f}",
    }
