"""The agent in virtual time: the same sources, history and checks, driven by a loop instead of clocks."""

from collections.abc import Callable

from holdfast.model.settings import Settings
from holdfast.node.agent.assemble import census, questions, sources
from holdfast.node.agent.node import CheckChange, Node
from holdfast.node.agent.once import prepare
from holdfast.node.agent.runner import read_guarded


class VirtualAgent:
    """Runs hours of a node in seconds, for tests, benches and the simulated fleet."""

    def __init__(self, settings: Settings, now: float, stage: str = "passive") -> None:
        self.now = now
        self.node = Node(census(settings), questions(settings, stage))
        self.sources = sources(settings, stage)
        self.changes: list[CheckChange] = []
        prepare(self.node, self.sources)
        self._due = {source.name: now for source in self.sources}

    def advance(self, seconds: float, each_second: Callable[[float], None] | None = None) -> list[CheckChange]:
        """Let time pass a second at a time; every source is read when it is due, every change is returned."""
        seen: list[CheckChange] = []
        for _ in range(round(seconds)):
            self.now += 1.0
            if each_second:
                each_second(self.now)
            for source in self.sources:
                if self._due[source.name] <= self.now:
                    self._due[source.name] = self.now + max(1.0, source.every)
                    self.node.take(read_guarded(source, self.now))
            seen += self.node.judge(self.now)
        self.changes += seen
        return seen
