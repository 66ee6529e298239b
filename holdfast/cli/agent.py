"""`holdfast agent`: the daemon on every GPU node."""

import os
import sys

from holdfast.cli.shared.options import Config, Verbose
from holdfast.node.agent import launch


def agent(config: Config = "", verbose: Verbose = False) -> None:
    """Watch this node until stopped: run its checks, record its history, serve /metrics, write the verdict file."""
    os.execve(sys.executable, launch.command(config, verbose), {**os.environ, **launch.ENVIRONMENT})
