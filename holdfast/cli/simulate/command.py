"""`holdfast simulate`: months of a fleet in seconds."""

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.shared.options import AsJson
from holdfast.cli.shared.progress import progress_bar

if TYPE_CHECKING:
    from holdfast.economics.planning.chart import PlanChart
    from holdfast.economics.studies.study import Study, StudyOptions

File = Annotated[str, typer.Argument(help="A scenario in TOML, or the name of a built-in one, such as llama3.")]
Replicas = Annotated[int, typer.Option("--replicas", min=1, max=1_000_000, help="Replicas, at most.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same answer.")]
Precision = Annotated[
    str, typer.Option("--precision", help="Stop at this precision of the productive share, such as 0.1%.")
]
Compare = Annotated[str, typer.Option("--compare", help="Another scenario with the same random events: is it better?")]
Change = Annotated[
    list[str] | None, typer.Option("--set", help="Override a value of the file: policy.spares=20. May be repeated.")
]
Sweep = Annotated[str, typer.Option("--sweep", help="Values to try: spares=0:64:8,mttr=1h:3d.")]
On = Annotated[str, typer.Option("--on", help="processes (of this machine) or ray (many machines).")]
Calibrate = Annotated[
    str, typer.Option("--calibrate", help="Take the rate of the first hazard from this event log (CSV).")
]
Aggregated = Annotated[
    bool, typer.Option("--aggregated", help="Use a coarser model: one job, one rate, no nodes. Much faster.")
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
    """Simulate months of a fleet in seconds, device by device: failures, repairs, spares, checkpoints and jobs."""
    from holdfast.economics.studies.study import Study, StudyOptions

    options = StudyOptions(
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
    )
    study = Study(options, lambda text: typer.echo(text, err=True))
    if aggregated:
        _aggregated(study, options, as_json)
    elif sweep:
        _sweep(study, plot, as_json)
    elif compare:
        _comparison(study, as_json)
    else:
        _replicas(study, plot, as_json)


def _aggregated(study: "Study", options: "StudyOptions", as_json: bool) -> None:
    from holdfast.cli.simulate.show import show_aggregated
    from holdfast.economics.studies.aggregated import document

    found = document(study.setting, options.replicas, options.seed)
    if as_json:
        typer.echo(json.dumps(found))
    else:
        show_aggregated(found)


def _sweep(study: "Study", plot: str, as_json: bool) -> None:
    from holdfast.cli.simulate.show import show_sweep
    from holdfast.economics.studies.sweep import chart, document

    swept = study.sweep(partial(progress_bar, "simulating"))
    _draw(lambda: chart(swept), plot, as_json)
    if as_json:
        typer.echo(json.dumps(document(swept)))
    else:
        show_sweep(swept)


def _comparison(study: "Study", as_json: bool) -> None:
    from holdfast.cli.simulate.show import show_comparison
    from holdfast.economics.studies.results import comparison

    first, second = study.comparison(partial(progress_bar, "simulating"))
    if as_json:
        typer.echo(json.dumps(comparison(first, second)))
    else:
        show_comparison(first, second)


def _replicas(study: "Study", plot: str, as_json: bool) -> None:
    from holdfast.cli.simulate.show import show
    from holdfast.economics.studies.results import chart, document

    results = study.replicas(partial(progress_bar, "simulating"))
    _draw(lambda: chart(results), plot, as_json)
    if as_json:
        typer.echo(json.dumps(document(results)))
    else:
        show(results)


def _draw(chart: "Callable[[], PlanChart]", plot: str, as_json: bool) -> None:
    if not plot:
        return
    from holdfast.cli.shared.terminal_chart import draw

    if picture := draw(chart, plot, as_json):
        typer.echo(picture + "\n")
