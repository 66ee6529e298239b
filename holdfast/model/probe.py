"""A probe between two nodes: what an agent is asked, what a meeting proved, and how much may be asked of a fleet."""

from dataclasses import dataclass

LARGEST_BYTES = 2 << 30
LONGEST_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAsk:
    """One end of a meeting. Both ends get the same `master` and `port`; rank 0 listens there."""

    peer: str
    rank: int
    address: str  # of this node on the fabric; '' lets its own name decide
    master: str
    port: int
    bytes: int
    seconds: float  # from when it is received: whoever has not met by then gives up

    def __post_init__(self) -> None:
        for holds, what, expected in (
            (self.rank in (0, 1), "rank", "0 or 1"),
            (0 < self.port < 65_536, "port", "1 to 65535"),
            (0 < self.bytes <= LARGEST_BYTES, "bytes", f"1 to {LARGEST_BYTES}"),
            (0 < self.seconds <= LONGEST_SECONDS, "seconds", f"more than 0 and at most {LONGEST_SECONDS:g}"),
        ):
            if not holds:
                raise ValueError(f"probe.{what}: expected {expected}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What two nodes reached when they met. 0 bytes a second: what arrived was wrong."""

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
    """Of the idle nodes, so many at most are in a probe at once; a single pair may always be."""
    minutes_per_day: float = 20.0
    """So long at most is one node in probes within any 24 hours, waiting for its partner included."""
    period_hours: float = 24.0
    """Every pair of leaves, and every node, is proven within this, if it is idle often enough."""
    bytes: int = 256 << 20
    """Payload of a meeting."""
    patience_seconds: float = 90.0
    """A meeting that has not ended by then is given up: agents hear of it with their heartbeat, 30 s apart."""
    port: int = 29_477
    """On which the first of a pair listens. A node is in one pair at a time."""

    @property
    def period_seconds(self) -> float:
        return self.period_hours * 3_600.0

    @property
    def seconds_per_day(self) -> float:
        return self.minutes_per_day * 60.0
