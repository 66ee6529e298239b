"""Runs replicas on local cores or a Ray cluster. The results are the same."""

import logging
import os
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Protocol

from holdfast.config.extra import needs_extra
from holdfast.economics.simulation.outcome import SimulationOutcome, simulate
from holdfast.economics.studies.rules import RealRules
from holdfast.economics.studies.scenario_file import ScenarioFile, parse
from holdfast.model.refusal import Refusal

Changes = tuple[tuple[str, Any], ...]
FEW = 4  # this many replicas are done before another process has started


@dataclass(frozen=True, slots=True)
class Setting:
    """A scenario's text and its changed values: all that another machine needs."""

    text: str
    origin: str
    changes: Changes = ()

    def parsed(self) -> ScenarioFile:
        return _parsed(self)


@lru_cache(maxsize=64)
def _parsed(setting: Setting) -> ScenarioFile:
    return parse(setting.text, setting.origin, dict(setting.changes))


@dataclass(frozen=True, slots=True)
class Task:
    setting: Setting
    seed: int
    replica: int


def perform(task: Task) -> SimulationOutcome:
    """Simulates one replica. Its random events depend only on the seed and the replica, so all settings share them."""
    parsed = task.setting.parsed()
    return simulate(parsed.scenario, RealRules(parsed.policy), partial(_rng, task.seed, task.replica))


def _rng(seed: int, replica: int, name: str) -> random.Random:
    return random.Random(f"{seed}/{replica}/{name}")


class Workers(Protocol):
    def __call__(self, tasks: Sequence[Task]) -> Iterator[SimulationOutcome]:
        """Yields the outcomes in order."""


@contextmanager
def workers(on: str, tasks: int) -> Iterator[Workers]:
    if on == "ray":
        with _ray() as many:
            yield many
    elif on != "processes":
        raise Refusal(f"--on: expected processes or ray, found {on!r}")
    elif tasks <= FEW or (os.cpu_count() or 1) == 1:
        yield lambda some: map(perform, some)
    else:
        with ProcessPoolExecutor() as pool:
            yield lambda some: pool.map(perform, some)


@contextmanager
def _ray() -> Iterator[Workers]:
    """Connects to the cluster of $RAY_ADDRESS or of a running `ray start`, or starts one here and ends it
    afterwards."""
    with needs_extra("sweep"):
        import ray
    began = not ray.is_initialized()
    if began:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
    try:
        remote: Callable[[Task], Any] = ray.remote(perform).remote

        def many(tasks: Sequence[Task]) -> Iterator[SimulationOutcome]:
            yield from (ray.get(one) for one in [remote(task) for task in tasks])

        yield many
    finally:
        if began:
            ray.shutdown()
