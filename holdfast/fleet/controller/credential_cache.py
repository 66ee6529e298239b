"""Tokens looked up in the store, many at once: after a fail-over every agent of a fleet is unknown at the same time."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from holdfast.fleet.store import StoreError
from holdfast.model.records import Credential

Find = Callable[[Sequence[str]], Mapping[str, Credential]]
MOST_AT_ONCE = 500


class CredentialCache:
    """One question runs at a time; what is asked meanwhile goes together into the next. Belongs to the event loop."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._waiting: dict[str, asyncio.Future[Credential | None]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def __call__(self, hashed: str) -> Credential | None:
        future = self._waiting.get(hashed)
        if future is None:
            future = self._waiting[hashed] = asyncio.get_running_loop().create_future()
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(future)

    async def _ask(self) -> None:
        try:
            while self._waiting:
                asked = {hashed: self._waiting.pop(hashed) for hashed in list(self._waiting)[:MOST_AT_ONCE]}
                await self._answer(asked)
        finally:
            self._asking = None

    async def _answer(self, asked: Mapping[str, "asyncio.Future[Credential | None]"]) -> None:
        try:
            found = await asyncio.to_thread(self._find, list(asked))
        except StoreError as error:
            for future in asked.values():
                future.set_exception(error)
        else:
            for hashed, future in asked.items():
                future.set_result(found.get(hashed))
