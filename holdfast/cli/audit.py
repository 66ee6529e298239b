"""`holdfast audit`: who requested what from the controller, and the outcome."""

import json
import time
from typing import Annotated

import typer

from holdfast.cli.shared.fleet_clock import fleet_clock
from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.cli.shared.table import clock, console, plain, table
from holdfast.client.client import connect
from holdfast.economics.planning.inputs import PlanInputs


def audit(
    since: Annotated[str, typer.Option(help="How far back: 90m, 12h, 7d.")] = "7d",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most the newest N.")] = 100,
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List who changed what, enrolments, tokens and refused requests, oldest first. Needs an admin's token."""
    client = connect(url, token)
    found = client.get("/v1/audit", since=time.time() - PlanInputs().duration("since", since), limit=limit)
    if as_json:
        typer.echo(json.dumps(found))
        return
    times = fleet_clock(client)
    rows = table("when", "who", "role", "request", "of", "outcome", "why")
    for entry in reversed(found["entries"]):
        cells = (entry["who"], entry["role"], entry["verb"], entry["target"], entry["outcome"], entry["reason"])
        rows.add_row(clock(times.at(entry["at"])), *(plain(cell) for cell in cells))
    console().print(rows)
