"""Blame for slow probe sessions: suspects, nodes to probe again, trusted nodes. Pure.

A failed session makes suspects. A suspect is confirmed only if it is slow again with a known-good partner.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.model.wire.probe import Proof
from holdfast.node.probes.isolation import isolation
from holdfast.node.probes.isolation.coverage import JUDGED_OF_A_NODE, Coverage
from holdfast.node.probes.isolation.isolation import Limits, Measured, PairBaseline, SuspectPart
from holdfast.node.probes.isolation.pairing import pair

CERTAINLY_FINE = 3  # fast sessions over a part, in a row, that clear it
MEASUREMENTS = JUDGED_OF_A_NODE
RECENT = 10_000
SHARED_PARTS = ("leaf", "uplinks", "trunk")
FEW_NODES = 4  # trusted nodes of a leaf: enough to find one that is not the suspect
LIES_APART = 1.5  # factor by which the spread of the others must shrink without the suspects
# Stricter than for a manual probe: a fleet is evaluated many times a day, and each time may be wrong.
LIMITS = Limits(odds=1e6, least_loss=0.2)


@dataclass(frozen=True, slots=True)
class Blame:
    suspects: tuple[SuspectPart, ...] = ()
    doubts: tuple[str, ...] = ()
    """Parts to measure again, the most urgent first; confirmed ones are not among them."""
    trusted: tuple[str, ...] = ()
    baseline: PairBaseline | None = None

    @property
    def confirmed(self) -> tuple[SuspectPart, ...]:
        return tuple(one for one in self.suspects if one.confirmed)

    @property
    def typical_bytes_per_second(self) -> float | None:
        return math.exp(self.baseline.centre) if self.baseline else None


def blame(coverage: Coverage, leaves: Mapping[str, str], since: Mapping[str, float]) -> Blame:
    """Evaluates sessions. `since`: sessions of a node up to this time do not count, because it was repaired then."""
    judged = coverage.judged(since)
    if not judged:
        return Blame()
    measured = [_measured(proof) for proof in judged]
    baseline = _usual(measured, leaves)
    found = isolation.suspects(measured, isolation.leaf_parts(leaves), baseline, LIMITS)
    if repaired := _fine_since([one.part for one in found], coverage, leaves, baseline):
        measured = [_measured(proof) for proof in judged if not _is_past(proof, repaired, leaves)]
        found = isolation.suspects(measured, isolation.leaf_parts(leaves), baseline, LIMITS)
    doubtful, good = isolation.doubts(measured, baseline)
    larger = {one.part: _indistinguishable(one, measured, leaves, baseline) for one in found if one.confirmed}
    found = [replace(one, confirmed=one.confirmed and not larger[one.part]) for one in found]
    accused = {one.part for one in found if one.confirmed}
    instead = [part for parts in larger.values() for part in parts]
    open_parts = [one.part for one in found if not one.confirmed and one.slow < MEASUREMENTS]
    nodes = [f"node/{name}" for name in doubtful if _slow_lately(name, measured, baseline)]
    doubts = tuple(part for part in dict.fromkeys([*instead, *open_parts, *nodes]) if part not in accused)
    return Blame(tuple(found), doubts, tuple(good), baseline)


def _usual(measured: Sequence[Measured], leaves: Mapping[str, str]) -> PairBaseline:
    """The baseline without the suspects, if these differ clearly.

    Suspects are measured often and must not define what is usual. Suspects that do not differ clearly stay in: the
    slowest of many healthy nodes is always suspected, and a baseline without it would be narrow enough to convict it.
    """
    parts = isolation.leaf_parts(leaves)
    first = isolation.learn(measured)
    accused = {one.part for one in isolation.suspects(measured, parts, first, LIMITS)}
    others = [one for one in measured if not accused & _uses(one.one, one.other, parts)]
    if 2 * len(others) < len(measured) or first.spread < LIES_APART * isolation.deviation(others):
        return first
    return isolation.learn(others)


def _indistinguishable(
    suspect: SuspectPart, measured: Sequence[Measured], leaves: Mapping[str, str], baseline: PairBaseline
) -> list[str]:
    """Larger parts that all slow sessions of a part also used, and that no other pair has shown to be fast since.

    A node is not blamed for its leaf, nor a pair for its trunk. For a node that was repaired after its last slow
    session, later sessions of others do not count, because a blamed node loses its work.
    """
    parts = isolation.leaf_parts(leaves)
    uses = [_uses(one.one, one.other, parts) for one in measured]
    evidence = set(suspect.evidence)  # others over it may be a little slow too, and prove nothing
    slow = [
        number
        for number, one in enumerate(measured)
        if suspect.part in uses[number] and pair(one.one, one.other) in evidence and _is_slow(one, baseline)
    ]
    shared = set.intersection(*(uses[number] for number in slow)) - {suspect.part} if slow else set()
    smallest = suspect.part.partition("/")[0] not in SHARED_PARTS
    since = range(min(slow, default=0), max(slow, default=0) if smallest else len(measured))
    shown_fast = {
        part
        for number in since
        if suspect.part not in uses[number] and not _is_slow(measured[number], baseline)
        for part in uses[number]
    }
    larger = {part for part in shared - shown_fast if part.partition("/")[0] in SHARED_PARTS}
    return sorted(part for part in larger if _has_others(part, suspect.part, leaves))


def _has_others(part: str, smaller: str, leaves: Mapping[str, str]) -> bool:
    """Whether two nodes could meet over a part without the smaller one; otherwise the two cannot be distinguished."""
    parts = isolation.leaf_parts(leaves)
    names = part.partition("/")[2].split("+")
    behind = [node for node, leaf in leaves.items() if leaf in names]
    return any(
        part in used and smaller not in used
        for one in behind[:FEW_NODES]
        for other in leaves
        if one != other and (used := _uses(one, other, parts))
    )


def fine_again(part: str, coverage: Coverage, leaves: Mapping[str, str], baseline: PairBaseline) -> bool:
    """Whether the last sessions over a part, if there are enough, were all fast."""
    parts = isolation.leaf_parts(leaves)
    over = []
    for proof in coverage.lately(RECENT):
        if part in _uses(proof.one, proof.other, parts):
            over.append(_is_slow(_measured(proof), baseline))
            if len(over) == CERTAINLY_FINE:
                return not any(over)
    return False


def _fine_since(
    accused: Sequence[str], coverage: Coverage, leaves: Mapping[str, str], baseline: PairBaseline
) -> dict[str, float]:
    """When suspects that were certainly healthy once became so: after enough fast sessions in a row.

    Slow sessions before that accuse neither the part nor a node that was probed over it. Otherwise a few slightly slow
    sessions would bring all of them back.
    """
    parts = isolation.leaf_parts(leaves)
    fast = dict.fromkeys(accused, 0)
    found: dict[str, float] = {}
    for proof in coverage.lately(RECENT):
        slow = _is_slow(_measured(proof), baseline)
        for part in _uses(proof.one, proof.other, parts) & (fast.keys() - found.keys()):
            fast[part] = 0 if slow else fast[part] + 1
            if fast[part] == CERTAINLY_FINE:
                found[part] = proof.at
    return found


def _is_past(proof: Proof, repaired: Mapping[str, float], leaves: Mapping[str, str]) -> bool:
    uses = _uses(proof.one, proof.other, isolation.leaf_parts(leaves))
    return any(proof.at < at for part, at in repaired.items() if part in uses)


def _uses(one: str, other: str, parts: isolation.Parts) -> set[str]:
    return {f"node/{one}", f"node/{other}", f"pair/{'+'.join(pair(one, other))}", *parts(one, other)}


def _slow_lately(name: str, measured: Sequence[Measured], baseline: PairBaseline) -> bool:
    """Whether a part was slow recently. A node that was fast with its last partner is not probed again, because the
    other one was slow. A node that was always slow and is not proven to be is not probed again either, because the
    result would be the same."""
    own = [_is_slow(one, baseline) for one in measured if name in (one.one, one.other)]
    return own[-1] and sum(own) < MEASUREMENTS


def _is_slow(one: Measured, baseline: PairBaseline) -> bool:
    low = baseline.centre - isolation.DOUBT_SPREADS * baseline.spread
    return one.bytes_per_second <= 0 or math.log(one.bytes_per_second) < low


def _measured(proof: Proof) -> Measured:
    return Measured(proof.one, proof.other, proof.bytes_per_second)
