"""API view of the fabric: when each pair of leaves was proven, suspects, and the next sessions."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from itertools import combinations_with_replacement
from typing import Any

from holdfast.fleet.probe_sessions.probing import Probing
from holdfast.fleet.probe_sessions.runs import ProbeRun
from holdfast.model.wire.probe import SweepRequest

MOST_HISTORY = 400


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
    """Two nodes met and measured."""

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
    leaves: tuple[LeafPairView, ...]
    """Every pair of leaves, those of one leaf with itself included."""
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
    return ProbesView(
        enabled=probing.policy.enabled,
        at=now,
        period_seconds=probing.policy.period_seconds,
        usual_bytes_per_second=usual,
        sessions=len(probing.coverage),
        leaves=tuple(_leaves(probing, usual, now)),
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


def _leaves(probing: Probing, usual: float | None, now: float) -> list[LeafPairView]:
    known = Counter(leaf for leaf in probing.leaves.values() if leaf)
    last = probing.coverage.last_of_leaves()
    found = []
    for leaves in combinations_with_replacement(sorted(known), 2):
        if leaves[0] == leaves[1] and known[leaves[0]] < 2:
            continue
        proof = last.get(leaves)
        if proof is not None and proof.at < now - probing.policy.period_seconds:
            proof = None
        rate = proof.bytes_per_second if proof else None
        found.append(
            LeafPairView(
                one=leaves[0],
                other=leaves[1],
                proven_at=proof.at if proof else None,
                bytes_per_second=rate,
                ratio=rate / usual if rate is not None and usual else None,
            )
        )
    return found


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
