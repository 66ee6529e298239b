"""Slow work that callers request: a sign-in at the identity provider, a query to Prometheus, a plan.

It has a few threads of its own. The threads that authenticate agents and read the store must stay free, because a fleet
that cannot report looks dead.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class TooManyCalls(Exception):
    """Too many calls are under way."""


class SlowCalls:
    """A limited pool for slow calls. Used only on the event loop."""

    def __init__(self, name: str, threads: int, most: int = 0) -> None:
        """`most`: limit of running and waiting calls; 0: the number of threads."""
        self.most = most or threads
        self._threads = ThreadPoolExecutor(threads, name)
        self._under_way: set[asyncio.Future[Any]] = set()

    async def run(self, call: Callable[[], T]) -> T:
        """Raises TooManyCalls. A caller that gives up leaves the thread busy until the call ends."""
        if len(self._under_way) >= self.most:
            raise TooManyCalls("too many ask for this at the moment; try again")
        mine = asyncio.get_running_loop().run_in_executor(self._threads, call)
        self._under_way.add(mine)
        mine.add_done_callback(self._ended)
        return await asyncio.shield(mine)

    def _ended(self, call: "asyncio.Future[Any]") -> None:
        self._under_way.discard(call)
        if not call.cancelled():
            call.exception()  # the caller may have cancelled
