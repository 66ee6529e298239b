"""Asking the controller for a month, and telling it: on the terminal, as a page, a table or a document."""

import calendar
import csv
import json
import re
import time
from pathlib import Path

import typer

from holdfast.client import history
from holdfast.client.client import Client, connect
from holdfast.economics.costs.month import Told, slices
from holdfast.economics.planning.words import money, percent
from holdfast.economics.reports import month_page as report_page
from holdfast.economics.reports import price_sheet as report_sheet
from holdfast.economics.reports.month import GROUPS, Month, summed
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import EventKind, Stage
from holdfast.model.refusal import Refusal


def run(month: str, prices: str, by: str, out: str, url: str, token: str, as_json: bool) -> None:
    if by not in GROUPS:
        raise Refusal(f"--by: expected one of {', '.join(GROUPS)}, found {by!r}")
    if out and Path(out).suffix not in (".html", ".csv"):
        raise Refusal(f"--out: expected a file that ends in .html or .csv, found {out!r}")
    begin, end = limits(month, time.time())
    sheet = report_sheet.load(prices)
    client = connect(url, token)
    nodes = [row["name"] for row in client.get("/v1/nodes")["nodes"]]
    found = slices(nodes, _changes(client), _jobs(client, begin, end), begin, end, sheet.checkpoint_interval)
    made = summed(month, found, sheet, begin, end, by)
    if not made.whole.watched:
        raise Refusal(f"the controller at {client.url} watched none of the priced nodes in {month}", 1)
    _write(made, out)
    if as_json:
        typer.echo(json.dumps(made.document()))
    else:
        _show(made, out)


def limits(month: str, now: float) -> tuple[float, float]:
    """From its first to its last second, in UTC; a month that is not over ends now."""
    told = re.fullmatch(r"(\d{4})-(\d{2})", month, re.ASCII)
    if told is None or not 1 <= int(told[2]) <= 12 or not 1970 <= int(told[1]) <= 9000:
        raise Refusal(f"--month: expected a month such as 2026-10, found {month!r}")
    year, number = int(told[1]), int(told[2])
    begin = calendar.timegm((year, number, 1, 0, 0, 0))
    end = calendar.timegm((year + number // 12, number % 12 + 1, 1, 0, 0, 0))
    if begin >= now:
        raise Refusal(f"--month: {month} has not begun yet")
    return float(begin), min(float(end), now)


def _changes(client: Client) -> list[Told]:
    """All of them: what a node was when the month began is told by its last change before."""
    return [
        Told(
            node=row["node"],
            at=row["at"],
            before=Stage(row["before"]),
            after=Stage(row["after"]),
            happening=EventKind(row["happening"]),
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


def _write(month: Month, out: str) -> None:
    if not out:
        return
    try:
        if out.endswith(".html"):
            Path(out).write_text(report_page.written(month), encoding="utf-8")
            return
        with Path(out).open("w", encoding="utf-8", newline="") as file:
            rows = month.document()["rows"]
            table = csv.DictWriter(file, fieldnames=[month.by, *month.whole.document()])
            table.writeheader()
            table.writerows({**row, month.by: _harmless(row[month.by])} for row in rows)
    except OSError as error:
        raise Refusal(f"--out: cannot write {out}: {error.strerror}") from None


def _harmless(text: str) -> str:
    """A name that others chose is no formula of a spreadsheet."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text


def _show(month: Month, out: str) -> None:
    from holdfast.cli.shared.table import console, plain, table

    screen = console()
    screen.print(month.headline, style="bold", markup=False, soft_wrap=True)
    screen.print()
    rows = table(month.by, "GPU-hours", "productive", "paid", "lost")
    for name, one in month.ranked():
        rows.add_row(plain(name), f"{one.hours:,.1f}", percent(one.productive), money(one.paid), money(one.lost))
    screen.print(rows)
    if month.claims:
        total = sum(claim.credit for _, claim in month.claims)
        screen.print(
            f"\n{len(month.claims)} nodes earn a credit: {money(total)} in all, if it is claimed.", markup=False
        )
    for note in month.notes:
        screen.print(f"Note: {note}", markup=False, soft_wrap=True)
    if out:
        screen.print(f"{out} written", markup=False, soft_wrap=True)
