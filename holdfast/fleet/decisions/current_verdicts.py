"""Current verdict of every check on every node, with indexes of failing, degraded and unknown nodes."""

from collections.abc import Collection, Iterable, Mapping

from holdfast.model.health import Health
from holdfast.model.wire.report import ReportMark, VerdictChange, is_current

MOST_CHECKS = 1_000  # checks of a node; the catalog has less than a hundred, and a site may add its own
Sent = tuple[str | None, int]  # session and number of the report
_FAIL, _UNKNOWN, _DEGRADED = Health.FAIL.value, Health.UNKNOWN.value, Health.DEGRADED.value
_INDEXED = frozenset({_FAIL, _UNKNOWN, _DEGRADED})


class CurrentVerdicts:
    def __init__(self, verdicts: Mapping[str, Iterable[VerdictChange]]) -> None:
        self._of = {name: {change.check: change for change in changes} for name, changes in verdicts.items()}
        self._sent: dict[str, dict[str, Sent]] = {}  # node -> check -> its report; not for stored verdicts
        self._last_sent: Sent = (None, 0)
        self._failing: dict[str, dict[str, VerdictChange]] = {}
        self._blind: dict[str, dict[str, VerdictChange]] = {}
        self._degraded: dict[str, dict[str, VerdictChange]] = {}
        self._indexes = ((_FAIL, self._failing), (_UNKNOWN, self._blind), (_DEGRADED, self._degraded))
        for name, known in self._of.items():
            for change in known.values():
                # only bad verdicts are indexed: nearly all pass, and a new leader waits for this
                if change.after in _INDEXED:
                    self._index(name, change)

    def take(self, name: str, change: VerdictChange, session: str = "", seq: int = 0) -> bool:
        """Takes a change. False if it is older than the current verdict: late reports never undo newer ones."""
        known = self._of.setdefault(name, {})
        before, sent = known.get(change.check), self._sent.setdefault(name, {})
        if before is not None:
            last = ReportMark(*sent.get(change.check, (None, 0)), before.at)
            if not is_current(ReportMark(session, seq, change.at), last):
                return False
        if self._last_sent != (session, seq):
            self._last_sent = (session, seq)
        # one object for all verdicts of a report, because a fleet has half a million
        sent[change.check] = self._last_sent
        known[change.check] = change
        self._index(name, change)
        return True

    def _index(self, name: str, change: VerdictChange) -> None:
        for health, index in self._indexes:
            if change.after == health:
                index.setdefault(name, {})[change.check] = change
            elif name in index:
                index[name].pop(change.check, None)
                if not index[name]:
                    del index[name]

    def forget(self, name: str) -> None:
        self._of.pop(name, None)
        self._sent.pop(name, None)
        for _, index in self._indexes:
            index.pop(name, None)

    def knows(self, name: str, check: str | None) -> bool:
        return check in self._of.get(name, {})

    def has_room(self, name: str, checks: Collection[str]) -> bool:
        """Whether a node may have verdicts of these checks too. Each is kept as long as the node."""
        known = self._of.get(name, {})
        return len(known) + sum(check not in known for check in checks) <= MOST_CHECKS

    def verdict(self, name: str, check: str) -> VerdictChange | None:
        return self._of.get(name, {}).get(check)

    def degraded(self, name: str) -> bool:
        return name in self._degraded

    def verdicts(self, name: str) -> list[VerdictChange]:
        return list(self._of.get(name, {}).values())

    def health(self, name: str) -> Health:
        """The worst verdict of a node, from the indexes, because every report needs it. Unknown without verdicts."""
        if name in self._failing:
            return Health.FAIL
        if name in self._blind or not self._of.get(name):
            return Health.UNKNOWN
        return Health.DEGRADED if name in self._degraded else Health.PASS

    def failing(self, name: str, shadow: Collection[str] = ()) -> VerdictChange | None:
        """The first failing check of a node, without those in shadow mode."""
        return next((one for one in self._failing.get(name, {}).values() if one.check not in shadow), None)

    def complaints(self, name: str) -> list[VerdictChange]:
        """Checks that fail or are degraded."""
        return [one for one in self._of.get(name, {}).values() if one.after in (_FAIL, _DEGRADED)]

    def failing_nodes(self) -> list[str]:
        return list(self._failing)

    def troubled(self) -> set[str]:
        """Nodes with a check that fails or is blind."""
        return {*self._failing, *self._blind}

    def blind_since(self, name: str) -> float | None:
        return min((one.at for one in self._blind.get(name, {}).values()), default=None)
