"""Work of a running job between interruptions. Checkpoints are computed in closed form, not one by one."""

from math import ceil

from holdfast.economics.simulation.scenario import Checkpoints

A_MOMENT = 1e-6  # seconds; work within this of its end counts as done, because sums of floats are inexact
Point = tuple[float, float, float]
"""Productive, degraded and checkpoint seconds when something was saved."""


class WorkCycle:
    """Position of a running job in its cycles, in seconds. A cycle is computing, then a write, sometimes to storage."""

    __slots__ = ("_computed", "_index", "_long", "_per_storage", "_short", "_tau", "_written", "checkpoint", "degraded",
                 "memory", "productive", "rework", "saves", "speed", "storage")  # fmt: skip

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._tau, self._per_storage = checkpoints.cycle, checkpoints.per_storage
        self._short, self._long = checkpoints.short_write, checkpoints.write
        self.productive = self.degraded = self.checkpoint = self.rework = 0.0
        self.speed = 1.0
        self.saves = 0
        self._computed = self._written = 0.0
        self._index = 0  # cycles since the last write to storage
        self.memory: Point = (0.0, 0.0, 0.0)
        self.storage: Point = self.memory

    def advance(self, seconds: float) -> None:
        if self._computed or self._written:
            seconds = self._finish_cycle(seconds)
            if seconds < 0:
                return
        seconds = self._short_cycles(seconds)
        if self._index == self._per_storage - 1 and (long := self._tau / self.speed + self._long) <= seconds:
            self._save(0, 1)
            seconds -= long
        if self._index == 0:
            whole = self._per_storage * self._tau / self.speed + (self._per_storage - 1) * self._short + self._long
            rounds = int(seconds // whole)
            if rounds:
                self._save(rounds * (self._per_storage - 1), rounds)
                seconds -= rounds * whole
            seconds = self._short_cycles(seconds)
        if seconds > 0:
            self._finish_cycle(seconds)

    def _short_cycles(self, seconds: float) -> float:
        if self._per_storage == 1:
            return seconds
        length = self._tau / self.speed + self._short
        number = min(self._per_storage - 1 - self._index, int(seconds // length))
        if number <= 0:
            return seconds
        self._save(number, 0)
        return seconds - number * length

    def _save(self, short: int, long: int) -> None:
        """Counts whole cycles; the last write becomes the point to roll back to."""
        number = short + long
        self.productive += number * self._tau
        self.degraded += number * (self._tau / self.speed - self._tau)
        self.checkpoint += short * self._short + long * self._long
        self._saved(number, long > 0)

    def _saved(self, number: int, to_storage: bool) -> None:
        self.saves += number
        self.memory = (self.productive, self.degraded, self.checkpoint)
        if to_storage:
            self.storage = self.memory
            self._index = 0
        else:
            self._index += number

    def _finish_cycle(self, seconds: float) -> float:
        """Seconds left after the end of the cycle; negative if the cycle did not end."""
        if not self._written:
            need = (self._tau - self._computed) / self.speed
            spent = min(seconds, need)
            done = spent * self.speed
            self.productive += done
            self.degraded += spent - done
            if seconds < need - A_MOMENT:
                self._computed += done
                return -1.0
            seconds -= spent
            self._computed = self._tau
        rest = self._write_length - self._written
        if seconds < rest - A_MOMENT:
            self._written += seconds
            self.checkpoint += seconds
            return -1.0
        spent = min(seconds, rest)
        self.checkpoint += spent
        self._computed = self._written = 0.0
        self._saved(1, self._index == self._per_storage - 1)
        return seconds - spent

    @property
    def _write_length(self) -> float:
        return self._long if self._index == self._per_storage - 1 else self._short

    def go_back(self, point: Point) -> None:
        """Rolls the job back to a point; the work since is repeated. A later point changes nothing."""
        lost = self.productive + self.degraded + self.checkpoint - sum(point)
        if lost < 0:
            return
        self.rework += lost
        self.productive, self.degraded, self.checkpoint = point
        self._computed = self._written = 0.0
        if point is not self.memory:
            self.memory = self.storage = min(self.storage, point)
            self._index = 0

    def seconds_to_save(self) -> float:
        """Seconds until the next write is complete."""
        return (self._tau - self._computed) / self.speed + self._write_length - self._written

    def seconds_until(self, work: float) -> float:
        """Seconds until this much work is productive, without interruptions."""
        left, computed, index, wall = work - self.productive, self._computed, self._index, 0.0
        if self._written:
            wall, computed = self._write_length - self._written, 0.0
            index = (index + 1) % self._per_storage
        if left <= self._tau - computed:
            return wall + max(0.0, left) / self.speed
        wall += (self._tau - computed) / self.speed + (self._long if index == self._per_storage - 1 else self._short)
        left -= self._tau - computed
        index = (index + 1) % self._per_storage
        cycles = max(0, ceil(left / self._tau) - 1)
        longs = (index + cycles) // self._per_storage
        wall += cycles * self._tau / self.speed + longs * self._long + (cycles - longs) * self._short
        return wall + (left - cycles * self._tau) / self.speed
