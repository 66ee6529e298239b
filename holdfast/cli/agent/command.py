"""`holdfast agent`: the daemon on every GPU node."""

import os
import sys

import typer

# One heap for all threads: glibc would otherwise give each source's thread its own and double the agent's memory.
SMALL = {"MALLOC_ARENA_MAX": "1"}


def agent(
    config: str = typer.Option("", help="Configuration file; /etc/holdfast/holdfast.toml if it is there."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Log more than verdict changes."),
) -> None:
    """Watch this node for ever: judge it, keep its story, serve /metrics, write the file the gate reads."""
    command = [sys.executable, "-P", "-m", "holdfast.node.agent", "--config", config]
    os.execve(sys.executable, [*command, "--verbose"] if verbose else command, {**os.environ, **SMALL})
