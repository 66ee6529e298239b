"""`holdfast simulate`: a fleet's months in seconds."""

from typing import Annotated

import typer

from holdfast.client.client import AsJson

File = Annotated[str, typer.Argument(help="A scenario in TOML, or the name of one that comes along, such as llama3.")]
Replicas = Annotated[int, typer.Option("--replicas", min=1, max=1_000_000, help="How many times, at most.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same answer.")]
Precision = Annotated[
    str, typer.Option("--precision", help="Stop when the productive share is known to this, such as 0.1%.")
]
Compare = Annotated[str, typer.Option("--compare", help="Another scenario, with the same luck: is it better?")]
Change = Annotated[
    list[str] | None, typer.Option("--set", help="Another value than the file's: policy.spares=20. Again for more.")
]
Sweep = Annotated[str, typer.Option("--sweep", help="Values to go through: spares=0:64:8,mttr=1h:3d.")]
On = Annotated[str, typer.Option("--on", help="processes (of this machine) or ray (many machines).")]
Calibrate = Annotated[
    str, typer.Option("--calibrate", help="Take the rate of the first hazard from this event log (CSV).")
]
Aggregated = Annotated[
    bool, typer.Option("--aggregated", help="Another, coarser model: one job, one rate, no nodes. Much faster.")
]
Plot = Annotated[str, typer.Option("--plot", help="Draw a picture: FILE.svg, or - for the terminal.")]


def simulate(
    scenario: File,
    replicas: Replicas = 20,
    seed: Seed = 1,
    precision: Precision = "",
    compare: Compare = "",
    change: Change = None,
    sweep: Sweep = "",
    on: On = "processes",
    calibrate: Calibrate = "",
    aggregated: Aggregated = False,
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """A fleet's months in seconds: failures, repairs, spares, checkpoints and jobs, device by device."""
    from holdfast.cli.simulate import here as simulate_here

    simulate_here.run(
        simulate_here.Wish(
            scenario=scenario,
            replicas=replicas,
            seed=seed,
            precision=precision,
            compare=compare,
            changes=tuple(change or ()),
            sweep=sweep,
            on=on,
            calibrate=calibrate,
            aggregated=aggregated,
            plot=plot,
            as_json=as_json,
        )
    )
