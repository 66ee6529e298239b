"""Keeper report: which checkpoint copies a keeper holds in memory and which of them are in storage."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.model.wire.progress import LARGEST_STEP, LONGEST_NAME, MOST_RANKS

MOST_STEPS = 6  # three in memory, two in storage, one on its way
MOST_HELD = 256  # ranks of one step in one place of a node
MOST_TROUBLES = 8
LONGEST_TROUBLE = 300
MOST_BYTES = 2**53 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldStep:
    """The ranks whose shard of one step is in each place."""

    step: int
    own: tuple[int, ...] = ()  # shards of this node, in its memory
    partners: tuple[int, ...] = ()  # shards of other nodes, in this node's memory
    stored: tuple[int, ...] = ()  # shards of this node, in storage
    gpu: tuple[int, ...] = ()  # shards of this node, in GPU memory too

    def __post_init__(self) -> None:
        """Refuses values out of bounds, also when a message is decoded."""
        _require(0 <= self.step <= LARGEST_STEP, "step", "a step number")
        for ranks in (self.own, self.partners, self.stored, self.gpu):
            _require_ranks(ranks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """The copies of one keeper. A step of -1 means none."""

    node: str  # the job's name of the node; in tests, several keepers on one machine act as nodes
    run: str = ""  # the run of the job that it belongs to; an excluded node stays in an earlier one
    ranks: tuple[int, ...] = ()  # ranks of this node
    world: int = 0
    replicas: int = 0  # nodes that hold each rank's shard; 0: no rank has joined
    committed_step: int = -1  # safe on `replicas` nodes, for every rank of the job
    used_bytes: int = 0
    budget_bytes: int = 0
    steps: tuple[HeldStep, ...] = ()
    troubles: tuple[str, ...] = ()
    storage_unknown: str = ""  # why the state of storage is unknown

    def __post_init__(self) -> None:
        _require(len(self.node) <= 255 and self.node.isprintable(), "node", "a host name")
        _require(len(self.run) <= LONGEST_NAME and self.run.isprintable(), "run", "a short name")
        _require_ranks(self.ranks)
        _require(0 <= self.world <= MOST_RANKS and 0 <= self.replicas <= MOST_RANKS, "world", "a count of ranks")
        _require(-1 <= self.committed_step <= LARGEST_STEP, "committed_step", "a step number")
        sizes = (self.used_bytes, self.budget_bytes)
        _require(all(0 <= size <= MOST_BYTES for size in sizes), "bytes", f"0 to {MOST_BYTES}")
        _require(len(self.steps) <= MOST_STEPS, "steps", f"at most {MOST_STEPS}")
        _require(len(self.troubles) <= MOST_TROUBLES, "troubles", f"at most {MOST_TROUBLES}")
        for sentence in (*self.troubles, self.storage_unknown):
            _require(len(sentence) <= LONGEST_TROUBLE and sentence.isprintable(), "troubles", "short printable text")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperReport:
    """A keeper of one job, as it reported to its node's agent."""

    job: str
    owner: str  # the reporting user, from the socket's peer credentials
    unsaved_step: int
    holds: Holdings

    def __post_init__(self) -> None:
        for name in (self.job, self.owner):
            _require(0 < len(name) <= LONGEST_NAME, "a name", f"1 to {LONGEST_NAME} characters")
        _require(-1 <= self.unsaved_step <= LARGEST_STEP, "unsaved_step", "a step number")


def _require_ranks(ranks: Sequence[int]) -> None:
    _require(len(ranks) <= MOST_HELD, "ranks", f"at most {MOST_HELD}")
    _require(all(0 <= rank < MOST_RANKS for rank in ranks), "ranks", "numbers of at least 0")


def _require(holds: bool, what: str, expected: str) -> None:
    if not holds:
        raise ValueError(f"keeper's field {what}: expected {expected}")
