"""API view of the fabric: when each pair of leaves was proven, suspects, and the next sessions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import combinations_with_replacement
from typing import Any

from holdfast.fleet.probe_sessions.probing import Probing
from holdfast.fleet.probe_sessions.runs import ProbeRun
from holdfast.model.wire.probe import Proof, SweepRequest

MOST_HISTORY = 400
MOST_PAIRS = 2_080  # pairs of 64 leaves; a fleet of 12,500 nodes has 76,000 pairs, too many to show


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPairView:
    one: str
    other: str
    proven_at: float | None
    """When two of their nodes last met; None: not within the period."""
    bytes_per_second: float | None
    ratio: float | None
    """To the usual rate of this fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSuspectView:
    subject: str
    loss: float
    confidence: float
    confirmed: bool
    """Slow again with a known-good partner; no node is quarantined before that."""
    slow: int
    measured: int
    evidence: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSessionView:
    one: str
    other: str
    why: str
    since: float | None = None
    """When it was ordered; None: it comes next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTroubleView:
    node: str
    at: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofView:
    """A measurement between two nodes."""

    at: float
    one: str
    other: str
    bytes_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRunRequest:
    nodes: tuple[str, ...]
    reason: str
    sweep: SweepRequest = field(default_factory=SweepRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRunView:
    number: int
    nodes: tuple[str, ...]
    reason: str
    since: float
    ordered: tuple[str, ...]
    """Nodes that fetched their order. Agents do so with their reports, at most 30 s apart."""
    leader: str
    """The first of them: it leads and reports."""
    at: str
    """The current step."""
    ended: float | None
    report: dict[str, Any] | None
    """What was found, as `holdfast probe run --json` prints it; None while it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbesView:
    enabled: bool
    at: float
    period_seconds: float
    usual_bytes_per_second: float | None
    sessions: int
    """Within the period."""
    pairs: int
    """Of leaves, those of one leaf with itself included."""
    proven: int
    """Pairs whose nodes met within the period."""
    leaves: tuple[LeafPairView, ...]
    """Every pair; where there are too many, only proven ones, the slowest first."""
    suspects: tuple[ProbeSuspectView, ...]
    running: tuple[ProbeSessionView, ...]
    next: tuple[ProbeSessionView, ...]
    troubles: tuple[ProbeTroubleView, ...]
    """Nodes that could not take part: unknown, not slow."""
    history: tuple[ProofView, ...] = ()
    """The newest sessions of the period, oldest first."""
    runs: tuple[ProbeRunView, ...] = ()
    """Requested by operators, and under way."""


def view(probing: Probing, now: float) -> ProbesView:
    usual = probing.blame.typical_bytes_per_second
    sessions = [
        ProbeSessionView(one=one.nodes[0], other=one.nodes[1], why=one.why, since=one.since)
        for one in probing.sessions.running()
    ]
    planned = probing.plan(now) if probing.policy.enabled else []
    pairs, proofs = _pairs(probing, now)
    return ProbesView(
        enabled=probing.policy.enabled,
        at=now,
        period_seconds=probing.policy.period_seconds,
        usual_bytes_per_second=usual,
        sessions=len(probing.coverage),
        pairs=pairs,
        proven=len(proofs),
        leaves=tuple(_leaves(probing, pairs, proofs)),
        suspects=tuple(
            ProbeSuspectView(
                subject=one.part,
                loss=one.loss,
                confidence=one.confidence,
                confirmed=one.confirmed,
                slow=one.slow,
                measured=one.measured,
                evidence=one.evidence[:8],
            )
            for one in probing.blame.suspects
        ),
        running=tuple(sessions),
        next=tuple(ProbeSessionView(one=one.nodes[0], other=one.nodes[1], why=one.why) for one in planned),
        troubles=tuple(
            ProbeTroubleView(node=node, at=at, reason=why) for node, (at, why) in sorted(probing.troubles.items())
        ),
        history=tuple(
            ProofView(at=one.at, one=one.one, other=one.other, bytes_per_second=one.bytes_per_second)
            for one in list(probing.coverage)[-MOST_HISTORY:]
        ),
        runs=tuple(view_run(run) for run in probing.runs.under_way()),
    )


def _pairs(probing: Probing, now: float) -> tuple[int, dict[tuple[str, str], Proof]]:
    """Number of pairs of leaves, and the last proof of each pair within the period."""
    known = _known(probing)
    own = sum(nodes >= 2 for nodes in known.values())
    since = now - probing.policy.period_seconds
    proofs = {
        pair: proof
        for pair, proof in probing.coverage.last_of_leaves().items()
        if proof.at >= since and pair[0] in known and pair[1] in known
    }
    return len(known) * (len(known) - 1) // 2 + own, proofs


def _known(probing: Probing) -> Counter[str]:
    return Counter(leaf for leaf in probing.leaves.values() if leaf)


def _leaves(probing: Probing, pairs: int, proofs: Mapping[tuple[str, str], Proof]) -> list[LeafPairView]:
    usual = probing.blame.typical_bytes_per_second
    if pairs > MOST_PAIRS:
        slowest = sorted(proofs, key=lambda pair: (proofs[pair].bytes_per_second, pair))[:MOST_PAIRS]
        return [_pair(pair, proofs[pair], usual) for pair in slowest]
    known = _known(probing)
    every = combinations_with_replacement(sorted(known), 2)
    return [_pair(pair, proofs.get(pair), usual) for pair in every if pair[0] != pair[1] or known[pair[0]] >= 2]


def _pair(leaves: tuple[str, str], proof: Proof | None, usual: float | None) -> LeafPairView:
    rate = proof.bytes_per_second if proof else None
    return LeafPairView(
        one=leaves[0],
        other=leaves[1],
        proven_at=proof.at if proof else None,
        bytes_per_second=rate,
        ratio=rate / usual if rate is not None and usual else None,
    )


def view_run(run: ProbeRun) -> ProbeRunView:
    return ProbeRunView(
        number=run.number,
        nodes=run.nodes,
        reason=run.reason,
        since=run.since,
        ordered=tuple(run.orders),
        leader=run.leader,
        at=run.at,
        ended=run.ended,
        report=asdict(run.report) if run.report else None,
    )
