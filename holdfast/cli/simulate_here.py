"""Doing what `holdfast simulate` was asked for."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import typer

from holdfast.cli import simulate_show as show
from holdfast.cli.plan_inputs import Asked
from holdfast.cli.simulate_replicas import Results, replicate
from holdfast.cli.simulate_scenario import read_text
from holdfast.cli.simulate_sweep import parse_change
from holdfast.cli.simulate_tasks import Changes, Setting, workers


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
    changes: Changes = tuple(parse_change(text) for text in wish.changes)
    setting = setting_of(wish.scenario, changes)
    if wish.compare:
        first, second = _replicas(wish, [setting, setting_of(wish.compare, changes)])
        if wish.as_json:
            typer.echo(json.dumps(show.comparison(first, second)))
        else:
            show.show_comparison(first, second)
        return
    (results,) = _replicas(wish, [setting])
    if wish.as_json:
        typer.echo(json.dumps(show.document(results)))
    else:
        show.show(results)


def setting_of(name: str, changes: Changes) -> Setting:
    """A file, or a scenario that comes along. Refused here, before anything is started."""
    shipped = resources.files("holdfast.simulation").joinpath("scenarios", f"{name}.toml")
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
