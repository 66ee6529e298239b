"""Look once: every source read in parallel within its deadline, for `holdfast check`, `signals` and `doctor`."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from holdfast.agent.assemble import census, questions, sources
from holdfast.agent.clock import SteadyClock
from holdfast.agent.node import Node
from holdfast.agent.runner import read_guarded, silent
from holdfast.model.history import History
from holdfast.model.settings import Settings
from holdfast.model.signal import Reading
from holdfast.sources.source import Source

FRESH_FACTOR = 3.0  # a value may be three cadences old before it counts as stale


def look(settings: Settings) -> History:
    """Read everything once and remember it."""
    return look_at(settings, stage="passive").history


def look_at(settings: Settings, stage: str, seconds: float = 0.0) -> Node:
    """Read everything once (twice, `seconds` apart, for rates) and judge it as this stage asks."""
    clock = SteadyClock()
    settings = replace(settings, agent=replace(settings.agent, state_dir=""))  # the running agent owns what is on disk
    node = Node(census(settings), questions(settings, stage))
    chosen = sources(settings, stage)
    # Everything is judged when the slowest has answered: what the quick ones read must not be stale by then.
    prepare(node, chosen, patience=max(source.deadline for source in chosen) + seconds)
    readings = _read_all(chosen, clock)
    if seconds > 0:
        threading.Event().wait(seconds)
        readings += _read_all(chosen, clock)
    for reading in readings:
        node.take(reading)
    node.judge(clock.now())
    return node


def prepare(node: Node, chosen: Sequence[Source], patience: float = 0.0) -> None:
    """Tell the history what each source is there to bring and how long its values hold."""
    for source in chosen:
        node.history.promise(source.name, source.carries)
        node.history.expect_freshness(source.name, FRESH_FACTOR * source.every + source.deadline + patience)


def _read_all(chosen: Sequence[Source], clock: SteadyClock) -> list[Reading]:
    """One thread per source; a source that misses its deadline is told as silent and left behind."""
    results: dict[str, Reading] = {}

    def read(source: Source) -> None:
        results[source.name] = read_guarded(source, clock.now())

    threads = [(source, threading.Thread(target=read, args=(source,), daemon=True)) for source in chosen]
    started = clock.now()
    for _, thread in threads:
        thread.start()
    for source, thread in threads:
        thread.join(max(0.0, started + source.deadline - clock.now()))
    now = clock.now()
    return [results.get(source.name) or silent(source, now, now - started) for source in chosen]
