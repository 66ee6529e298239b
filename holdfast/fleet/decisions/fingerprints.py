"""Compares device fingerprints across the fleet: the bits that fixed computations give in every full test.

A device whose bits differ from those of most equal devices computes wrong numbers, even if it agrees with itself.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from holdfast.model.health import Health
from holdfast.model.wire.probe import Fingerprint
from holdfast.model.wire.report import OrderOutcome
from holdfast.node.checks.probe.fingerprint import CHECK
from holdfast.node.probes.isolation.golden import majorities

LEAST_NODES = 4  # so that at least three nodes agree


class Fingerprints:
    def __init__(self) -> None:
        self._of: dict[str, tuple[Fingerprint, ...]] = {}  # node -> its fingerprints

    def compare(self, node: str, outcome: OrderOutcome, votes: Callable[[str], bool]) -> OrderOutcome:
        """The outcome of a test; a failure if a device's bits differ from the fleet's. `votes`: whether a node counts;
        a removed node does not."""
        if not outcome.fingerprints:
            return outcome
        self._of[node] = outcome.fingerprints
        golden = majorities(self._votes(votes), LEAST_NODES)
        wrong = [one for one in outcome.fingerprints if golden.get(one.kind, one.bits) != one.bits]
        if not wrong or outcome.health == Health.FAIL.value:
            return outcome
        first, alike = wrong[0], {one.bits for one in outcome.fingerprints if one.kind == wrong[0].kind}
        reason = f"{first.subject}: its bits differ from those of most nodes of its kind"
        reason += f" ({first.bits[:12]}, others {golden[first.kind][:12]}; {first.kind})"
        if len(outcome.fingerprints) > 1 and len(alike) == 1:
            reason += "; all its devices differ alike, so compare its libraries first"
        elif len(wrong) > 1:
            reason += f"; and {len(wrong) - 1} more of its devices"
        return replace(outcome, health=Health.FAIL.value, cause=CHECK.name, reason=reason)

    def forget(self, node: str) -> None:
        """Drops the results of a removed node."""
        self._of.pop(node, None)

    def _votes(self, votes: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """One vote per node and kind: the bits of most of its devices of that kind."""
        for prints in (prints for node, prints in self._of.items() if votes(node)):
            for kind in {one.kind for one in prints}:
                yield kind, Counter(one.bits for one in prints if one.kind == kind).most_common(1)[0][0]
