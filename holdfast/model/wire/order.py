"""Orders of the controller to an agent, and the acknowledgement of reports that carries them."""

from dataclasses import dataclass

from holdfast.model.wire.probe import ProbeRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One action for the agent of a node. The agent refuses verbs that its own configuration does not allow."""

    id: int
    verb: str
    suite: str = ""
    reason: str = ""
    key: str = ""
    """The action's own key. Agents know an order by it: a lost store counts its ids from 1 again."""
    probe: ProbeRequest | None = None
    """Of the verb `probe`: the partner, and where to meet it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The controller's answer to a prolog: may work start on this node now?"""

    node: str
    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """Sent after the reports are committed. False means that the report was already stored."""

    accepted: tuple[bool, ...]
    orders: tuple[Order, ...] = ()
    resend_all: bool = False
    """The store lacks earlier reports of this agent: it sends every current verdict again."""
    cancel: tuple[int, ...] = ()
    """Orders to stop: probes on a node that is needed."""
    renew: bool = False
    """The credential expires soon: the agent asks for a new one."""
    closed: str = ""
    """Why no work may start on the node; the gate prints it. '' where it may."""
    dropped: int = 0
    """Number of events and subjects that were dropped: a node may report only about itself and its jobs."""
    flush_seconds: float = 0.0
    """The node is about to be released: training state in its memory must be in storage within this time. 0: no."""
