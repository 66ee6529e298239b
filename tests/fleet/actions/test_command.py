"""An operator's own commands."""

import sys
from pathlib import Path

import pytest

from holdfast.fleet.actions.backend import ActionResult
from holdfast.fleet.actions.command import Command, CommandSettings
from holdfast.model.lifecycle import Action, Verb

ACTION = Action(node="n1", verb=Verb.REBOOT, reason="--force; $(touch /tmp/x)", cause="gpu.xid", at=5.0)


def command(code: str, *arguments: str, **more: object) -> Command:
    return Command(CommandSettings(commands={Verb.REBOOT: [sys.executable, "-c", code, *arguments]}, **more))  # type: ignore[arg-type]


def test_placeholders_become_arguments_and_nothing_else() -> None:
    outcome = command("import sys; print(sys.argv[1:])", "{node}", "{reason}").perform(ACTION, dry_run=False)
    assert outcome.result is ActionResult.DONE
    assert "['n1', 'force; $(touch /tmp/x)']" in outcome.message


def test_a_dry_run_runs_nothing(tmp_path: Path) -> None:
    outcome = command(f"open({str(tmp_path / 'ran')!r}, 'w')", "{node}").perform(ACTION, dry_run=True)
    assert outcome.dry_run and outcome.message.startswith("would run: ") and outcome.message.endswith(" n1")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("code", "retryable"), [(1, False), (75, True), (255, True)])
def test_exit_codes_decide_whether_to_try_again(code: int, retryable: bool) -> None:
    settings = {"retry_codes": frozenset({75, 255})}
    outcome = command(f"import sys; sys.exit({code})", **settings).perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, retryable)


def test_a_command_that_hangs_is_ended_and_may_be_tried_again() -> None:
    outcome = command("import time; time.sleep(600)", timeout=0.3).perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, True)


def test_the_environment_is_bare_but_for_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("IPMI_USER", "admin")
    code = "import os; print(os.environ.get('DATABASE_URL'), os.environ.get('IPMI_USER'))"
    assert "None admin" in command(code, keep=("IPMI_USER",)).perform(ACTION, dry_run=False).message


def test_other_verbs_and_strange_nodes_are_refused() -> None:
    one = command("")
    for action in (
        Action(node="n1", verb=Verb.TICKET, reason=""),
        Action(node="-h", verb=Verb.REBOOT, reason=""),
        Action(node="a b", verb=Verb.REBOOT, reason=""),
    ):
        assert one.perform(action, dry_run=False).result is ActionResult.REFUSED


def test_a_command_that_is_not_there_is_reported() -> None:
    missing = Command(CommandSettings(commands={Verb.REBOOT: ["no_such_command"]}))
    outcome = missing.perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, False)
    assert "no_such_command is not installed here" in outcome.message


@pytest.mark.parametrize("wrong", ["reboot {node}", [], [""], ["reboot", "{host}"]])
def test_a_wrong_setting_is_refused_at_start(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"command\.reboot"):
        CommandSettings(commands={Verb.REBOOT: wrong})  # type: ignore[dict-item]
