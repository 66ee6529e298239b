"""A test's result is told after the verdicts that the repair has changed, never beside those from before it."""

import threading
from collections.abc import Collection

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Reading, Signal
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.agent.census import Census
from holdfast.node.agent.clock import AgentClock
from holdfast.node.agent.node import Node, Question
from holdfast.node.agent.reporting.recheck import Recheck
from holdfast.node.agent.runner import Runner
from holdfast.node.checks.check import Check, Limits

NOW = 100.0


class Judging:
    """Plays the judging thread: hears these readings when asked to read, and judges them or not."""

    def __init__(self, *readings: Reading, doubted: Collection[str] = ("nvml",), judges: bool = True) -> None:
        self.asked: list[Collection[str]] = []
        self.look = Recheck(lambda: doubted, self._read_now, lambda: NOW)
        self._readings, self._judges = readings, judges

    def _read_now(self, names: Collection[str]) -> set[str]:
        self.asked.append(names)
        threading.Thread(target=self._turn).start() if self._judges else self._hear()
        return set(names)

    def _hear(self) -> None:
        for reading in self._readings:
            self.look.record(reading)

    def _turn(self) -> None:
        self._hear()
        self.look.evaluated()


def test_it_ends_when_what_was_doubted_is_judged_again() -> None:
    judging = Judging(Reading(source="nvml", at=NOW))
    assert judging.look.take(60.0)
    assert judging.asked == [("nvml",)]


def test_a_reading_that_is_not_judged_yet_does_not_count() -> None:
    assert not Judging(Reading(source="nvml", at=NOW), judges=False).look.take(0.0)


def test_a_reading_begun_before_it_asked_does_not_count() -> None:
    judging = Judging(judges=False)
    judging.look.record(Reading(source="nvml", at=NOW - 0.001))
    judging.look.evaluated()
    assert not judging.look.take(0.0)


def test_every_doubted_source_is_awaited() -> None:
    judging = Judging(doubted=("nvml", "pci"), judges=False)
    judging.look.record(Reading(source="nvml", at=NOW))
    judging.look.evaluated()
    assert not judging.look.take(0.0)
    judging.look.record(Reading(source="pci", at=NOW))
    judging.look.evaluated()
    assert judging.look.take(0.0)


def test_where_nothing_fails_nothing_is_read() -> None:
    judging = Judging(doubted=())
    assert judging.look.take(0.0)
    assert judging.asked == []


def test_only_the_sources_of_failing_checks_are_doubted() -> None:
    def question(name: str, signal: str, health: Health, event_kinds: tuple[str, ...] = ()) -> Question:
        def judge(window: Window, limits: Limits) -> Verdict:
            window.value(window.node, signal)
            return Verdict(rows=(Row(window.node, health),))

        check = Check(
            name=name,
            asks="?",
            about="node",
            part="host",
            reads=(signal,),
            judge=judge,
            failure_class=FailureClass.CRASH,
            event_kinds=event_kinds,
        )
        return Question(check)

    def doubted(*questions: Question) -> set[str]:
        node = Node(Census("n01"), questions)
        for source, signal in (("bad", "x"), ("good", "y")):
            node.take(Reading(source=source, at=NOW, signals=[Signal("node/n01", signal, 1.0)]))
        node.judge(NOW)
        return node.doubted_sources()

    passes = question("a.passes", "y", Health.PASS, event_kinds=("xid",))
    assert doubted(question("a.fails", "x", Health.FAIL), passes) == {"bad"}
    assert doubted(question("a.fails", "x", Health.FAIL, event_kinds=("xid",)), passes) == {"bad", "repairs"}


class Rare:
    name = "nvml"
    every = 3600.0
    deadline = 10.0
    carries = ("x",)

    def read(self, now: float) -> Reading:
        return Reading(source=self.name, at=now)


class Flow(Rare):
    name = "kmsg"

    def wait(self, seconds: float) -> bool:
        return False


def test_a_source_is_read_before_it_is_due_when_asked() -> None:
    runner = Runner([Rare()], AgentClock())
    runner.start()
    runner.readings.get(timeout=60)
    assert runner.read_now(("nvml", "unheard_of")) == {"nvml"}
    assert runner.readings.get(timeout=60).source == "nvml"
    runner.stop()


def test_no_one_waits_for_a_stream() -> None:
    assert Runner([Flow()], AgentClock()).read_now(("kmsg",)) == set()
