"""Runner: one thread per source, each with its own interval and deadline."""

import logging
import queue
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from holdfast.model.signal import Reading
from holdfast.node.agent.clock import AgentClock
from holdfast.runtime.source import Source

log = logging.getLogger("holdfast.node.agent")

STREAM_WAIT_SECONDS = 10.0


@runtime_checkable
class Stream(Protocol):
    """A source that can be waited on, so that an event is evaluated at once and not at the next interval."""

    def wait(self, seconds: float) -> bool: ...


@runtime_checkable
class Divisible(Protocol):
    """A source that can abandon a part whose driver hangs, so that another thread reads the rest."""

    def abandon(self) -> bool: ...


def read_guarded(source: Source, now: float) -> Reading:
    """A source never ends the agent: an unexpected exception makes it blind, with the error as reason."""
    try:
        return source.read(now)
    except Exception as error:
        log.exception("source %s failed", source.name)
        return Reading(
            source=source.name, at=now, blind=f"reading {source.name} failed: {type(error).__name__}: {error}"
        )


def _waited(stream: Stream) -> bool:
    """Whether the stream can be waited on. Otherwise it is read at its interval, and the read reports why."""
    try:
        stream.wait(STREAM_WAIT_SECONDS)
    except (OSError, ValueError) as error:
        log.warning("cannot wait for news: %s", error)
        return False
    return True


@dataclass(slots=True)
class _Watch:
    source: Source
    busy_since: float = 0.0  # 0 while idle
    reported_at: float = 0.0  # when its silence was last reported
    wake: threading.Event = field(default_factory=threading.Event)  # read before it is due
    thread: int = 0  # counts the threads that read it; only the last one counts


class Runner:
    """Reads every source until stopped. Readings go to `readings`, including one for a source that hangs."""

    def __init__(self, sources: list[Source], clock: AgentClock) -> None:
        self.readings: queue.SimpleQueue[Reading] = queue.SimpleQueue()
        self._clock = clock
        self._stop = threading.Event()
        self._watches = [_Watch(source) for source in sources]

    def start(self) -> None:
        for watch in self._watches:
            self._start_reading(watch)

    def _start_reading(self, watch: _Watch) -> None:
        # Daemon threads: a driver call that never returns must not hold up shutdown.
        watch.thread += 1
        threading.Thread(target=self._loop, args=(watch,), name=watch.source.name, daemon=True).start()

    def stop(self) -> None:
        self._stop.set()
        for watch in self._watches:
            watch.wake.set()

    def read_now(self, names: Collection[str]) -> set[str]:
        """Read these sources at once. Returns those that will be read; a stream is always current."""
        asked = [
            watch for watch in self._watches if watch.source.name in names and not isinstance(watch.source, Stream)
        ]
        for watch in asked:
            watch.wake.set()
        return {watch.source.name for watch in asked}

    def _loop(self, watch: _Watch) -> None:
        due, thread = self._clock.now(), watch.thread
        while not self._stop.is_set():
            watch.wake.clear()  # before the read: a request during a read needs another read
            watch.busy_since = self._clock.now()
            due = min(due, watch.busy_since)
            reading = read_guarded(watch.source, watch.busy_since)
            if watch.thread != thread:
                return  # another thread reads in its place
            watch.busy_since = watch.reported_at = 0.0
            self.readings.put(reading)
            due = max(due + watch.source.every, self._clock.now())
            if not (isinstance(watch.source, Stream) and not reading.blind and _waited(watch.source)):
                watch.wake.wait(due - self._clock.now())

    def report_silence(self) -> None:
        """Report every source whose read exceeds its deadline, and again each time the delay doubles."""
        now = self._clock.now()
        for watch in self._watches:
            since = watch.busy_since
            waited = now - since
            if since and waited > watch.source.deadline and waited >= 2 * watch.reported_at:
                if isinstance(watch.source, Divisible) and watch.source.abandon():
                    self._start_reading(watch)
                    continue
                watch.reported_at = waited
                self.readings.put(silent(watch.source, now, waited))


def silent(source: Source, now: float, waited: float) -> Reading:
    who = "the driver" if source.name.startswith("nvml") else f"source {source.name}"
    return Reading(source=source.name, at=now, blind=f"{who} has not answered for {waited:.0f} s")
