"""`holdfast top`: the fleet and a node in the terminal, live. For people on a jump host."""

import sys

from holdfast.client.client import Token, Url, connect
from holdfast.config.extra import needs_extra
from holdfast.model.refusal import Refusal


def top(url: Url = "", token: Token = "") -> None:
    """The fleet in the terminal, live: stages, breakers, open incidents, every node, its verdicts and its story."""
    client = connect(url, token)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refusal("top needs a terminal; `holdfast node list` prints the same once", 1)
    with needs_extra("top"):
        from holdfast.cli.top.app import Top
        from holdfast.cli.top.watch import Watch
    watch = Watch(client)
    watch.read_whole()  # an address or a token that is wrong is said before the screen is taken
    Top(watch).run()
