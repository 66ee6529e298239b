"""A series: one signal of one subject, kept as runs. The current run is extended in place, because most values hold."""

from holdfast.model.signal import Value
from holdfast.model.window import Run

MAX_RUNS = 4096


class Series:
    __slots__ = ("end", "past", "start", "value")

    def __init__(self, at: float, value: Value) -> None:
        self.past: list[Run] = []
        self.start = self.end = at
        self.value = value

    def change(self, value: Value, at: float, holds: float, keep: float) -> None:
        """A new value. The old one held until now as far as anyone can tell, but not longer than it stays fresh."""
        until = max(self.end, min(at, self.end + holds))
        self.past.append(Run(self.start, until, self.value))
        self.start = self.end = max(at, until)
        self.value = value
        oldest = at - keep
        while self.past and (self.past[0].end < oldest or len(self.past) >= MAX_RUNS):
            self.past.pop(0)

    def runs(self, since: float) -> list[Run]:
        """The runs that reach into the span, clipped to it."""
        found = [run if run.start >= since else Run(since, run.end, run.value) for run in self.past if run.end >= since]
        if self.end >= since:
            found.append(Run(max(self.start, since), self.end, self.value))
        return found
