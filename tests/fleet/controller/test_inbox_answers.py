"""An answer of the inbox is shared for a moment, but never across a change of an incident."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.fleet.controller.operators import inbox as inbox_module
from holdfast.fleet.controller.operators.inbox import InboxService


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Each time an answer is made, its number; nothing is in it."""
    numbers: list[int] = []
    monkeypatch.setattr(inbox_module, "items", lambda sources: numbers.append(len(numbers)) or [])
    monkeypatch.setattr(inbox_module, "restarted", lambda sources: [])
    return numbers


def service() -> InboxService:
    store = SimpleNamespace(item_records=lambda keys: {})
    one: Any = InboxService(SimpleNamespace(store=store))  # type: ignore[arg-type]

    async def sources() -> None:
        return None

    one._sources = sources
    return one  # type: ignore[no-any-return]


def test_who_asks_at_once_shares_an_answer_until_something_changes(made: list[int]) -> None:
    async def run() -> None:
        one = service()
        await one.views()
        await one.views()
        assert made == [0]
        one.forget()
        await one.views()
        assert made == [0, 1]

    asyncio.run(run())


def test_an_answer_that_was_begun_before_the_change_is_not_shared(made: list[int]) -> None:
    async def run() -> None:
        one = service()
        begun = asyncio.create_task(one.views())
        await asyncio.sleep(0)
        one.forget()
        await begun
        await one.views()
        assert made == [0, 1]

    asyncio.run(run())
