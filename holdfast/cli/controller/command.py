"""`holdfast controller`: the daemon of a fleet."""

import os
import sys

import typer


def controller(
    config: str = typer.Option(..., help="Configuration file: where to listen, the store, who carries out which verb."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Log more."),
) -> None:
    """Watch a fleet for ever: take its agents' reports, decide, keep every story, act."""
    command = [sys.executable, "-P", "-m", "holdfast.fleet.controller", "--config", config]
    os.execve(sys.executable, [*command, "--verbose"] if verbose else command, dict(os.environ))
