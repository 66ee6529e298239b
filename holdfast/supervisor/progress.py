"""A run's own output: its progress, how long it may be silent, and errors that confirm a presumed loss."""

from collections import deque
from dataclasses import dataclass

from holdfast.catalog import job_messages
from holdfast.formats.job import line as job_line
from holdfast.formats.job import message as job_message
from holdfast.formats.job import training_steps

_SAVES = next(group for group in job_messages.groups() if group.kind == "save")
_SAVE_WORDS = tuple(keyword.encode() for keyword in _SAVES.keywords)
_LOSSES = tuple(group for group in job_messages.groups() if group.kind in ("nccl.completion", "nccl.async"))
_LOSS_WORDS = tuple({keyword.encode() for group in _LOSSES for keyword in group.keywords})
_LOSS_CAUSES = ("fabric.retry_exceeded", "fabric.port_down", "fabric.hca")
_RECENT = 64
_ENOUGH = 3  # intervals before their length says anything


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Progress in one line of output: a step, or a save that began or ended."""

    step: int | None = None
    save: str = ""  # begin, end


def in_line(line: bytes) -> JobProgress | None:
    if any(word in line for word in training_steps.COMMON):
        found = training_steps.parse(line.rstrip(b"\r\n"), 0)
        if found is not None and found.step is not None:
            return JobProgress(step=found.step)
    if any(word in line for word in _SAVE_WORDS):
        save = job_message.find(_SAVES, job_line.decode(line.rstrip(b"\r\n"), 0))
        if save is not None and save.event.code in ("begin", "end"):
            return JobProgress(save=str(save.event.code))
    return None


class ProgressSilence:
    """Learns the gaps between progress lines, including saves and evaluations. `now` is any monotonic clock."""

    def __init__(self, factor: float, floor_seconds: float) -> None:
        self._factor, self._floor = factor, floor_seconds
        self._gaps: deque[float] = deque(maxlen=_RECENT)
        self._longest = 0.0
        self._last: float | None = None

    def progress(self, now: float) -> None:
        if self._last is not None:
            self._gaps.append(now - self._last)
            self._longest = max(self._longest, now - self._last)
        self._last = now

    @property
    def last(self) -> float | None:
        return self._last

    @property
    def usual(self) -> float | None:
        """The median gap between lines; None until enough were seen."""
        return sorted(self._gaps)[len(self._gaps) // 2] if len(self._gaps) >= _ENOUGH else None

    @property
    def limit(self) -> float | None:
        """The longest normal silence: a multiple of the longest gap so far, and never below the floor."""
        return None if self.usual is None else max(self._floor, self._factor * self._longest)

    def seconds(self, now: float) -> float:
        return 0.0 if self._last is None else now - self._last

    def is_too_long(self, now: float) -> bool:
        return self.limit is not None and self.seconds(now) > self.limit


def confirms_loss(line: bytes) -> bool:
    """A completion or retry error that no transport recovers from."""
    if not any(word in line for word in _LOSS_WORDS):
        return False
    read = job_line.decode(line.rstrip(b"\r\n"))
    return any(
        found.role == "strong" and found.cause in _LOSS_CAUSES
        for group in _LOSSES
        if (found := job_message.find(group, read)) is not None
    )
