"""`holdfast agent`: the daemon on every GPU node."""

import logging
import sys

import typer

from holdfast.agent.assemble import load_settings
from holdfast.agent.daemon import Agent, run_until_signalled
from holdfast.agent.state import StateError


def agent(
    config: str = typer.Option("", help="Configuration file; /etc/holdfast/holdfast.toml if it is there."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Log every verdict change and more."),
) -> int:
    """Watch this node for ever: judge it, keep its story, serve /metrics, write the file the gate reads."""
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    try:
        daemon = Agent(load_settings(config))
    except StateError as error:
        sys.stderr.write(f"holdfast: {error}\n")
        return 1
    run_until_signalled(daemon)
    return 0
