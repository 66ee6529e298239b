"""A seam rule that raises: it is blind, the others go on, and what it found before stays open."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast import seams
from holdfast.fleet.controller.seams.loop import SeamWatch
from holdfast.fleet.incidents import evaluation
from holdfast.fleet.store import Store
from holdfast.model.incident import Incident
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam
from tests.fleet.incidents.test_restart import FAULTS, _account, _watch
from tests.seams.conftest import _calm
from tests.stores import new_store

CAUSE, MAKE = FAULTS["a unit delivers a third"]
KIND = "cooling.flow_low"
[FINDER] = [one for one in seams.ALL if KIND in one.kinds]
MISTAKES = [ZeroDivisionError("a mistake"), RecursionError("too deep"), MemoryError("too large"), KeyError("x")]


def broken(seam: Seam, error: Exception) -> Seam:
    def explain(scene: Scene) -> Any:
        yield from ()
        raise error

    return replace(seam, explain=explain)


def with_rules(monkeypatch: pytest.MonkeyPatch, rules: tuple[Seam, ...]) -> None:
    def explain(panel: Any, topology: Any, baseline: Any, on_error: Any) -> Any:
        return EXPLAIN(panel, topology, rules, baseline, on_error)

    monkeypatch.setattr(evaluation.seams, "explain", explain)


EXPLAIN = seams.explain


@pytest.fixture
def watch(tmp_path: Path) -> SeamWatch:
    return _watch(Store.open(new_store(tmp_path / "store.db")))


@pytest.mark.parametrize("error", MISTAKES, ids=lambda one: type(one).__name__)
def test_one_rule_that_raises_does_not_end_the_others(error: Exception) -> None:
    world = _calm(1)
    MAKE(world)
    rules = tuple(one if one is FINDER else broken(one, error) for one in seams.ALL)
    failed: set[str] = set()
    found = seams.explain(world.panel, world.topology, rules, on_error=lambda seam, error: failed.add(seam.name))
    assert (CAUSE, KIND) in {(one.cause, one.kind) for one in found}, "the rule that works still finds it"
    assert failed == {one.name for one in seams.ALL} - {FINDER.name}


def test_the_controller_reports_a_rule_that_raises(watch: SeamWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    world = _calm(1)
    rules = tuple(broken(one, ZeroDivisionError("a mistake")) if one is FINDER else one for one in seams.ALL)
    with_rules(monkeypatch, rules)
    for _ in range(2):
        watch.judge(world.panel, world.topology)
    [failing] = watch._board.components.failing
    assert (failing.name, failing.failures) == (f"seam/{FINDER.name}", 2)
    assert "a mistake" in failing.error
    with_rules(monkeypatch, seams.ALL)
    watch.judge(world.panel, world.topology)
    assert not watch._board.components.failing, "it works again"


def test_what_a_broken_rule_found_stays_open(watch: SeamWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = _calm(1)
    known = Incident(id="x", opened=600.0, subject=CAUSE, account=_account(charts=()))
    watch.restore([known], calm.panel.now)
    pause = 10 * watch._settings.close_seconds
    with_rules(monkeypatch, tuple(broken(one, ValueError("x")) if one is FINDER else one for one in seams.ALL))
    later = calm.panel.now + pause
    assert not watch.take(watch.judge(calm.panel, calm.topology), calm.panel, later), "nobody looked: it is not over"
    assert CAUSE in watch.open
    with_rules(monkeypatch, seams.ALL)
    over = watch.take(watch.judge(calm.panel, calm.topology), calm.panel, later + pause)
    assert CAUSE in over, "it was looked for and not found"


def test_without_a_handler_a_rule_that_raises_is_noticed() -> None:
    """Drills and tests must see it."""
    world = _calm(1)
    with pytest.raises(ZeroDivisionError):
        seams.explain(world.panel, world.topology, (broken(seams.ALL[0], ZeroDivisionError()),))
