"""Reads facility devices, each on its own thread and interval, so that a hanging device blocks no other.

A source that cannot be read is logged once at the beginning and once at the end; its values are unknown. A source that
raises is blind too. It is read again after a pause, and counts as a failing component of the controller.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from holdfast.fleet.incidents.views import SourceView
from holdfast.fleet.incidents.window import SeamWindow
from holdfast.model.signal import Reading
from holdfast.runtime import clock
from holdfast.runtime.components import Components, described, in_thread
from holdfast.runtime.source import Source

log = logging.getLogger("holdfast.fleet.controller")
MOST_TROUBLES = 20


class Facility:
    def __init__(
        self,
        sources: Sequence[Source],
        window: SeamWindow,
        lived: Callable[[float], float],
        components: Components | None = None,
    ) -> None:
        """`lived` converts wall-clock time to the window's time, which runs faster in a demo."""
        self._window, self._lived = window, lived
        self._components = components or Components()
        self._sources = list(sources)
        self.views = {one.name: SourceView(name=one.name, carries=one.carries) for one in sources}

    async def run(self, factor: float = 1.0) -> None:
        """Reads all sources until cancelled."""
        pool = ThreadPoolExecutor(max(1, len(self._sources)), "facility")
        try:
            await asyncio.gather(*(self._follow(one, factor, pool) for one in self._sources))
            await asyncio.Event().wait()  # without sources, wait: the end of a loop would count as a failure
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    async def _follow(self, source: Source, factor: float, pool: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        pending: asyncio.Future[Reading] | None = None
        while True:
            began, pause = time.monotonic(), 0.0
            if pending is None:
                # wall-clock time, to compare with devices' clocks
                pending = loop.run_in_executor(pool, in_thread, source.read, time.time())
            done, _ = await asyncio.wait({pending}, timeout=source.deadline)
            if done:
                read, pending = pending, None
                pause = self._end_of(source, read)
            else:
                why = f"has not answered for {source.deadline:g} s"
                self._note(source, Reading(source=source.name, at=clock.now(), blind=why))
            await asyncio.sleep(max(0.05, pause, source.every / factor - (time.monotonic() - began)))

    def _end_of(self, source: Source, read: "asyncio.Future[Reading]") -> float:
        """Takes a finished reading and returns the seconds until the next one. Exceptions and bad values of a source
        end here."""
        try:
            self._take(source, read.result())
        except Exception as error:
            log.exception("%s failed; it is read again", source.name)
            self._note(source, Reading(source=source.name, at=clock.now(), blind=f"failed: {described(error)}"))
            return self._components.failed(source.name, error)
        self._components.succeeded(source.name)
        return 0.0

    def _take(self, source: Source, reading: Reading) -> None:
        if not reading.blind:
            self._window.take(reading, self._lived(clock.now()), source.every)
        self._note(source, reading)

    def _note(self, source: Source, reading: Reading) -> None:
        before = self.views[source.name]
        if bool(before.blind) != bool(reading.blind):
            log.warning("%s: %s", source.name, reading.blind or "can be read again")
        reported = [f"{about} {signal}: {why}" for (about, signal), why in reading.absent.items()]
        since = (before.blind_since or reading.at) if reading.blind else None
        self.views[source.name] = replace(
            before,
            read_at=before.read_at if reading.blind else reading.at,
            values=len(reading.signals),
            blind=reading.blind,
            blind_since=since,
            absent=tuple(reported[:MOST_TROUBLES]),
        )
