"""`holdfast doctor`: what is missing on this machine, how to fix it, and which checks cannot answer."""

import sys

import msgspec
import typer

from holdfast.cli.shared.options import AsJson, Config
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.doctor import diagnose

UNKNOWN = 3  # the exit code of `holdfast check` for unknown


def doctor(config: Config = "", as_json: AsJson = False) -> None:
    """Show what is missing on this machine, how to fix it, and which checks cannot answer because of it. Exit code: 0
    if every check can answer, 3 if some cannot."""
    found = diagnose(load_settings(config))
    if as_json:
        document = {
            "node": found.node,
            "missing": found.missing,
            "questions": {"asked": found.asked, "unanswered": found.unanswered},
        }
        sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
        raise typer.Exit(UNKNOWN if found.unanswered else 0)
    for entry in found.missing:
        typer.secho(f"{entry.what}: {entry.reason}", bold=True)
        typer.echo(f"  do: {entry.fix}")
        if entry.questions:
            typer.echo(f"  unanswered: {', '.join(entry.questions)}")
        if entry.costs:
            typer.echo(f"  also: {entry.costs}")
    typer.echo(f"{found.node}: {found.asked - len(found.unanswered)} of {found.asked} checks can answer")
    raise typer.Exit(UNKNOWN if found.unanswered else 0)
