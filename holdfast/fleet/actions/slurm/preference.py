"""Scheduling preference: a degraded node is chosen last, and later gets its own weight back. Pure.

The node's own weight is kept in its Comment, which Slurm saves: any controller can read it after a restart. Other text
in the Comment stays. A weight that an operator changed meanwhile stays too.
"""

import re

from holdfast.formats.slurm.nodes import SlurmNode

_MEMORY = re.compile(r"\s*\[holdfast: weight was ([0-9]{1,10})\]")


def choose_last(node: SlurmNode, weight: int | None, feature: str) -> dict[str, str]:
    """The changes for scontrol; empty if nothing must change."""
    changes: dict[str, str] = {}
    if weight is not None and node.weight is not None and node.weight != weight:
        changes["weight"] = str(weight)
        changes["comment"] = f"{_MEMORY.sub('', node.comment)} [holdfast: weight was {node.weight}]".strip()
    if feature and feature not in node.features:
        changes |= _features(node, added=feature)
    return changes


def choose_normally(node: SlurmNode, weight: int | None, feature: str) -> dict[str, str]:
    changes: dict[str, str] = {}
    memory = _MEMORY.search(node.comment)
    if memory:
        changes["comment"] = _MEMORY.sub("", node.comment).strip()
        if node.weight == weight:
            changes["weight"] = memory[1]
    if feature and feature in node.features:
        changes |= _features(node, removed=feature)
    return changes


def _features(node: SlurmNode, added: str = "", removed: str = "") -> dict[str, str]:
    """Options for both feature lists: Slurm requires active features to be among the available ones."""

    def changed(features: tuple[str, ...]) -> str:
        kept = [one for one in features if one not in (added, removed)]
        return ",".join([*kept, added] if added else kept)

    return {"availablefeatures": changed(node.features), "activefeatures": changed(node.active_features)}
