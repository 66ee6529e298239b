"""Doing what `holdfast simulate` was asked for."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from holdfast.cli.simulate import show
from holdfast.cli.simulate import sweep as simulate_sweep
from holdfast.config.text_file import read_text
from holdfast.economics.planning.inputs import Asked
from holdfast.economics.studies import calibrate as simulate_calibrate
from holdfast.economics.studies.replicas import Results, replicate
from holdfast.economics.studies.tasks import Changes, Setting, workers
from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    from holdfast.economics.planning.chart import Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for, as it was said."""

    scenario: str
    replicas: int = 20
    seed: int = 1
    precision: str = ""
    compare: str = ""
    changes: tuple[str, ...] = ()
    sweep: str = ""
    on: str = "processes"
    calibrate: str = ""
    aggregated: bool = False
    plot: str = ""
    as_json: bool = False


def run(wish: Wish) -> None:
    _refuse_two_questions(wish)
    changes: Changes = tuple(simulate_sweep.parse_change(text) for text in wish.changes)
    if wish.calibrate:
        changes = (*simulate_calibrate.changes(wish.calibrate), *changes)
    setting = setting_of(wish.scenario, changes)
    if wish.aggregated:
        from holdfast.cli.simulate import aggregated as simulate_aggregated

        simulate_aggregated.run(setting, wish.replicas, wish.seed, wish.as_json)
        return
    if wish.sweep:
        _sweep(wish, setting)
        return
    if wish.compare:
        first, second = _replicas(wish, [setting, setting_of(wish.compare, changes)])
        if wish.as_json:
            typer.echo(json.dumps(show.comparison(first, second)))
        else:
            show.show_comparison(first, second)
        return
    (results,) = _replicas(wish, [setting])
    _draw(wish, lambda: show.chart(results))
    if wish.as_json:
        typer.echo(json.dumps(show.document(results)))
    else:
        show.show(results)


def _refuse_two_questions(wish: Wish) -> None:
    asked = [name for name in ("compare", "sweep", "aggregated") if getattr(wish, name)]
    if len(asked) > 1:
        raise Refusal(f"--{asked[0]} and --{asked[1]} are two questions: expected one of them")
    if wish.plot and (wish.compare or wish.aggregated):
        raise Refusal(f"--plot: --{asked[0]} has no picture; expected it with --sweep, or with a scenario alone")
    if wish.aggregated and (wish.precision or wish.on != "processes"):
        raise Refusal("--aggregated: expected neither --precision nor --on, for it takes a moment as it is")


def _sweep(wish: Wish, setting: Setting) -> None:
    settings = [replace(setting, changes=(*setting.changes, *one)) for one in simulate_sweep.parse_sweep(wish.sweep)]
    for one in settings:
        one.told()  # refused before anything is started
    if wish.plot:
        simulate_sweep.refuse_words(settings[0].changes[len(setting.changes)])
    swept = _replicas(wish, settings)
    for one, found in zip(settings, swept, strict=True):
        found.setting = replace(one, changes=one.changes[len(setting.changes) :])
    _draw(wish, lambda: simulate_sweep.chart(swept))
    if wish.as_json:
        typer.echo(json.dumps(simulate_sweep.document(swept)))
    else:
        simulate_sweep.show(swept)


def _draw(wish: Wish, chart: "Callable[[], Chart]") -> None:
    if not wish.plot:
        return
    from holdfast.cli.plan import terminal as plan_terminal
    from holdfast.economics.reports import plot as plan_plot

    if wish.plot != "-":
        plan_plot.write(chart(), wish.plot)
    elif wish.as_json:
        raise Refusal("--plot -: expected a file with --json, for its document stands alone on stdout")
    else:
        plan_terminal.refuse_poor_terminal()
        typer.echo(plan_terminal.picture(chart()) + "\n")


def setting_of(name: str, changes: Changes) -> Setting:
    """A file, or a scenario that comes along. Refused here, before anything is started."""
    shipped = resources.files("holdfast.economics.simulation").joinpath("scenarios", f"{name}.toml")
    if not Path(name).exists() and "/" not in name and shipped.is_file():
        setting = Setting(shipped.read_text(encoding="utf-8"), f"{name}.toml", changes)
    else:
        setting = Setting(read_text(name), name, changes)
    setting.told()
    return setting


def _replicas(wish: Wish, settings: list[Setting]) -> list[Results]:
    precision = Asked().share("precision", wish.precision) if wish.precision else 0.0
    number = wish.replicas * len(settings)
    with workers(wish.on, number) as work, progress(number) as advanced:
        return replicate(settings, wish.replicas, wish.seed, precision, work, advanced)


@contextmanager
def progress(number: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, where somebody looks at it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=number)
        yield lambda done: bar.advance(task, done)
