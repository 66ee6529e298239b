"""The coverage of the fabric, as the API shows it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations_with_replacement

from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.probe_sessions.probing import Probing
from holdfast.fleet.probe_sessions.runs import Run
from holdfast.fleet.probe_sessions.views import (
    LeafPairView,
    ProbeRunView,
    ProbeSessionView,
    ProbeSuspectView,
    ProbesView,
    ProbeTroubleView,
    ProofView,
)

MOST_HISTORY = 400


def show(transaction: Transaction, fresh: Sequence[bool]) -> ProbesView:
    return view(transaction.fleet.probing, transaction.now)


def view(probing: Probing, now: float) -> ProbesView:
    usual = probing.blame.typical_bytes_per_second
    sessions = [
        ProbeSessionView(one=one.nodes[0], other=one.nodes[1], why=one.why, since=one.since)
        for one in probing.sessions.running()
    ]
    planned = probing.next_meetings(now) if probing.policy.enabled else []
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


def view_run(run: Run) -> ProbeRunView:
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
