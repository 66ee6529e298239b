"""Checkpoint keepers of each job, as agents report them. They are only shown and change no node."""

from collections.abc import Collection
from dataclasses import dataclass

from holdfast.fleet.jobs.record import JobRecord
from holdfast.model.wire.keeper import KeeperReport
from holdfast.model.wire.report import Report

FRESH_SECONDS = 90.0  # an agent's heartbeat every 30 s repeats it
FORGET_SECONDS = 3_600.0
MOST_KEEPERS = 40_000
Key = tuple[str, str]  # name and owner
Place = tuple[str, str]  # the agent's node, and the node name that the keeper reports


@dataclass(slots=True)
class KeeperState:
    node: str
    keeping: KeeperReport
    at: float
    gone: bool = False  # its agent no longer receives its reports

    def fresh(self, now: float) -> bool:
        return not self.gone and now - self.at <= FRESH_SECONDS


class JobKeepers:
    """Used on the writer's thread."""

    def __init__(self) -> None:
        self._kept: dict[Key, dict[Place, KeeperState]] = {}
        self._on: dict[str, set[tuple[Key, Place]]] = {}
        self._count = 0

    def take(self, report: Report, now: float) -> None:
        if not report.keepers and report.node not in self._on:
            return
        reported = {((one.job, one.owner), (report.node, one.holds.node)): one for one in report.keepers}
        for key, place in self._on.get(report.node, set()) - reported.keys():
            self._leave(key, place, now)
        for (key, place), keeping in reported.items():
            self._take(key, place, keeping, now)

    def _take(self, key: Key, place: Place, keeping: KeeperReport, now: float) -> None:
        kept = self._kept.setdefault(key, {})
        if place not in kept:
            if self._count >= MOST_KEEPERS:
                return
            self._count += 1
            self._on.setdefault(place[0], set()).add((key, place))
        kept[place] = KeeperState(place[0], keeping, now)

    def _leave(self, key: Key, place: Place, now: float) -> None:
        """Marks a keeper as gone. Its copies are unknown from then on; its last report is shown for a while."""
        state = self._kept[key][place]
        state.gone = True
        if now - state.at <= FORGET_SECONDS:
            return
        del self._kept[key][place]
        self._count -= 1
        self._on[place[0]].discard((key, place))
        if not self._on[place[0]]:
            del self._on[place[0]]
        if not self._kept[key]:
            del self._kept[key]

    def of(self, record: JobRecord, reported: Collection[Key]) -> list[KeeperState]:
        """Keepers with the job name of its ranks.

        Without any, keepers on its nodes that serve the same ranks of the same user under another name, if all use the
        same one.
        """
        key = (record.name, record.owner)
        if key not in self._kept:
            others = {one for one in self._beside(record) if one not in reported}
            if len(others) != 1:
                return []
            (key,) = others
        return list(self._kept[key].values())

    def _beside(self, record: JobRecord) -> set[Key]:
        ranks: dict[str, set[int]] = {}
        for rank in record.current:
            ranks.setdefault(rank.node, set()).add(rank.window.rank)
        found = set()
        for node, ours in ranks.items():
            for key, place in self._on.get(node, set()):
                theirs = set(self._kept[key][place].keeping.holds.ranks)
                if key[1] == record.owner and theirs and theirs <= ours:
                    found.add(key)
        return found
