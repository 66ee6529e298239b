"""Doing what `holdfast drill list` and `run` were asked for."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

from holdfast.cli.drill import show as drill_show
from holdfast.lab.drills.drill import Drill
from holdfast.lab.drills.file import load, shipped
from holdfast.lab.drills.stage import stage
from holdfast.model.refusal import Refusal

Task = TypeVar("Task")
Outcome = dict[str, Any]


def list_all(as_json: bool) -> None:
    drills = [load(name) for name in shipped()]
    if as_json:
        typer.echo(json.dumps([_listed(drill) for drill in drills]))
    else:
        drill_show.listing(drills)


def _listed(drill: Drill) -> Outcome:
    return {
        "name": drill.name, "title": drill.title, "about": drill.about, "pair": drill.pair,
        "kinds": [fault.kind for fault in drill.faults], "nodes": drill.layout.fleet.nodes,
        "lasts_seconds": drill.lasts,
    }  # fmt: skip


def run(names: list[str], every: bool, seed: int | None, processes: int, as_json: bool) -> None:
    if names and every:
        raise Refusal("--all: expected either names of drills or --all, found both")
    drills = [load(name, seed) for name in names or shipped()]
    outcomes = list(spread(played, drills, processes, "playing"))
    if as_json:
        typer.echo(json.dumps(outcomes[0] if len(names) == 1 else {"drills": outcomes, **drill_show.summary(outcomes)}))
    elif len(names) == 1:
        drill_show.one(outcomes[0])
    else:
        drill_show.scores(outcomes)


def played(drill: Drill) -> Outcome:
    return stage(drill).document()


def spread(work: Callable[[Task], Outcome], tasks: Sequence[Task], processes: int, what: str) -> Iterator[Outcome]:
    """Over the cores of this machine, in order; a bar on stderr where somebody looks at it."""
    many = min(processes or os.cpu_count() or 1, len(tasks))
    with _bar(len(tasks), what) as advance:
        if many <= 1:
            for task in tasks:
                yield work(task)
                advance()
            return
        with ProcessPoolExecutor(many) as pool:
            for outcome in pool.map(work, tasks):
                yield outcome
                advance()


@contextmanager
def _bar(number: int, what: str) -> Iterator[Callable[[], None]]:
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=number)
        yield lambda: bar.advance(task)
