"""Plays drills for the API: one at a time, in its own process, with a time limit."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

import msgspec

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.views.drills import DrillRequest, DrillRunView
from holdfast.lab.drills import player
from holdfast.lab.drills.shipped import shipped
from holdfast.runtime import child, codec

LIMIT_SECONDS = 300.0
LONGEST_LINE = 8 << 20
QUIET_SECONDS = 15.0
MOST_WATCHERS = 50
ServerEvent = tuple[str, bytes]


class DrillPlayer:
    def __init__(self, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._limit = limit_seconds
        self._reported: list[ServerEvent] = []
        self._news = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._watchers = 0
        self._ending = False
        self.run: DrillRunView | None = None

    async def play(self, ask: DrillRequest, by: str) -> DrillRunView:
        if self.run is not None and self.run.state == "playing":
            text = f"{self.run.drill} is played already; wait for its end or cancel it"
            raise Problem(409, text, code="drill_playing")
        number = self.run.id + 1 if self.run else 1
        run = DrillRunView(
            id=number, drill=ask.drill, title=shipped()[ask.drill].title, seed=ask.seed, by=by, at=time.time(),
            state="playing", share=0.0, reason="",
        )  # fmt: skip
        self._reported = []
        self._publish(run)
        self._task = asyncio.create_task(self._play(ask, number))
        return run

    async def cancel(self) -> DrillRunView:
        if self.run is None or self.run.state != "playing":
            raise Problem(409, "no drill is running", code="no_drill")
        cancelled = replace(self.run, state="cancelled")
        self._publish(cancelled)
        if self._process is not None:
            _end(self._process)
        return cancelled

    async def watch(self) -> AsyncIterator[ServerEvent]:
        if self._watchers >= MOST_WATCHERS:
            raise Problem(503, f"{MOST_WATCHERS} clients already watch this drill", {"Retry-After": "10"})
        self._watchers += 1
        try:
            mine, seen = self._reported, 0
            while True:
                for reported in mine[seen:]:
                    yield reported
                seen = len(mine)
                if self._ending or self._reported is not mine or self.run is None or self.run.state != "playing":
                    return
                await self._wait()
        finally:
            self._watchers -= 1

    def let_go(self) -> None:
        """Releases all viewers, present and future, because the controller ends."""
        self._ending = True
        self._news.set()

    async def close(self) -> None:
        if self.run is not None and self.run.state == "playing":
            await self.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_SECONDS):
                await self._news.wait()

    def _publish(self, run: DrillRunView) -> None:
        self.run = run
        self._put("run", msgspec.json.encode(run))

    def _put(self, name: str, data: bytes) -> None:
        self._reported.append((name, data))
        self._news.set()
        self._news = asyncio.Event()

    async def _play(self, ask: DrillRequest, number: int) -> None:
        try:
            async with asyncio.timeout(self._limit):
                await self._follow(ask, number)
        except TimeoutError:
            self._fail(number, f"it was not over after {self._limit:g} s")
        except OSError as error:
            self._fail(number, f"its process could not be started: {error.strerror}")

    async def _follow(self, ask: DrillRequest, number: int) -> None:
        process = self._process = await _started(ask)
        try:
            assert process.stdout is not None and process.stderr is not None
            complaint = asyncio.create_task(process.stderr.read(LONGEST_LINE))
            async for line in process.stdout:
                self._take_line(number, line.rstrip())
            message = (await complaint).decode("utf-8", "replace").strip().splitlines()
            code = await process.wait()
            self._fail(number, message[-1][:300] if message else f"its process ended with {code}")
        finally:
            _end(process)

    def _is_played(self, number: int) -> bool:
        """Whether this drill is still the one that runs."""
        return self.run is not None and self.run.id == number and self.run.state == "playing"

    def _take_line(self, number: int, line: bytes) -> None:
        """Takes one line of the player: progress, or the outcome."""
        if self.run is None or not self._is_played(number):
            return
        message = codec.decode(line, dict[str, msgspec.Raw])
        if "share" in message:
            self._publish(replace(self.run, share=codec.decode(message["share"], float)))
        else:
            self._put("outcome", line)
            self._publish(replace(self.run, state="done", share=1.0))

    def _fail(self, number: int, reason: str) -> None:
        if self.run is not None and self._is_played(number):
            self._publish(replace(self.run, state="failed", reason=reason))


async def _started(ask: DrillRequest) -> asyncio.subprocess.Process:
    python = [sys.executable, "-P", "-m"]
    seed = [] if ask.seed is None else [str(ask.seed)]
    return await asyncio.create_subprocess_exec(
        *[*python, child.__name__, str(os.getpid()), *python, player.__name__, ask.drill, *seed],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )


def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
