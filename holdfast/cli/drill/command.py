"""`holdfast drill`: staged incidents with a known cause, to measure findings and to train operators."""

import json
from typing import Annotated

import typer

from holdfast.cli.shared.options import AsJson
from holdfast.cli.shared.progress import progress_bar
from holdfast.config.extra import needs_extra
from holdfast.model.refusal import Refusal

app = typer.Typer(no_args_is_help=True)

Which = Annotated[
    list[str] | None, typer.Argument(help="Drills in TOML, or names of built-in ones; none means all of these.")
]
One = Annotated[
    str, typer.Argument(help="A drill in TOML, or the name of a built-in one; default: a random one, unnamed.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Another seed than the file's.")]
Every = Annotated[bool, typer.Option("--all", help="All built-in drills.")]
Seeds = Annotated[int, typer.Option("--seeds", min=1, max=100_000, help="How many drills to draw.")]
First = Annotated[int, typer.Option("--first", min=0, help="The first seed.")]
Kind = Annotated[str, typer.Option("--kind", help="Draw only this kind, such as cooling.fan, or calm.")]
Processes = Annotated[int, typer.Option("--processes", min=0, help="How many at once; 0 means one per core.")]
Calm = Annotated[float, typer.Option("--calm", min=0.0, max=1.0, help="The share of drills without a fault.")]
Wide = Annotated[bool, typer.Option("--wide", help="Plants of wide variety: half with faults, half healthy.")]
Unseen = Annotated[bool, typer.Option("--unseen", help="With --wide: the family of plants kept out of tuning.")]
Hard = Annotated[bool, typer.Option("--hard", help="Tiny and large fleets, weak and slow faults, up to three at once.")]


@app.command("list")
def list_drills(as_json: AsJson = False) -> None:
    """List the built-in drills, what each is about and which other one has similar symptoms."""
    with needs_extra("plan"):
        from holdfast.cli.drill import show
        from holdfast.lab.drills.file import load, shipped
    drills = [load(name) for name in shipped()]
    if as_json:
        typer.echo(json.dumps([drill.listed() for drill in drills]))
    else:
        show.listing(drills)


@app.command()
def run(
    drill: Which = None, every: Every = False, seed: Seed = None, processes: Processes = 0, as_json: AsJson = False
) -> None:
    """Play drills in fast time through the real seam rules, and score them."""
    with needs_extra("plan"):
        from holdfast.cli.drill import show
        from holdfast.lab.drills import batch
        from holdfast.lab.drills.file import load_any, shipped
    names = drill or []
    if names and every:
        raise Refusal("--all: expected either names of drills or --all, found both")
    drills = [load_any(name, seed) for name in names or shipped()]
    with progress_bar("playing", len(drills)) as advance:
        outcomes = batch.play_all(drills, processes, advance)
    if as_json:
        typer.echo(json.dumps(outcomes[0] if len(names) == 1 else {"drills": outcomes, **batch.summary(outcomes)}))
    elif len(names) == 1:
        show.one(outcomes[0])
    else:
        show.scores(outcomes)


@app.command()
def fuzz(
    seeds: Seeds = 200,
    first: First = 1,
    kind: Kind = "",
    calm: Calm = 0.15,
    hard: Hard = False,
    wide: Wide = False,
    unseen: Unseen = False,
    processes: Processes = 0,
    as_json: AsJson = False,
) -> None:
    """Draw random drills and print how often each kind was mistaken for another."""
    with needs_extra("plan"):
        from holdfast.cli.drill import show
        from holdfast.lab.drills import batch
    if (unseen and not wide) or (wide and (hard or kind)):
        raise Refusal("--wide: expected neither --hard nor --kind with it; --unseen needs --wide")
    if wide:
        with progress_bar("drawing and playing", seeds) as advance:
            played = batch.fuzz_wide(seeds, first, processes, "unseen" if unseen else "tuned", advance)
        summary = batch.wide_summary(played)
        if as_json:
            typer.echo(json.dumps(summary))
            return
        show.misses(batch.misses(played))
        show.reliability(summary["reliability"])
        typer.echo("\n" + show.wide_text(summary))
        return
    tasks = batch.fuzz_tasks(seeds, first, kind, calm, hard)
    with progress_bar("drawing and playing", len(tasks)) as advance:
        outcomes = batch.fuzz(tasks, processes, advance)
    found = batch.fuzz_summary(outcomes)
    if as_json:
        typer.echo(json.dumps(found))
        return
    show.confusion(found["confusion"])
    show.misses(batch.misses(outcomes))
    show.reliability(found["reliability"])
    typer.echo("\n" + show.summary_text(found))


@app.command()
def play(drill: One = "", seed: Seed = None) -> None:
    """Play a tabletop exercise: each team's dashboard minute by minute, your guess, then cause and cost."""
    with needs_extra("plan"):
        from holdfast.cli.drill import play as tabletop
    tabletop.play(drill, seed)
