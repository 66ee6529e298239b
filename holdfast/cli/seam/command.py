"""`holdfast seam`: which questions are asked across domains, and whether their instruments can be read."""

import json
import time

import typer

from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.client.client import connect

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _seam() -> None:
    """Its one command keeps its name."""


@app.command("list")
def list_seams(url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Every seam with what it asks, and every source of another domain with what cannot be read of it."""
    found = connect(url, token).get("/v1/seams")
    if as_json:
        typer.echo(json.dumps(found))
        return
    from holdfast.cli.shared.table import ago, console, plain, table

    if not found["watched"]:
        typer.echo("this controller watches no seams: [seams] is not in its configuration")
        return
    rows = table("seam", "kinds", "domains", "why")
    for one in found["seams"]:
        cells = (one["name"], ", ".join(one["kinds"]), ", ".join(one["domains"]), one["asks"])
        rows.add_row(*(plain(cell) for cell in cells))
    console().print(rows)
    rows = table("source", "read", "values", "what was seen")
    now = time.time()
    for one in found["sources"]:
        trouble = one["blind"] or "; ".join(one["absent"])
        rows.add_row(plain(one["name"]), ago(now, one["read_at"]), str(one["values"]), plain(trouble))
    console().print(rows)
    looked = ago(now, found["looked_at"])
    typer.echo(f"{found['signals']} kinds of signals of {found['subjects']} subjects; looked at {looked}")
    if found["trouble"]:
        typer.echo(f"the last look came to nothing: {found['trouble']}")
