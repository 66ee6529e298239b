"""Builds the report of a month from the controller's history, and writes it as a page or a table."""

import calendar
import csv
import re
import time
from pathlib import Path
from typing import Any

from holdfast.client import history
from holdfast.client.client import Client
from holdfast.economics.costs.month import StageChange, slices
from holdfast.economics.reports import month_page, price_sheet
from holdfast.economics.reports.incident_costs import priced
from holdfast.economics.reports.month import GROUPS, Month, summed
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import EventKind, Stage
from holdfast.model.refusal import Refusal


def refuse_options(by: str, out: str) -> None:
    if by not in GROUPS:
        raise Refusal(f"--by: expected one of {', '.join(GROUPS)}, found {by!r}")
    if out and Path(out).suffix not in (".html", ".csv"):
        raise Refusal(f"--out: expected a file that ends in .html or .csv, found {out!r}")


def build(client: Client, month: str, prices: str, by: str) -> Month:
    """Builds the report. `prices`: the file with the price sheet."""
    begin, end = limits(month, time.time())
    sheet = price_sheet.load(prices)
    nodes = [row["name"] for row in client.get("/v1/nodes")["nodes"]]
    found = slices(nodes, _changes(client), _jobs(client, begin, end), begin, end, sheet.checkpoint_interval)
    made = summed(month, found, sheet, begin, end, by)
    made.charge(priced(history.incidents(client), begin, end), limits(month, float("inf"))[1])
    if not made.whole.watched:
        raise Refusal(f"the controller at {client.url} watched none of the priced nodes in {month}", 1)
    return made


def limits(month: str, now: float) -> tuple[float, float]:
    """Begin and end of the month in UTC; the current month ends now."""
    match = re.fullmatch(r"(\d{4})-(\d{2})", month, re.ASCII)
    if match is None or not 1 <= int(match[2]) <= 12 or not 1970 <= int(match[1]) <= 9000:
        raise Refusal(f"--month: expected a month such as 2026-10, found {month!r}")
    year, number = int(match[1]), int(match[2])
    begin = calendar.timegm((year, number, 1, 0, 0, 0))
    end = calendar.timegm((year + number // 12, number % 12 + 1, 1, 0, 0, 0))
    if begin >= now:
        raise Refusal(f"--month: {month} has not begun yet")
    return float(begin), min(float(end), now)


def _changes(client: Client) -> list[StageChange]:
    """All changes of a node: the last one before the month gives its stage at the beginning."""
    return [
        StageChange(
            node=row["node"],
            at=row["at"],
            before=Stage(row["before"]),
            after=Stage(row["after"]),
            event=EventKind(row["event"]),
            cause=row["cause"],
            reason=row["reason"],
        )
        for row in history.transitions(client)
    ]


def _jobs(client: Client, begin: float, end: float) -> list[Job]:
    return [
        Job(
            id=row["id"],
            source=row["source"],
            shown_as=row["shown_as"],
            account=row["account"],
            nodes=tuple(row["nodes"]),
            start=row["start"],
            end=row["end"],
            state=JobState(row["state"]),
        )
        for row in history.jobs(client, begin, end)
        if not row["step"]
    ]


def write(month: Month, out: str) -> None:
    try:
        if out.endswith(".html"):
            Path(out).write_text(month_page.written(month), encoding="utf-8")
            return
        with Path(out).open("w", encoding="utf-8", newline="") as file:
            rows = month.document()["rows"]
            table = csv.DictWriter(file, fieldnames=[month.by, *month.whole.document()])
            table.writeheader()
            table.writerows(map(_cells, rows))
        if month.incidents:
            beside = Path(out).with_name(f"{Path(out).stem}-incidents.csv")
            with beside.open("w", encoding="utf-8", newline="") as file:
                rows = month.document()["incidents"]
                table = csv.DictWriter(file, fieldnames=list(rows[0]))
                table.writeheader()
                table.writerows(map(_cells, rows))
    except OSError as error:
        raise Refusal(f"--out: cannot write {out}: {error.strerror}") from None


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _cell(value) for name, value in row.items()}


def _cell(value: Any) -> Any:
    """A cell of the table, rounded to thousandths. A spreadsheet must not interpret a name as a formula."""
    if isinstance(value, str):
        return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else value
    return round(value, 3) if isinstance(value, float) else value
