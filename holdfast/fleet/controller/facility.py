"""Reads the devices around the nodes, each on its own cadence and in its own thread: one that hangs hurts no other.

What cannot be read is told once when it begins and once when it ends, and shown as it stands; it is never a value.
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
from holdfast.runtime.source import Source

log = logging.getLogger("holdfast.fleet.controller")
MOST_TROUBLES = 20


class Facility:
    def __init__(self, sources: Sequence[Source], window: SeamWindow, lived: Callable[[float], float]) -> None:
        """`lived` turns the time of the clock into that of the window, which may run faster in a demo."""
        self._window, self._lived = window, lived
        self._sources = list(sources)
        self.views = {one.name: SourceView(name=one.name, carries=one.carries) for one in sources}
        self._pool = ThreadPoolExecutor(max(1, len(sources)), "facility")

    async def run(self, factor: float = 1.0) -> None:
        """Until cancelled."""
        try:
            await asyncio.gather(*(self._follow(one, factor) for one in self._sources))
            await asyncio.Event().wait()  # without sources there is nothing to do, which is no reason to end
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def _follow(self, source: Source, factor: float) -> None:
        loop = asyncio.get_running_loop()
        pending: asyncio.Future[Reading] | None = None
        while True:
            began = time.monotonic()
            if pending is None:
                pending = loop.run_in_executor(self._pool, source.read, time.time())
            done, _ = await asyncio.wait({pending}, timeout=source.deadline)
            if done:
                self._take(source, pending.result())
                pending = None
            else:
                why = f"has not answered for {source.deadline:g} s"
                self._note(source, Reading(source=source.name, at=time.time(), blind=why))
            await asyncio.sleep(max(0.05, source.every / factor - (time.monotonic() - began)))

    def _take(self, source: Source, reading: Reading) -> None:
        if not reading.blind:
            self._window.take(reading, self._lived(reading.at), source.every)
        self._note(source, reading)

    def _note(self, source: Source, reading: Reading) -> None:
        before = self.views[source.name]
        if bool(before.blind) != bool(reading.blind):
            log.warning("%s: %s", source.name, reading.blind or "can be read again")
        told = [f"{about} {signal}: {why}" for (about, signal), why in reading.absent.items()]
        since = (before.blind_since or reading.at) if reading.blind else None
        self.views[source.name] = replace(
            before,
            read_at=before.read_at if reading.blind else reading.at,
            values=len(reading.signals),
            blind=reading.blind,
            blind_since=since,
            absent=tuple(told[:MOST_TROUBLES]),
        )
