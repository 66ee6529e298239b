"""The actor: one mistake costs one action, not all that follow it."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from holdfast.fleet.actions.backend import ActionResult, done
from holdfast.fleet.controller import claims
from holdfast.fleet.controller.actor import Actor
from holdfast.model.lifecycle import Action, Verb
from holdfast.model.records import Outcome, StoredAction
from holdfast.runtime.errors import NoAnswer


class Mistaken:
    """Back ends that make a mistake where nobody expects one."""

    scheduler, agent_verbs = None, frozenset[Verb]()

    def of(self, verb: Verb) -> Any:
        raise LookupError(verb)


def stored(number: int) -> StoredAction:
    action = Action(node="n1", verb=Verb.CORDON, reason="as told", at=float(number))
    return StoredAction(id=number, action=action, state=Outcome.CLAIMED, attempts=1)


def test_a_mistake_does_not_stop_the_work_of_a_node_for_good(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> Actor:
        actor = Actor(None, Mistaken())  # type: ignore[arg-type]
        actor._enqueue(stored(1))
        actor._enqueue(stored(2))
        await asyncio.gather(*actor._tasks)
        return actor

    actor = asyncio.run(work())
    assert not actor.busy
    assert actor._queues == {}, "what comes next for the node begins anew"
    assert len([record for record in caplog.records if record.exc_info]) == 2


class Unseen:
    """A back end that cannot be looked at: a command or a webhook."""

    name, verbs, idempotent = "unseen", frozenset(Verb), False

    def __init__(self, did_run: bool | Exception | None) -> None:
        self.answer, self.performed = did_run, 0

    def did_run(self, action: Action) -> bool | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def perform(self, action: Action, dry_run: bool) -> Any:
        self.performed += 1
        return done("did it")


class Leading:
    """A writer that leads, and says whether an action could be begun."""

    def __init__(self, begins: bool = True, leads_surely: bool = True) -> None:
        self.begins, self.leads_surely, self.asked = begins, leads_surely, 0

    def dry_run(self, node: str) -> bool:
        return False

    async def ask(self, work: Any) -> bool:
        self.asked += 1
        return self.begins


class Shown:
    """A scheduler that shows a node as one thing, or does not answer."""

    name = "slurm"

    def __init__(self, shown: str | NoAnswer) -> None:
        self.shown = shown

    def close_for_repair(self, action: Action) -> str:
        if isinstance(self.shown, NoAnswer):
            raise self.shown
        return self.shown


def performed(
    backend: Unseen, one: StoredAction, begins: bool = True, shown: Any = None, leads_surely: bool = True
) -> Any:
    class Only:
        scheduler, agent_verbs = shown, frozenset[Verb]()

        def of(self, verb: Verb) -> Any:
            return backend

    async def run() -> Any:
        actor = Actor(Leading(begins, leads_surely), Only())  # type: ignore[arg-type]
        try:
            return await actor._close(one) or await actor._perform(one)
        finally:
            actor.stop()

    return asyncio.run(run())


@pytest.mark.parametrize(("may_have_run", "due_again"), [(False, True), (True, False)])
def test_a_leader_that_is_not_sure_performs_nothing(may_have_run: bool, due_again: bool) -> None:
    backend = Unseen(False)
    outcome = performed(backend, replace(stored(1), may_have_run=may_have_run), leads_surely=False)
    assert backend.performed == 0
    assert (outcome is not None and outcome.not_now) is due_again, "what may have run keeps its mark"


@pytest.mark.parametrize("verb", list(Verb))
@pytest.mark.parametrize("did_run", [True, False, None, OSError("away")])
def test_what_may_have_run_is_performed_again_only_if_it_did_not(verb: Verb, did_run: Any) -> None:
    backend = Unseen(did_run)
    action = Action(node="n1", verb=verb, reason="", at=1.0)
    one = StoredAction(id=1, action=action, state=Outcome.CLAIMED, attempts=2, may_have_run=True)
    outcome = performed(backend, one)
    assert backend.performed == (did_run is False)
    assert outcome.uncertain == (did_run is None or isinstance(did_run, OSError))
    resets = {Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT, Verb.RETEST}
    assert (outcome.result is ActionResult.DONE) == (not outcome.uncertain or verb in resets)
    assert not outcome.retryable


def test_what_cannot_be_marked_as_begun_is_not_performed() -> None:
    backend = Unseen(None)
    assert performed(backend, stored(1), begins=False) is None
    assert backend.performed == 0
    assert performed(backend, stored(1)).result is ActionResult.DONE


@pytest.mark.parametrize("verb", list(Verb))
@pytest.mark.parametrize("shown", ["", "n1 is IDLE in Slurm, not drained and empty", NoAnswer("away", retryable=True)])
def test_a_repair_step_looks_at_the_scheduler_in_the_last_moment(verb: Verb, shown: Any) -> None:
    backend = Unseen(None)
    one = StoredAction(id=1, action=Action(node="n1", verb=verb, reason="", at=1.0), state=Outcome.CLAIMED, attempts=1)
    outcome = performed(backend, one, shown=Shown(shown))
    waits = verb in (Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT) and shown != ""
    assert backend.performed == (not waits)
    assert outcome.not_now == waits


@pytest.mark.parametrize("shown", ["", "n1 is IDLE in Slurm, not drained and empty"])
def test_an_agent_gets_a_repair_step_only_when_its_node_is_closed(shown: str) -> None:
    class ByAgents:
        scheduler, agent_verbs = Shown(shown), frozenset({Verb.RESET_GPU})

    writer = Asked()

    async def run() -> None:
        actor = Actor(writer, ByAgents())  # type: ignore[arg-type]
        action = Action(node="n1", verb=Verb.RESET_GPU, reason="", at=1.0)
        await actor._work_on(StoredAction(id=1, action=action, state=Outcome.CLAIMED, attempts=1))
        actor.stop()

    asyncio.run(run())
    assert writer.asked_for == [claims.end if shown else claims.give]


class Asked(Leading):
    """Which commands the writer got."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_for: list[Any] = []

    async def ask(self, work: Any) -> bool:
        self.asked_for.append(work.do.func)
        return True
