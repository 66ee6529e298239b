"""`holdfast order`: what the controller asks agents to do."""

import json
from typing import Annotated

import typer

from holdfast.cli.shared.fleet_clock import fleet_clock
from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.cli.shared.table import clock, console, plain, table
from holdfast.client.client import connect

app = typer.Typer(no_args_is_help=True)


@app.callback()
def orders() -> None:
    """Tests and resets that a node's agent carries out."""


@app.command("list")
def list_orders(
    node: Annotated[str, typer.Option(help="Only for this node.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most the oldest N.")] = 100,
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List orders that wait for an agent's answer, oldest first. Orders travel with acknowledgements of reports."""
    client = connect(url, token)
    found = client.get("/v1/orders", node=node, limit=limit)
    if as_json:
        typer.echo(json.dumps(found))
        return
    if not found["orders"]:
        console().print("no orders wait for an answer")
        return
    fleet = fleet_clock(client)
    rows = table("decided", "node", "order", "handed over", "again", "why")
    for one in found["orders"]:
        times = (clock(fleet.at(one[name])) if one[name] else "-" for name in ("handed_over_at", "again_at"))
        rows.add_row(clock(fleet.at(one["at"])), plain(one["node"]), plain(one["verb"]), *times, plain(one["reason"]))
    console().print(rows)
