"""The mark of a passed suite: gone as soon as the node was used, also when that was while the suite ran."""

from pathlib import Path

import msgspec
import pytest

from holdfast.model.health import Health
from holdfast.model.settings import AgentSettings, Settings
from holdfast.model.wire.order import Order
from holdfast.node.agent.orders.retest import TestedMark, retest
from holdfast.node.agent.suite import SuiteResult
from holdfast.runtime import process


def used(directory: Path) -> None:
    """What deploy/slurm/untested.sh does first."""
    for name in ("verdict.tested", "verdict.testing"):
        (directory / name).unlink(missing_ok=True)


def test_a_pass_leaves_the_mark_and_a_use_takes_it_away(tmp_path: Path) -> None:
    mark = TestedMark(str(tmp_path / "verdict.json"))
    mark.begin("order 1")
    assert not (tmp_path / "verdict.tested").exists()
    assert mark.passed()
    assert (tmp_path / "verdict.tested").read_text() == "order 1\n"
    used(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_use_while_the_suite_runs_makes_its_pass_worthless(tmp_path: Path) -> None:
    mark = TestedMark(str(tmp_path / "verdict.json"))
    mark.begin("order 1")
    used(tmp_path)
    assert not mark.passed()
    assert not (tmp_path / "verdict.tested").exists()


def test_a_new_suite_takes_the_old_mark_away_until_it_has_passed(tmp_path: Path) -> None:
    mark = TestedMark(str(tmp_path / "verdict.json"))
    mark.begin("order 1")
    assert mark.passed()
    mark.begin("order 2")
    assert not (tmp_path / "verdict.tested").exists()
    mark.not_passed()
    assert not list(tmp_path.iterdir())


def test_where_no_mark_can_be_made_the_pass_counts_all_the_same(tmp_path: Path) -> None:
    mark = TestedMark(str(tmp_path / "nowhere" / "verdict.json"))
    mark.begin("order 1")
    assert mark.passed()
    mark.not_passed()


@pytest.mark.parametrize(("found", "looks"), [(Health.PASS, 1), (Health.DEGRADED, 1), (Health.FAIL, 0)])
def test_failing_verdicts_are_looked_at_again_before_the_mark_of_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Health, looks: int
) -> None:
    """The agent takes the mark away while a verdict fails: one from before the repair would take away a good one."""
    out = msgspec.json.encode(SuiteResult(found, "", "35 checks")).decode()
    monkeypatch.setattr(process, "run", lambda *_: process.CommandResult(0, out, ""))
    marks: list[bool] = []

    def refresh() -> bool:
        marks.append((tmp_path / "verdict.tested").exists())
        return True

    settings = Settings(agent=AgentSettings(verdict_file=str(tmp_path / "verdict.json")))
    outcome = retest(settings, refresh).perform(Order(id=1, verb="retest", suite="1"), 0.0)
    assert outcome.health == found.value
    assert marks == [False] * looks
    assert (tmp_path / "verdict.tested").exists() == bool(looks)
