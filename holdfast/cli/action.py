"""`holdfast action`: the controller's actions on nodes and their outcomes."""

import json
from typing import Annotated

import typer

from holdfast.cli.shared.fleet_clock import fleet_clock
from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.cli.shared.table import clock, console, plain, styled, table
from holdfast.client.client import connect

app = typer.Typer(no_args_is_help=True)


@app.callback()
def actions() -> None:
    """Drains, resets, tests and tickets."""


@app.command("list")
def list_actions(
    node: Annotated[str, typer.Option(help="Only for this node.")] = "",
    verb: Annotated[str, typer.Option(help="Only these, such as drain or reset_gpu.")] = "",
    state: Annotated[str, typer.Option(help="Only in this state, such as proposed, failed or done.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most the newest N.")] = 100,
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List actions, oldest first: planned, running and finished, with node and reason."""
    client = connect(url, token)
    found = client.get("/v1/actions", node=node, limit=limit)["actions"]
    shown = [one for one in found if verb in ("", one["verb"]) and state in ("", one["state"])]
    if as_json:
        typer.echo(json.dumps({"actions": shown}))
        return
    times = fleet_clock(client)
    rows = table("when", "node", "action", "state", "tries", "why", "what came of it")
    for one in reversed(shown):
        cells = (plain(one["node"]), plain(one["verb"]), styled(one["state"]), str(one["attempts"]))
        rows.add_row(clock(times.at(one["at"])), *cells, plain(one["cause"] or one["reason"]), plain(one["detail"]))
    console().print(rows)
