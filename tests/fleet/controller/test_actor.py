"""The actor: one mistake costs one action, not all that follow it."""

import asyncio
from typing import Any

import pytest

from holdfast.fleet.controller.actor import Actor
from holdfast.model.lifecycle import Action, Verb
from holdfast.model.records import Outcome, StoredAction


class Mistaken:
    """Back ends that make a mistake where nobody expects one."""

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
