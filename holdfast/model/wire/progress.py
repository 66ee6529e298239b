"""Progress report: the steps of one rank over some seconds, sent by its process to the agent of its node."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

LONGEST_NAME = 128
MOST_RANKS = 1_000_000
MOST_LINKS = 32
LARGEST_STEP = 2**53 - 1
WINDOW_SECONDS = 10.0  # length of a report's window


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWindow:
    """Times are of the steps that ended in the window; each step counts from the end of the one before."""

    job: str
    owner: str  # the reporting user, from the socket's peer credentials: 'uid-1000'
    rank: int
    world: int
    session: str  # identifies one run of the process
    began: float  # when this process began to report
    at: float  # end of the last step; without a step, the end of the window
    step: int = -1  # the last step that was made
    steps: int = 0
    seconds: float = 0.0
    data_seconds: float = 0.0
    compute_seconds: float = 0.0
    wait_seconds: float = 0.0  # in communication: waiting for late ranks, and the transfer itself
    checkpoint_seconds: float = 0.0
    own_seconds: float = 0.0  # median compute time of a step; compared with the peers
    split: bool = False  # whether waiting is measured separately from computing
    tokens: float = 0.0
    loss: float | None = None
    gradient_norm: float | None = None
    saved_step: int = -1  # the newest saved step
    gpu: int | None = None
    group: str = ""  # ranks of one group do the same work
    links: Mapping[str, float] = field(default_factory=dict)  # median seconds in each named communication of a step
    ended: str = ""  # closed: it reported its end; gone: its process ended without a report
    dropped: int = 0  # steps that were never reported, so far

    def __post_init__(self) -> None:
        """Refuses values out of bounds, also when a message is decoded."""
        for name in (self.job, self.owner, self.session):
            _require(0 < len(name) <= LONGEST_NAME, "a name", f"1 to {LONGEST_NAME} characters")
        _require(len(self.group) <= LONGEST_NAME, "group", f"at most {LONGEST_NAME} characters")
        _require(0 <= self.rank < self.world <= MOST_RANKS, "rank", "0 <= rank < world")
        _require(-1 <= self.step <= LARGEST_STEP and -1 <= self.saved_step <= LARGEST_STEP, "step", "a step number")
        _require(self.gpu is None or 0 <= self.gpu < 1024, "gpu", "0 to 1023")
        _require(len(self.links) <= MOST_LINKS, "links", f"at most {MOST_LINKS}")
        _require(all(len(name) <= LONGEST_NAME for name in self.links), "links", f"names of at most {LONGEST_NAME}")
        times = (
            self.seconds, self.data_seconds, self.compute_seconds, self.wait_seconds, self.checkpoint_seconds,
            self.own_seconds, self.tokens, self.steps, self.dropped, *self.links.values(),
        )  # fmt: skip
        _require(all(0 <= one <= 1e15 for one in times), "a time", "a finite number of at least 0")  # and so no NaN
        _require(all(map(isfinite, (self.loss or 0.0, self.gradient_norm or 0.0))), "loss or norm", "a finite number")
        _require(all(-1e11 <= one <= 1e11 for one in (self.at, self.began)), "at or began", "seconds since the epoch")


def _require(holds: bool, what: str, expected: str) -> None:
    if not holds:
        raise ValueError(f"progress field {what}: expected {expected}")
