"""Learns a manifest from this node: its present parts become the expected parts of such nodes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.model import manifest as manifests
from holdfast.model.health import Health
from holdfast.model.manifest import Manifest
from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.model.signal import Signal
from holdfast.model.verdict import Verdict
from holdfast.node.agent.assemble import refuse_unknown_parts
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import check_node
from holdfast.node.agent.state import write_atomically

MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Learned:
    node: str
    path: Path
    manifest: Manifest

    @property
    def subjects(self) -> Counter[str]:
        """How many of each kind the manifest expects."""
        return Counter(name.partition("/")[0] for name in self.manifest.expect)


def learn(settings: Settings, path: Path, lacks: Sequence[str], *, identities: bool, force: bool) -> Learned:
    """Writes the manifest. Refuses an existing file and a node that is not healthy, unless forced."""
    if path.exists() and not force:
        raise Refusal(f"{path} exists; --force overwrites it", exit_code=1)
    parts = manifests.with_implied(lacks)
    refuse_unknown_parts(parts, "--lacks")
    # The new manifest cannot be read yet, and an old one must not affect what is learned.
    node = check_node(replace(settings, agent=replace(settings.agent, manifest="")), "passive")
    if not force and (why := _unhealthy(node, set(parts))):
        advice = "repair it, name what it --lacks, or use --force"
        raise Refusal(f"this node is not healthy, so nothing is learned from it; {advice}: {why}", exit_code=1)
    signals = [Signal(subject, name, value) for subject, name, value, _ in node.history.latest()]
    learned = manifests.learn(signals, node.census.node, parts, identities=identities)
    if trouble := write_atomically(path, manifests.dump(learned).encode()):
        raise Refusal(trouble, exit_code=1)
    return Learned(node.census.node, path, learned)


def _unhealthy(node: Node, lacks: set[str]) -> str:
    """The checks that do not pass, without those of parts that the node lacks."""
    against = [
        f"{name} is {verdict.state} ({verdict.summary()})"
        for name, verdict in node.verdicts.items()
        if not _fine(verdict, node.questions[name].check.part in lacks)
    ]
    more = len(against) - MOST_NAMED
    return "; ".join(against[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _fine(verdict: Verdict, lacking: bool) -> bool:
    return verdict.disabled or verdict.health in (Health.PASS, Health.NOT_APPLICABLE) or lacking
