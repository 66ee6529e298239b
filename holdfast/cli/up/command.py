"""`holdfast up`: controller, console and this machine's agent in one command; with --demo, a simulated fleet."""

from typing import Annotated

import typer

from holdfast.config.extra import needs_extra


def up(
    demo: Annotated[bool, typer.Option("--demo", help="A simulated fleet to watch, instead of this machine.")] = False,
    listen: Annotated[str, typer.Option(help="HOST:PORT; port 0 takes a free one.")] = "127.0.0.1:9477",
    nodes: Annotated[int, typer.Option(min=1, max=20_000, help="Of the demo: simulated nodes of 8 GPUs.")] = 64,
    speed: Annotated[float, typer.Option(min=0.1, max=10_000, help="Of the demo: how much faster time runs.")] = 20.0,
    seconds: Annotated[float, typer.Option(min=0, help="End by itself, with a summary; 0 waits for Ctrl-C.")] = 0.0,
    agent: Annotated[bool, typer.Option(help="Also run this machine's agent.")] = True,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done.")] = False,
) -> None:
    """Start everything on this machine and say where to look. Ctrl-C stops it."""
    with needs_extra("controller"):
        from holdfast.fleet.standalone.up import Wanted, run
    run(Wanted(demo=demo, listen=listen, nodes=nodes, speed=speed, seconds=seconds, agent=agent, verbose=verbose))
