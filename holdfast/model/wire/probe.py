"""Probe messages: the request to an agent, the result of a session, and the probe budget of a fleet."""

from dataclasses import dataclass

LARGEST_BYTES = 2 << 30
LONGEST_SECONDS = 600.0
LONGEST_RUN_SECONDS = 3_600.0
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv")
BACKENDS = ("gloo", "nccl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """A node that the leader of a session waits for."""

    name: str
    address: str = ""
    leaf: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """A requested probe run: a collective at growing sizes over some nodes, to find which one is slow."""

    operation: str = "all_reduce"
    backend: str = "gloo"
    smallest: int = 8
    largest: int = LARGEST_BYTES
    pair_bytes: int = 8 << 20
    longest_seconds: float = 10.0
    timeout_seconds: float = 120.0
    fabric: str = ""  # its limits decide which sizes are measured again

    def __post_init__(self) -> None:
        for holds, what, expected in (
            (self.operation in COLLECTIVES, "operation", f"one of {', '.join(COLLECTIVES)}"),
            (self.backend in BACKENDS, "backend", " or ".join(BACKENDS)),
            (0 < self.smallest <= self.largest, "smallest", "at least 1 and at most the largest"),
            (self.largest <= LARGEST_BYTES, "largest", f"at most {LARGEST_BYTES}"),
            (0 < self.pair_bytes <= LARGEST_BYTES, "pair_bytes", f"1 to {LARGEST_BYTES}"),
            (0 < self.longest_seconds <= LONGEST_SECONDS, "longest_seconds", f"at most {LONGEST_SECONDS:g}"),
            (0 < self.timeout_seconds <= LONGEST_SECONDS, "timeout_seconds", f"at most {LONGEST_SECONDS:g}"),
        ):
            _require(holds, f"sweep.{what}", expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest:
    """One rank of a session. Rank 0 leads: it listens at `master` and `port`, and the others connect."""

    peer: str  # for the leader: its only peer, or ''; for the others: the leader
    rank: int
    address: str  # of this node on the fabric, several with commas between; '' lets its own name decide
    master: str
    port: int
    bytes: int
    seconds: float  # from receipt of the request; a participant gives up after this time
    key: str = ""  # only the participants know it
    participants: tuple[Participant, ...] = ()  # for the leader: all participants
    sweep: SweepRequest | None = None  # for the leader of a requested run; otherwise a pair measures once

    def __post_init__(self) -> None:
        for holds, what, expected in (
            (self.rank in (0, 1), "rank", "0 or 1"),
            (0 < self.port < 65_536, "port", "1 to 65535"),
            (0 < self.bytes <= LARGEST_BYTES, "bytes", f"1 to {LARGEST_BYTES}"),
            (0 < self.seconds <= LONGEST_SECONDS, "seconds", f"more than 0 and at most {LONGEST_SECONDS:g}"),
        ):
            _require(holds, f"probe.{what}", expected)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Results of fixed computations on a device. Equal devices with equal libraries give equal bits."""

    subject: str
    kind: str
    bits: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The bandwidth that two nodes measured. 0 bytes per second: the data arrived corrupted."""

    one: str
    other: str
    at: float
    bytes_per_second: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePolicy:
    """How much of an idle fleet may be used to prove its fabric."""

    enabled: bool = False
    """Idle nodes are probed only when an operator switched it on."""
    share: float = 0.1
    """Largest share of the idle nodes in a probe at once; a single pair is always allowed."""
    minutes_per_day: float = 20.0
    """So long at most is one node in probes within any 24 hours, waiting for its partner included."""
    period_hours: float = 24.0
    """Every pair of leaves, and every node, is proven within this, if it is idle often enough."""
    bytes: int = 256 << 20
    """Payload of a session."""
    timeout_seconds: float = 90.0
    """A session that has not ended by then is cancelled. Agents receive the cancellation with their heartbeat, every
    30 s."""
    port: int = 29_477
    """On which the first of a pair listens. A node is in one pair at a time."""

    @property
    def period_seconds(self) -> float:
        return self.period_hours * 3_600.0

    @property
    def seconds_per_day(self) -> float:
        return self.minutes_per_day * 60.0


def _require(holds: bool, what: str, expected: str) -> None:
    if not holds:
        raise ValueError(f"{what}: expected {expected}")
