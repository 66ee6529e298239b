"""PyTorch Flight Recorder dumps, pickle or JSON, versions 2.0 to 2.10: collectives that each rank enqueued and did not
finish.

A dump is untrusted: the unpickler builds plain values and refuses every import that a pickle requests.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.formats.pytorch import plain_pickle

RECENT_PER_GROUP = 8  # finished operations kept per group: enough to compare shapes at the point of the hang
MOST_PENDING = 2_000
_POINT_TO_POINT = re.compile(r"(send|recv) (\d+)(->|<-)(\d+)")
_RANK_IN_NAME = re.compile(r"(?<!\d)(\d+)(?:\.(?:json|pkl|pickle|pt))?$")


class NotADump(ValueError):
    """These bytes are not a Flight Recorder dump; the message says why."""


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A process group. `ranks` are global, in the group's own order."""

    name: str
    description: str
    ranks: tuple[int, ...]

    @property
    def key(self) -> str:
        """A key that is equal on all ranks: the members use the name to find each other."""
        return f"{self.name}{list(self.ranks)}"

    @property
    def label(self) -> str:
        return self.description or self.name or "the default group"


@dataclass(frozen=True, slots=True)
class Operation:
    group: str
    sequence: int
    collectives: int  # the group's collective counter at the time of enqueueing
    kind: str  # all_reduce, _all_gather_base, send, recv, ...
    state: str  # scheduled, started, completed
    pending: bool
    point_to_point: bool = False
    source: int = -1  # global ranks, for send and recv
    target: int = -1
    inputs: tuple[tuple[int, ...], ...] = ()
    outputs: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    created: float = 0.0
    timeout_seconds: float = 0.0
    frame: str = ""  # place in the program


@dataclass(frozen=True, slots=True)
class Dump:
    rank: int
    version: tuple[int, int]
    library_version: str
    groups: Mapping[str, ProcessGroup]
    enqueued: Mapping[str, int]  # group -> number of the last collective that was launched, if known
    completed: Mapping[str, int]
    operations: tuple[Operation, ...] = field(default=())

    @property
    def members(self) -> frozenset[int]:
        """All ranks that this dump names."""
        return frozenset(rank for group in self.groups.values() for rank in group.ranks) | {self.rank}


def parse(data: bytes, name: str) -> Dump:
    """Parses a dump. The rank is that of its groups, else the end of the file's name. Raises NotADump."""
    raw = _load(data)
    if not isinstance(raw, dict) or not isinstance(raw.get("entries"), list) or "version" not in raw:
        raise NotADump("expected a dictionary with `version` and `entries`")
    try:
        return _dump(raw, name)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise NotADump(f"a field does not match the Flight Recorder format: {error}") from None


def _load(data: bytes) -> object:
    if data[:1] in (b"{", b" ", b"\n", b"\t"):
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise NotADump(f"the JSON is broken or cut off: {error}") from None
    try:
        return plain_pickle.load(data)
    except plain_pickle.PickleRefused as error:
        raise NotADump(str(error)) from None


def _dump(raw: Mapping[str, Any], name: str) -> Dump:
    major, _, minor = str(raw["version"]).partition(".")
    entries = [entry for entry in raw["entries"] if isinstance(entry, dict)]
    groups = _groups(raw.get("pg_config"), entries)
    reported = raw.get("pg_status")
    status = {str(one): progress for one, progress in reported.items()} if isinstance(reported, dict) else {}
    local = _local_ids(status, groups, entries)
    enqueued = _reported(status, local, entries, "last_enqueued_collective")
    completed = _reported(status, local, entries, "last_completed_collective")
    if entries and int(entries[0].get("record_id") or 0) <= 1:  # nothing was overwritten, so the buffer is complete
        enqueued = {group.key: 0 for group in groups.values()} | enqueued
    operations = tuple(_operation(entry, groups, completed) for entry in _worth_keeping(entries))
    for operation in operations:
        enqueued[operation.group] = max(enqueued.get(operation.group, 0), operation.collectives)
        if not operation.pending and not operation.point_to_point:
            completed[operation.group] = max(completed.get(operation.group, 0), operation.collectives)
    return Dump(
        rank=_rank(groups, name),
        version=(int(major), int(minor or 0)),
        library_version=str(raw.get("comm_lib_version") or raw.get("nccl_version") or ""),
        groups={group.key: group for group in groups.values()},
        enqueued=enqueued,
        completed=completed,
        operations=operations,
    )


def _groups(config: object, entries: Sequence[Mapping[str, Any]]) -> dict[str, ProcessGroup]:
    """Process groups. gloo describes only its last group, without a name, which tells nothing about the groups of
    the entries."""
    groups: dict[str, ProcessGroup] = {}
    if isinstance(config, dict):
        for uid, one in config.items():
            ranks = one.get("ranks", [])
            members = json.loads(ranks) if isinstance(ranks, str) else ranks
            name = str(one.get("name", uid))
            groups[name] = ProcessGroup(name, str(one.get("desc", "")), tuple(int(rank) for rank in members))
    named = dict(_group_name(entry) for entry in {entry.get("pg_id"): entry for entry in entries}.values())
    for name, description in named.items():
        groups.setdefault(name, ProcessGroup(name, description, ()))
    return groups


