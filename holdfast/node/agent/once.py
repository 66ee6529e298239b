"""Reads every source once, in parallel within deadlines, for `holdfast check`, `signals` and `doctor`.

Sources that need the whole node run after the others, one at a time. Then the others are read again, to show faults
under load.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from holdfast.model.history import History
from holdfast.model.settings import Settings
from holdfast.model.signal import Reading
from holdfast.node.agent.assemble import COSTLY, census, questions, sources
from holdfast.node.agent.clock import AgentClock
from holdfast.node.agent.node import Node
from holdfast.node.agent.runner import read_guarded, silent
from holdfast.node.probes.active import history as kept
from holdfast.node.probes.active.source import ActiveSource
from holdfast.runtime.source import Source

log = logging.getLogger("holdfast.node.agent")

LEAST_JITTER_SECONDS = 5.0  # scheduling delay allowed to a thread on a busy node

Notify = Callable[[str, str], None]  # the running probe and its current step


def read_passive(settings: Settings) -> History:
    """Read every source once and store the readings."""
    return check_node(settings, stage="passive").history


def check_node(
    settings: Settings, stage: str, seconds: float = 0.0, notify: Notify = lambda probe, words: None
) -> Node:
    """Read every source once (twice, `seconds` apart, for rates) and run the checks of this stage."""
    clock = AgentClock()
    results = results_file(settings)
    settings = replace(settings, agent=replace(settings.agent, state_dir=""))  # the files belong to the running agent
    node = Node(census(settings), questions(settings, stage))
    chosen = sources(settings, stage)
    # Checks run when the slowest source has answered; readings of the fast ones must not be stale by then.
    prepare(node, chosen, timeout=sum(sorted(source.deadline for source in chosen)[-3:]) + seconds)
    for reading in _readings(chosen, clock, seconds, notify):
        node.take(reading)
    _compare_with_past(node, results, clock.now())
    node.judge(clock.now())
    return node


def results_file(settings: Settings) -> str:
    """The file for results of active probes; None if no agent has a state directory on this machine."""
    if settings.probes.history:
        return settings.probes.history
    directory = settings.agent.state_dir
    return str(Path(directory) / "probes.jsonl") if directory and Path(directory).is_dir() else ""


def _compare_with_past(node: Node, path: str, now: float) -> None:
    current = kept.record((subject, name, value) for subject, name, value, _ in node.history.latest(now))
    if not path or not current:
        return
    node.take(kept.recall(kept.load(path), current, now))
    if trouble := kept.append(path, current, now):
        log.warning("results of this run are not kept: %s", trouble)


def _readings(chosen: Sequence[Source], clock: AgentClock, seconds: float, notify: Notify) -> list[Reading]:
    quick = [source for source in chosen if source.name not in COSTLY]
    costly = [source for source in chosen if source.name in COSTLY]
    readings = _read_all(quick, clock)
    for source in costly:
        readings += _read_costly(source, clock, notify)
    if seconds > 0:
        threading.Event().wait(seconds)
    if costly or seconds > 0:
        readings += _read_all(quick, clock)
    return readings


def _read_costly(source: Source, clock: AgentClock, notify: Notify) -> list[Reading]:
    if not isinstance(source, ActiveSource):
        notify(source.name, "")
        return _read_all([source], clock)
    source.notify = notify
    notify(source.name, "are loaded")
    try:
        return _read_all([source], clock)
    finally:
        source.stop()


def prepare(node: Node, chosen: Sequence[Source], timeout: float = 0.0) -> None:
    """Register each source's signals and how long its values stay fresh."""
    for source in chosen:
        node.history.promise(source.name, source.carries)
        node.history.expect_freshness(source.name, fresh_seconds(source.every, source.deadline) + timeout)


def fresh_seconds(every: float, deadline: float) -> float:
    """How old a value gets while its source keeps its deadline: a reading is dated by its start, the next one starts
    a cadence later (or when the first is done), and takes its deadline. Within this age no value is stale."""
    return max(every, deadline) + deadline + max(every, LEAST_JITTER_SECONDS)


def _read_all(chosen: Sequence[Source], clock: AgentClock) -> list[Reading]:
    """One thread per source; a source that misses its deadline is reported as silent and left behind."""
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
