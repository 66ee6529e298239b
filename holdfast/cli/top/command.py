"""`holdfast top`: a live view of the fleet and its nodes in the terminal."""

import sys

from holdfast.cli.shared.options import Token, Url
from holdfast.client.client import connect
from holdfast.client.watch import FleetWatch
from holdfast.config.extra import needs_extra
from holdfast.model.refusal import Refusal


def top(url: Url = "", token: Token = "") -> None:
    """Show the fleet in the terminal, live: stages, breakers, open incidents, every node with verdicts and history."""
    client = connect(url, token)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refusal("top needs a terminal; `holdfast node list` prints the same once", 1)
    with needs_extra("top"):
        from holdfast.cli.top.app import Top
    watch = FleetWatch(client)
    watch.read_all()  # a wrong address or token is reported before the screen is taken
    Top(watch).run()
