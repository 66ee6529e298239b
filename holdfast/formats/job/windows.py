"""Steps of one rank aggregated into windows, from live messages or a file."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from statistics import median_low

from holdfast.formats.job.progress import Ended, Hello, Message, ProgressStep, Steps
from holdfast.model.wire.progress import MOST_LINKS, WINDOW_SECONDS, RankWindow

LARGEST = 1e15  # limit of each sum
MOST_KEPT = 1_024  # the median of a window is that of its first step times


@dataclass(slots=True)
class _Sums:
    steps: int = 0
    seconds: float = 0.0
    data: float = 0.0
    compute: float = 0.0
    wait: float = 0.0
    checkpoint: float = 0.0
    tokens: float = 0.0
    loss: float | None = None
    gradient_norm: float | None = None
    own: list[float] = field(default_factory=list)
    links: dict[str, list[float]] = field(default_factory=dict)

    def add(self, row: ProgressStep) -> None:
        self.steps += 1
        self.seconds += row.seconds
        self.data += row.data
        self.compute += row.compute
        self.wait += row.wait
        self.checkpoint += row.checkpoint
        self.tokens = min(self.tokens + row.tokens, LARGEST)
        self.loss = _reported(row.loss, self.loss)
        self.gradient_norm = _reported(row.gradient_norm, self.gradient_norm)
        _keep(self.own, row.compute)
        for name, seconds in (row.links or {}).items():
            if name in self.links or len(self.links) < MOST_LINKS:
                _keep(self.links.setdefault(name, []), seconds)


class WindowTally:
    """Adds up the steps of one rank from its start to its end. The receiver's clock sets the windows."""

    def __init__(self, hello: Hello, owner: str) -> None:
        self.hello = hello
        self._owner = owner
        self._sums = _Sums()
        self._split, self._saved, self._dropped = False, -1, 0
        self._at, self._step = hello.began, -1
        self._reported: tuple[int, int] | None = None  # step and saved step of the last window
        self._ended = ""

    def add(self, steps: Steps) -> None:
        for row in steps.rows:
            self._sums.add(row)
            self._at, self._step = row.at, row.step
        self._split = self._split or steps.split
        self._saved, self._dropped = steps.saved_step, steps.dropped

    def end(self, how: str) -> None:
        self._ended = self._ended or how

    @property
    def ended(self) -> bool:
        return bool(self._ended)

    def cut(self, now: float) -> RankWindow | None:
        """The window of the steps since the last call; None if nothing is new."""
        sums, self._sums = self._sums, _Sums()
        if not sums.steps and not self._ended and self._reported == (self._step, self._saved):
            return None
        self._reported = (self._step, self._saved)
        hello = self.hello
        return RankWindow(
            job=hello.job,
            owner=self._owner,
            rank=hello.rank,
            world=hello.world,
            session=hello.session,
            began=min(hello.began, now),
            at=min(self._at, now) if sums.steps or self._ended else now,
            step=self._step,
            steps=sums.steps,
            seconds=sums.seconds,
            data_seconds=sums.data,
            compute_seconds=sums.compute,
            wait_seconds=sums.wait,
            checkpoint_seconds=sums.checkpoint,
            own_seconds=median_low(sums.own) if sums.own else 0.0,
            split=self._split,
            tokens=sums.tokens,
            loss=sums.loss,
            gradient_norm=sums.gradient_norm,
            saved_step=self._saved,
            gpu=hello.gpu,
            group=hello.group,
            links={name: median_low(found) for name, found in sums.links.items()},
            ended=self._ended,
            dropped=self._dropped,
        )


def windows(messages: Iterable[Message], owner: str) -> list[RankWindow]:
    """The windows of a whole file, cut as the agent cuts them."""
    found: list[RankWindow | None] = []
    tally: WindowTally | None = None
    edge = float("-inf")
    for message in messages:
        match message:
            case Hello():
                if tally is not None:
                    tally.end("gone")
                    found.append(tally.cut(message.began))
                tally = WindowTally(message, owner)
            case Steps() if tally is not None:
                for row in message.rows:
                    if row.at - edge >= WINDOW_SECONDS:
                        found.append(tally.cut(row.at))
                        edge = row.at - row.at % WINDOW_SECONDS
                    tally.add(Steps([row], message.split, message.saved_step, message.dropped))
            case Ended() if tally is not None:
                tally.end("closed")
    if tally is not None:
        found.append(tally.cut(float("inf")))
    return [one for one in found if one is not None and (one.steps or one.ended)]


def _reported(value: float | None, before: float | None) -> float | None:
    return value if value is not None and isfinite(value) else before


def _keep(values: list[float], value: float) -> None:
    if len(values) < MOST_KEPT:
        values.append(value)
