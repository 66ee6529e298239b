"""Slurm nodes: `scontrol show node` (with or without -o), `sinfo` tables, and JSON of any version.

Missing values are empty or None; other lines are left out. Nothing here raises.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.formats.slurm import fields as slurm
from holdfast.formats.slurm import hostlist
from holdfast.formats.slurm import json_layout as slurm_json
from holdfast.formats.slurm import table as slurm_table


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNode:
    name: str
    flags: frozenset[str]
    reason: str = ""
    reason_by: str = ""
    reason_at: float | None = None
    weight: int | None = None
    features: tuple[str, ...] = ()
    active_features: tuple[str, ...] = ()
    comment: str = ""
    gpus: int | None = None
    slurmd_since: float | None = None
    address: str = ""

    @property
    def drained(self) -> bool:
        return "DRAIN" in self.flags

    @property
    def down(self) -> bool:
        return bool(self.flags & slurm.DOWN)

    @property
    def busy(self) -> bool:
        return bool(self.flags & slurm.BUSY)

    @property
    def known(self) -> bool:
        """False between the start of slurmctld and the node's first slurmd registration."""
        return "UNKNOWN" not in self.flags and bool(self.flags)

    @property
    def accepts_work(self) -> bool:
        return not self.flags & slurm.CLOSED

    @property
    def ours(self) -> bool:
        return slurm.ours(self.reason)

    @property
    def untested(self) -> bool:
        """Drained by us, or by a script of ours on the node, only because a test is missing."""
        return self.drained and slurm.says_untested(self.reason)

    @property
    def marked(self) -> bool:
        """Drained by a script of ours on the node: tests before that are outdated."""
        return self.drained and slurm.is_mark(self.reason)


# ---------------------------------------------------------------- scontrol show node

_FREE_TEXT = ("OS", "Reason", "Comment", "Extra", "InstanceId", "InstanceType", "ReservationName", "Topology")
_FREE_LINE = re.compile(rf"   ({'|'.join(_FREE_TEXT)})=(.*)")
_PAIR = re.compile(r"(?:^|(?<=\s))([A-Za-z][\w:/]*)=(\S*)")
_TAIL = "|".join(_FREE_TEXT[2:])
# On one line a note ends at its stamp; text inside it that looks like a key is part of it.
_REASON_ON_ONE_LINE = re.compile(rf" Reason=(.*?\[[^\[\]@]*@[^\[\]]*\])(?= (?:{_TAIL})=|\s*$)")
_BARE_REASON_ON_ONE_LINE = re.compile(rf" Reason=(.*?)(?= (?:{_TAIL})=|\s*$)")
_COMMENT_ON_ONE_LINE = re.compile(rf" Comment=(.*?)(?= (?:{_TAIL})=|\s*$)")


def from_scontrol(text: str) -> list[SlurmNode]:
    blocks = re.split(r"^(?=NodeName=)", text, flags=re.MULTILINE)
    return [node for block in blocks if (node := _from_block(block)) is not None]


def _from_block(block: str) -> SlurmNode | None:
    pairs = _one_line(block) if "State=" in block.partition("\n")[0] else _lines(block)
    name = pairs.get("NodeName", "")
    if not name or "State" not in pairs:
        return None
    reason, by, at = slurm.unstamped(pairs.get("Reason", ""))
    gres = pairs.get("Gres")
    return SlurmNode(
        name=name,
        flags=slurm.node_flags(pairs["State"]),
        reason=reason,
        reason_by=by,
        reason_at=at,
        weight=_weight(pairs.get("Weight", "")),
        features=_features(pairs.get("AvailableFeatures", "")),
        active_features=_features(pairs.get("ActiveFeatures", "")),
        comment=slurm.value(pairs.get("Comment", "")),
        gpus=None if gres is None else slurm.gpus_in_gres(gres),
        slurmd_since=slurm.time(pairs.get("SlurmdStartTime", "")),
        address=slurm.value(pairs.get("NodeAddr", "")),
    )


def _lines(block: str) -> dict[str, str]:
    """Joins lines: free text has its own line, and continues on lines without the indentation of three."""
    pairs: dict[str, str] = {}
    free = ""
    for line in block.splitlines():
        match = _FREE_LINE.fullmatch(line)
        if match:
            free = match[1]
            pairs.setdefault(free, match[2].rstrip())
        elif free and line and not line.startswith("   "):
            pairs[free] += f"\n{line.rstrip()}"
        else:
            free = ""
            for key, value in _PAIR.findall(line):
                pairs.setdefault(key, value)
    return pairs


