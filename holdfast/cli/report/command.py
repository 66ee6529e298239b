"""`holdfast report`: what a month was paid for, and what it brought."""

from typing import Annotated

import typer

from holdfast.cli.shared.options import AsJson, Token, Url

Month = Annotated[str, typer.Option("--month", help="Such as 2026-10; a month that is not over ends now.")]
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
    """What a month was paid for: productive, lost and why, the price of a productive hour, evidence for claims."""
    from holdfast.cli.report import here as report_here

    report_here.run(month, prices, by, out, url, token, as_json)
