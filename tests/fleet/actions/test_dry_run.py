"""The back end that only says."""

from holdfast.fleet.actions.backend import Result
from holdfast.fleet.actions.dry_run import DryRun
from holdfast.model.lifecycle import Action, Verb


def test_says_each_action_once_and_remembers_it() -> None:
    said: list[str] = []
    backend = DryRun(said.append)
    action = Action(node="n1", verb=Verb.DRAIN, reason="gpu 3 is gone", cause="gpu.xid", at=1.0)
    for _ in range(2):
        outcome = backend.perform(action, dry_run=False)
        assert outcome.dry_run and outcome.result is Result.DONE
    assert said == ["would drain n1: gpu 3 is gone (gpu.xid)"]
    assert list(backend.asked.values()) == [action]


def test_can_stand_in_for_every_verb() -> None:
    backend = DryRun(lambda sentence: None)
    assert all(backend.perform(Action(node="n", verb=verb, reason="r"), False).dry_run for verb in Verb)
    assert backend.verbs == frozenset(Verb)