def _one_line(block: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    reason = _REASON_ON_ONE_LINE.search(block) or _BARE_REASON_ON_ONE_LINE.search(block)
    rest = block
    if reason:
        pairs["Reason"] = reason[1]
        rest = block[: reason.start()] + block[reason.end() :]
    comment = _COMMENT_ON_ONE_LINE.search(rest)
    if comment:
        pairs["Comment"] = comment[1].rstrip()
    for key, value in _PAIR.findall(rest):
        pairs.setdefault(key, value)
    return pairs


# ---------------------------------------------------------------- sinfo tables

_COLUMNS = {
    "hostnames": "name",
    "nodelist": "name",
    "nodehost": "name",
    "state": "state",
    "statelong": "state",
    "statecompact": "state",
    "reason": "reason",
    "user": "reason_by",
    "timestamp": "reason_at",
    "weight": "weight",
    "avail_features": "features",
    "active_features": "active_features",
    "gres": "gres",
    "comment": "comment",
}


def from_table(text: str, columns: Sequence[str] | None = None, delimiter: str = "") -> list[SlurmNode]:
    """A table of `sinfo`; without `columns` the first line names them. A node in several partitions is returned
    once."""
    nodes: dict[str, SlurmNode] = {}
    for cells in slurm_table.read(text, _COLUMNS, columns, delimiter).rows:
        _add(nodes, _from_cells(cells))
    return list(nodes.values())


def _from_cells(cells: Mapping[str, str]) -> Iterable[SlurmNode]:
    if not cells.get("name") or not cells.get("state"):
        return
    reason, by, at = slurm.unstamped(cells.get("reason", ""))
    gres = cells.get("gres")
    for name in _names(cells["name"]):
        yield SlurmNode(
            name=name,
            flags=slurm.node_flags(cells["state"]),
            reason=reason,
            reason_by=slurm.value(cells.get("reason_by", by)),
            reason_at=slurm.time(cells["reason_at"]) if "reason_at" in cells else at,
            weight=_weight(cells.get("weight", "")),
            features=_features(cells.get("features", "")),
            active_features=_features(cells.get("active_features", "")),
            comment=slurm.value(cells.get("comment", "")),
            gpus=None if gres is None else slurm.gpus_in_gres(gres),
        )


# ---------------------------------------------------------------- JSON


def from_json(text: str | bytes) -> list[SlurmNode] | None:
    """`sinfo --json` and `scontrol show nodes --json` of 21.08 and later, and slurmrestd; None for other text."""
    document = slurm_json.document(text)
    if document is None or not {"nodes", "sinfo"} & document.keys():
        return None
    nodes: dict[str, SlurmNode] = {}
    for entry in slurm_json.entries(document, "nodes"):
        _add(nodes, _from_node(entry))
    for entry in slurm_json.entries(document, "sinfo"):
        _add(nodes, _from_group(entry))
    return list(nodes.values())


def _from_node(entry: slurm_json.Entry) -> Iterable[SlurmNode]:
    flags = _flags(slurm_json.words(entry, "state") + slurm_json.words(entry, "state_flags"))
    name = slurm_json.text(entry, "name")
    if name and flags:
        yield SlurmNode(
            name=name,
            flags=flags,
            reason=slurm.value(slurm_json.text(entry, "reason")),
            reason_by=slurm.value(slurm_json.text(entry, "reason_set_by_user")),
            reason_at=slurm_json.time(entry, "reason_changed_at"),
            weight=slurm_json.number(entry, "weight"),
            features=tuple(slurm_json.words(entry, "features")),
            active_features=tuple(slurm_json.words(entry, "active_features")),
            comment=slurm_json.text(entry, "comment"),
            gpus=slurm.gpus_in_gres(slurm_json.text(entry, "gres")) if "gres" in entry else None,
            slurmd_since=slurm_json.time(entry, "slurmd_start_time"),
            address=slurm.value(slurm_json.text(entry, "address")),
        )


def _from_group(entry: slurm_json.Entry) -> Iterable[SlurmNode]:
    """A row of `sinfo --json` since 23.02: a group of nodes with the same values."""
    flags = _flags(slurm_json.words(slurm_json.inner(entry, "node"), "state"))
    features = slurm_json.inner(entry, "features")
    gres = slurm_json.inner(entry, "gres")
    reason = slurm_json.text(entry, "reason") or slurm_json.text(slurm_json.inner(entry, "reason"), "description")
    for word in slurm_json.words(slurm_json.inner(entry, "nodes"), "nodes") if flags else ():
        for name in _names(word):
            yield SlurmNode(
                name=name,
                flags=flags,
                reason=slurm.value(reason),
                weight=slurm_json.number(slurm_json.inner(entry, "weight"), "minimum"),
                features=tuple(slurm_json.words(features, "total")),
                active_features=tuple(slurm_json.words(features, "active")),
                gpus=slurm.gpus_in_gres(slurm_json.text(gres, "total")) if gres else None,
            )


def _flags(words: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*(slurm.node_flags(word) for word in words))


def _add(nodes: dict[str, SlurmNode], found: Iterable[SlurmNode]) -> None:
    for node in found:
        known = nodes.get(node.name)
        nodes[node.name] = replace(known, flags=known.flags | node.flags) if known else node


def _names(text: str) -> list[str]:
    try:
        return hostlist.expand(text)
    except hostlist.NotAHostlist:
        return []


def _features(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in slurm.value(text).split(",") if word.strip())


def _weight(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None
