"""`holdfast drill`: staged incidents with a known truth, to measure the judgement and to train people."""

from typing import Annotated

import typer

from holdfast.cli.shared.options import AsJson
from holdfast.config.extra import needs_extra

app = typer.Typer(no_args_is_help=True)

Which = Annotated[
    list[str] | None, typer.Argument(help="Drills in TOML, or names of shipped ones; none means all shipped.")
]
One = Annotated[
    str, typer.Argument(help="A drill in TOML, or the name of a shipped one; without a name, one of them unseen.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Another seed than the file's.")]
Every = Annotated[bool, typer.Option("--all", help="All that come along.")]
Seeds = Annotated[int, typer.Option("--seeds", min=1, max=100_000, help="How many drills to draw.")]
First = Annotated[int, typer.Option("--first", min=0, help="The first seed.")]
Kind = Annotated[str, typer.Option("--kind", help="Draw only this kind, such as cooling.fan, or calm.")]
Processes = Annotated[int, typer.Option("--processes", min=0, help="How many at once; 0 means one per core.")]
Calm = Annotated[float, typer.Option("--calm", min=0.0, max=1.0, help="The share of drills with nothing wrong.")]
Hard = Annotated[bool, typer.Option("--hard", help="Tiny and large fleets, weak and slow faults, up to three at once.")]


@app.command("list")
def list_drills(as_json: AsJson = False) -> None:
    """The drills that come along, what each is about and which one looks like it."""
    with needs_extra("plan"):
        from holdfast.cli.drill import here as drill_here
    drill_here.list_all(as_json)


@app.command()
def run(
    drill: Which = None, every: Every = False, seed: Seed = None, processes: Processes = 0, as_json: AsJson = False
) -> None:
    """Play drills in fast time through the real path to findings, and score them."""
    with needs_extra("plan"):
        from holdfast.cli.drill import here as drill_here
    drill_here.run(drill or [], every, seed, processes, as_json)


@app.command()
def fuzz(
    seeds: Seeds = 200,
    first: First = 1,
    kind: Kind = "",
    calm: Calm = 0.15,
    hard: Hard = False,
    processes: Processes = 0,
    as_json: AsJson = False,
) -> None:
    """Draw drills at random, and print which kind was taken for which."""
    with needs_extra("plan"):
        from holdfast.cli.drill import fuzz as drill_fuzz
    drill_fuzz.run(seeds, first, kind, calm, hard, processes, as_json)


@app.command()
def play(drill: One = "", seed: Seed = None) -> None:
    """The tabletop: see what each team's dashboard shows, minute by minute, guess, then the truth and the bill."""
    with needs_extra("plan"):
        from holdfast.cli.drill import play as drill_play
    drill_play.play(drill, seed)
