"""Starts the agent's process."""

import sys

from holdfast.node import agent

MODULE = agent.__name__
# One heap for all threads: glibc would otherwise give each source's thread its own and double the agent's memory.
ENVIRONMENT = {"MALLOC_ARENA_MAX": "1"}


def command(config: str, verbose: bool = False) -> list[str]:
    made = [sys.executable, "-P", "-m", MODULE, "--config", config]
    return [*made, "--verbose"] if verbose else made
