"""`holdfast incident`: open and closed incidents with root cause, cost and next step."""

import json
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from holdfast.cli.shared.fleet_clock import fleet_clock
from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.client.client import connect
from holdfast.model.refusal import Refusal

app = typer.Typer(no_args_is_help=True)
Id = Annotated[str, typer.Argument(help="Its id, or its subject, such as cdu/c2 (the newest incident on it).")]


@app.command("list")
def list_incidents(
    all_: Annotated[bool, typer.Option("--all", help="Also closed incidents.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most the newest N.")] = 50,
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List open incidents with their costs, newest first."""
    only = "" if all_ else "open"
    client = connect(url, token)
    found = client.get("/v1/incidents", only=only, limit=limit)
    if as_json:
        typer.echo(json.dumps(found))
        return
    from holdfast.cli.incident.text import as_table, none_open

    if found["incidents"]:
        as_table(found["incidents"])
    else:
        past = [] if all_ else client.get("/v1/incidents", only="", limit=limit)["incidents"]
        typer.echo(none_open(past, fleet_clock(client)))


@app.command()
def show(
    wanted: Id,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a post-mortem, with charts in text.")] = False,
    into: Annotated[
        str, typer.Option("--into", help="Write the post-mortem into this new folder, with its charts as SVG.")
    ] = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Show an incident: cause, path, rejected causes, cost in five layers, owners, runbook with its queries."""
    if as_json + markdown + bool(into) > 1:
        raise Refusal("--json, --markdown and --into: expected one of them")
    client = connect(url, token)
    found: dict[str, Any] = client.get(f"/v1/incidents/{quote(wanted.strip('/'), safe='/@')}")
    if as_json:
        typer.echo(json.dumps(found))
        return
    from holdfast.cli.incident.text import as_text, by_the_fleets_clock, write_post_mortem
    from holdfast.fleet.api.post_mortem.text import as_markdown

    found = by_the_fleets_clock(found, fleet_clock(client))
    if into:
        for file in write_post_mortem(found, Path(into)):
            typer.echo(str(file))
        return
    typer.echo(as_markdown(found) if markdown else as_text(found))
