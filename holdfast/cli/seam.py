"""`holdfast seam`: the cross-domain rules, whether their instruments can be read, and announced work."""

import json
import sys
import time
from datetime import datetime
from typing import Annotated
from urllib.parse import quote

import typer

from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.client.client import connect
from holdfast.config.text_file import read_text
from holdfast.formats import calendar
from holdfast.model.refusal import Refusal

app = typer.Typer(no_args_is_help=True)

On = Annotated[list[str] | None, typer.Option("--on", help="Subject of the work, such as cdu/c2; may be repeated.")]
From = Annotated[str, typer.Option("--from", help="When it begins: now, or a time such as 2026-12-01T08:00+01:00.")]
To = Annotated[str, typer.Option("--to", help="When it ends.")]
What = Annotated[str, typer.Option("--what", help="The domain: cooling, power, fabric, storage, software ...")]
Ical = Annotated[str, typer.Option("--ical", help="A calendar file; its events name subjects. - is standard input.")]
Slurm = Annotated[
    str, typer.Option("--slurm", metavar="FILE", help="Output of `scontrol show reservation -o`; - is standard input.")
]
Zone = Annotated[str, typer.Option("--zone", help="The time zone of Slurm's times.")]


@app.command("list")
def list_seams(url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """List the root-cause rules and their questions, and the facility sources and what they cannot read."""
    found = connect(url, token).get("/v1/seams")
    if as_json:
        typer.echo(json.dumps(found))
        return
    from holdfast.cli.shared.table import ago, console, plain, table

    if not found["watched"]:
        typer.echo("this controller evaluates no seams: its configuration has no [seams]")
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
    evaluated = ago(now, found["evaluated_at"])
    typer.echo(f"{found['signals']} kinds of signals of {found['subjects']} subjects; evaluated {evaluated}")
    if found["trouble"]:
        typer.echo(f"the last evaluation failed: {found['trouble']}")


@app.command()
def announce(
    name: Annotated[str, typer.Argument(help="A name for the work, unless a file names it.")] = "",
    on: On = None,
    begins: From = "now",
    ends: To = "",
    what: What = "",
    ical: Ical = "",
    slurm: Slurm = "",
    zone: Zone = "UTC",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Announce work on the facility, a power cap or a rollout. Findings that it explains open no incident."""
    if sum(map(bool, (name, ical, slurm))) != 1:
        raise Refusal("announce: expected one of a NAME, --ical or --slurm")
    if ical:
        found = calendar.ical(_text(ical))
    elif slurm:
        found = calendar.slurm_reservations(_text(slurm), zone)
    else:
        if not on or not ends:
            raise Refusal("announce: expected --on and --to with a name")
        found = [calendar.Announced(name, tuple(on), _time("--from", begins), _time("--to", ends), what)]
    client = connect(url, token)
    listed: dict[str, object] = client.get("/v1/planned")
    source = "ical" if ical else "slurm" if slurm else "cli"
    for one in found:
        listed = client.post("/v1/planned", {**one._asdict(), "name": one.name.replace("/", "-"), "source": source})
    if as_json:
        typer.echo(json.dumps(listed))
    else:
        typer.echo(
            f"{len(found)} announced" if found else "nothing to announce: no event names a subject and its times"
        )


@app.command()
def planned(url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """List announced work."""
    found = connect(url, token).get("/v1/planned")
    if as_json:
        typer.echo(json.dumps(found))
        return
    from holdfast.cli.shared.table import console, plain, table

    rows = table("work", "on", "from", "to", "domain", "announced by")
    for one in found["planned"]:
        when = [datetime.fromtimestamp(one[key]).astimezone().isoformat(" ", "minutes") for key in ("start", "end")]
        rows.add_row(plain(one["name"]), plain(", ".join(one["subjects"])), *when, one["what"], one["source"])
    console().print(rows)


@app.command()
def withdraw(
    name: Annotated[str, typer.Argument(help="The name of announced work.")],
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Withdraw announced work: its findings open incidents again."""
    left = connect(url, token).post(f"/v1/planned/{quote(name, safe='')}/withdraw", {})
    if as_json:
        typer.echo(json.dumps(left))
        return
    typer.echo(f"{name} is withdrawn")


def _text(file: str) -> str:
    return sys.stdin.read() if file == "-" else read_text(file)


def _time(option: str, text: str) -> float:
    if text == "now":
        return time.time()
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        raise Refusal(f"{option}: expected now or a time such as 2026-12-01T08:00+01:00, found {text!r}") from None
