"""`holdfast controller`: the daemon of a fleet."""

import os
import sys

import typer

from holdfast.cli.shared.options import Verbose
from holdfast.fleet import controller as process


def controller(
    config: str = typer.Option(..., help="Configuration file: where to listen, the store, who carries out which verb."),
    verbose: Verbose = False,
) -> None:
    """Watch a fleet until stopped: receive its agents' reports, decide, record the history of every node, act."""
    command = [sys.executable, "-P", "-m", process.__name__, "--config", config]
    os.execve(sys.executable, [*command, "--verbose"] if verbose else command, dict(os.environ))
