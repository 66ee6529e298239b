"""`holdfast up`: controller, console and this machine's agent in one command; with --demo, a simulated fleet."""

import logging
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.config.extra import needs_extra
from holdfast.runtime import logs

if TYPE_CHECKING:
    from holdfast.fleet.standalone.up import StandaloneSimulation


def up(
    demo: Annotated[bool, typer.Option("--demo", help="Show a simulated fleet instead of this machine.")] = False,
    listen: Annotated[str, typer.Option(help="HOST:PORT; port 0 takes a free one.")] = "127.0.0.1:9477",
    nodes: Annotated[int, typer.Option(min=1, max=20_000, help="Demo: number of simulated nodes of 8 GPUs.")] = 64,
    speed: Annotated[float, typer.Option(min=0.1, max=10_000, help="Demo: how much faster time runs.")] = 20.0,
    seconds: Annotated[float, typer.Option(min=0, help="Stop after this time, with a summary; 0: never.")] = 0.0,
    agent: Annotated[bool, typer.Option(help="Also run this machine's agent.")] = True,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each step.")] = False,
) -> None:
    """Start controller, console and agent on this machine and print the address. Ctrl-C stops them."""
    with needs_extra("controller"):
        from holdfast.cli.up.messages import Messages, summary_text
        from holdfast.fleet.standalone.up import UpOptions, run
    logs.to_stderr(logging.INFO if verbose else logging.WARNING)
    simulation = _simulation(nodes, speed) if demo else None
    options = UpOptions(listen=listen, seconds=seconds, agent=agent, verbose=verbose, simulation=simulation)
    summary = run(options, Messages(demo))
    if summary is not None:
        typer.echo("\n" + summary_text(summary))


def _simulation(nodes: int, speed: float) -> "StandaloneSimulation":
    from holdfast.fleet.standalone.up import StandaloneSimulation
    from holdfast.lab import demo as demo_files
    from holdfast.lab.twin import fleet

    return StandaloneSimulation(
        nodes=nodes,
        speed=speed,
        module=fleet.__name__,
        scenario=demo_files.SCENARIO,
        write_files=partial(demo_files.write, nodes=nodes),
    )
