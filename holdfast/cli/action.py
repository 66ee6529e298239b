"""`holdfast action`: the controller's actions on nodes and their outcomes."""

import json
from typing import Annotated

import typer

from holdfast.cli.shared.fleet_clock import fleet_clock
from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.cli.shared.table import clock, console, plain, styled, table
from holdfast.client.client import connect
from holdfast.model.lifecycle import Verb
from holdfast.model.records import Outcome

MOST = 10_000  # of the newest actions are searched for a verb or a state
app = typer.Typer(no_args_is_help=True)


@app.callback()
def actions() -> None:
    """Drains, resets, tests and tickets."""


@app.command("list")
def list_actions(
    node: Annotated[str, typer.Option(help="Only for this node.")] = "",
    verb: Annotated[str, typer.Option(help="Only these, such as drain or reset_gpu.")] = "",
    state: Annotated[str, typer.Option(help="Only in this state, such as dry_run, proposed, failed or done.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Show at most the newest N.")] = 100,
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List actions, oldest first: planned, running and finished, with node and reason."""
    _expect("verb", verb, [one.value for one in Verb])
    _expect("state", state, [one.value for one in Outcome])
    client = connect(url, token)
    found = client.get("/v1/actions", node=node, limit=MOST if verb or state else limit)["actions"]
    shown = [one for one in found if verb in ("", one["verb"]) and state in ("", one["state"])][:limit]
    if as_json:
        typer.echo(json.dumps({"actions": shown}))
        return
    if not shown:
        console().print("no actions")
        return
    times = fleet_clock(client)
    rows = table("when", "node", "action", "state", "tries", "why", "outcome")
    for one in reversed(shown):
        cells = (plain(one["node"]), plain(one["verb"]), styled(one["state"]), str(one["attempts"]))
        rows.add_row(clock(times.at(one["at"])), *cells, plain(one["cause"] or one["reason"]), plain(one["detail"]))
    console().print(rows)


def _expect(name: str, given: str, known: list[str]) -> None:
    """Refuse an unknown word: an empty list would look as if nothing had happened."""
    if given and given not in known:
        raise typer.BadParameter(f"expected one of {', '.join(known)}, not {given[:40]!r}", param_hint=f"--{name}")
