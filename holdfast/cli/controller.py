"""`holdfast controller`: the daemon of a fleet."""

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

from holdfast.cli.shared.options import Verbose
from holdfast.fleet import controller as process


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def controller(
    config: str = typer.Option(..., help="Configuration file: address, store, back ends."),
    verbose: Verbose = False,
    log_format: Annotated[
        LogFormat, typer.Option(help="Log lines as text, or each as one JSON object.")
    ] = LogFormat.TEXT,
) -> None:
    """Watch a fleet until stopped: receive its agents' reports, decide, record the history of every node, act."""
    command = [sys.executable, "-P", "-m", process.__name__, "--config", config, "--log-format", log_format.value]
    os.execve(sys.executable, [*command, "--verbose"] if verbose else command, dict(os.environ))