def _group_name(entry: Mapping[str, Any]) -> tuple[str, str]:
    pair = entry.get("process_group") or ("", "")
    return str(pair[0]), str(pair[1]) if len(pair) > 1 else ""


def _local_ids(
    status: Mapping[str, Any], groups: Mapping[str, ProcessGroup], entries: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """A rank's own group numbers -> group keys.

    Progress uses those numbers, and only entries connect them to a name. A rank that hangs may have no entry left. Both
    numberings follow the order of creation, so they are paired in order.
    """
    examples = {entry["pg_id"]: entry for entry in entries if "pg_id" in entry}
    known = {str(one): _group_name(entry)[0] for one, entry in examples.items()}
    ids = sorted((str(one) for one in status), key=_number)
    names = sorted(groups, key=_number)
    paired = dict(zip(ids, names, strict=True)) if len(ids) == len(names) else {}
    agrees = all(paired.get(one, name) == name for one, name in known.items())
    return {one: groups[name].key for one, name in ((paired if agrees else {}) | known).items()}


def _number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdigit() else (1 << 62, text)


def _operation(entry: Mapping[str, Any], groups: Mapping[str, ProcessGroup], completed: Mapping[str, int]) -> Operation:
    group = groups[_group_name(entry)[0]]
    words = str(entry.get("profiling_name", ""))
    direct = bool(entry.get("is_p2p"))
    source, target = _ends(words, group)
    state = str(entry.get("state", ""))
    collectives = int(entry.get("collective_seq_id", entry.get("seq_id")) or 0)
    return Operation(
        group=group.key,
        sequence=int(entry.get("p2p_seq_id") or 0) if direct else collectives,
        collectives=collectives,
        kind=words.partition(":")[2].partition(" ")[0] or words,
        state=state,
        # gloo never updates the state of an entry, so the group's counter decides
        pending=state != "completed" and (direct or collectives > completed.get(group.key, -1)),
        point_to_point=direct,
        source=source,
        target=target,
        inputs=_sizes(entry.get("input_sizes")),
        outputs=_sizes(entry.get("output_sizes")),
        dtypes=tuple(str(one) for one in (*_listed(entry, "input_dtypes"), *_listed(entry, "output_dtypes"))),
        created=float(entry.get("time_created_ns") or 0) / 1e9,
        timeout_seconds=float(entry.get("timeout_ms") or 0) / 1e3,
        frame=_frame(entry.get("frames")),
    )


def _listed(entry: Mapping[str, Any], key: str) -> Sequence[object]:
    value = entry.get(key)
    return value if isinstance(value, list) else []


def _sizes(value: object) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(tuple(int(side) for side in one) for one in value if isinstance(one, list))


def _frame(frames: object) -> str:
    """The innermost frame outside of PyTorch."""
    if not isinstance(frames, list):
        return ""
    known = [frame for frame in frames if isinstance(frame, dict)]
    own = next((frame for frame in known if "/torch/" not in str(frame.get("filename"))), None)
    return f"{own.get('filename', '?')}:{own.get('line', '?')} {own.get('name', '')}".strip() if own else ""


def _ends(text: str, group: ProcessGroup) -> tuple[int, int]:
    """Global ranks of a send or recv; the recorder writes the group's own numbering."""
    found = _POINT_TO_POINT.search(text)
    if found is None:
        return -1, -1
    first, second = _global(int(found[2]), group), _global(int(found[4]), group)
    return (first, second) if found[3] == "->" else (second, first)


def _global(local: int, group: ProcessGroup) -> int:
    return group.ranks[local] if local < len(group.ranks) else local


def _reported(
    status: Mapping[str, Any], local: Mapping[str, str], entries: Sequence[Mapping[str, Any]], what: str
) -> dict[str, int]:
    """Progress from the status. A group that also sends and receives uses one counter for both, so it has none. -1
    means unknown."""
    mixed = {str(entry.get("pg_id")) for entry in entries if entry.get("is_p2p")}
    reported = {
        local[one]: int(progress.get(what, -1)) for one, progress in status.items() if one in local.keys() - mixed
    }
    return {group: number for group, number in reported.items() if number >= 0}


def _worth_keeping(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Entries that may be pending, and the last few of every group, so that a thousand ranks with full buffers fit
    in memory."""
    kept: dict[object, int] = {}
    chosen: list[Mapping[str, Any]] = []
    pending = 0
    for entry in reversed(entries):
        group = entry.get("pg_id"), bool(entry.get("is_p2p"))
        count = kept.get(group, 0)
        open_ended = entry.get("state") != "completed" and not entry.get("retired") and pending < MOST_PENDING
        if count < RECENT_PER_GROUP or open_ended:
            kept[group] = count + 1
            pending += open_ended
            chosen.append(entry)
    chosen.reverse()
    return chosen


def _rank(groups: Mapping[str, ProcessGroup], name: str) -> int:
    """The rank that is a member of all its groups, if there is exactly one."""
    sets = [frozenset(group.ranks) for group in groups.values() if group.ranks and group.name]
    common = frozenset.intersection(*sets) if sets else frozenset()
    if len(common) == 1:
        return next(iter(common))
    found = _RANK_IN_NAME.search(name)
    if found is None:
        raise NotADump(f"the rank of this dump is unknown: {name!r} does not end in a rank")
    return int(found[1])
