"""`holdfast report`: what a month cost and what it delivered."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.client.client import connect

if TYPE_CHECKING:
    from holdfast.economics.reports.month import Month as MonthReport

Month = Annotated[str, typer.Option("--month", help="Such as 2026-10; the current month ends now.")]
By = Annotated[str, typer.Option("--by", help="team, job, cause or supplier.")]
Prices = Annotated[str, typer.Option("--prices", help="The price sheet, in TOML: docs/report.md.")]
Out = Annotated[str, typer.Option("--out", help="Write a page or a table: FILE.html or FILE.csv.")]


def report(
    month: Month,
    prices: Prices,
    by: By = "cause",
    out: Out = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Report what you paid for in a month: productive and lost time and why, price per productive hour, claims."""
    from holdfast.economics.reports import build_month

    build_month.refuse_options(by, out)
    found = build_month.build(connect(url, token), month, prices, by)
    if out:
        build_month.write(found, out)
    if as_json:
        typer.echo(json.dumps(found.document()))
    else:
        _show(found, out)


def _show(month: "MonthReport", out: str) -> None:
    from holdfast.cli.shared.table import console, plain, table
    from holdfast.economics.planning.formatting import money, percent

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
