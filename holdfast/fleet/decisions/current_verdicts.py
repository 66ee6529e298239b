"""The standing verdict of every check of every node, and who fails or is blind, without looking at all of them."""

from collections.abc import Collection, Iterable, Mapping

from holdfast.model.health import Health, worst
from holdfast.model.wire.report import VerdictChange

JUDGED = {one.value: one for one in (Health.PASS, Health.DEGRADED, Health.FAIL, Health.UNKNOWN)}
_FAIL, _UNKNOWN = Health.FAIL.value, Health.UNKNOWN.value


class CurrentVerdicts:
    def __init__(self, verdicts: Mapping[str, Iterable[VerdictChange]]) -> None:
        self._of = {name: {change.check: change for change in changes} for name, changes in verdicts.items()}
        self._told_in: dict[tuple[str, str], tuple[str, int]] = {}  # session and number of its report
        self._failing: dict[str, dict[str, VerdictChange]] = {}
        self._blind: dict[str, dict[str, VerdictChange]] = {}
        for name, known in self._of.items():
            for change in known.values():
                self._index(name, change)

    def take(self, name: str, change: VerdictChange, session: str = "", seq: int = 0) -> bool:
        """False for one that is older than what is known: late reports never undo newer ones.

        As in the store: within a session its numbers say which is later, between sessions there is only the time.
        """
        known = self._of.setdefault(name, {})
        before = known.get(change.check)
        known_session, number = self._told_in.get((name, change.check), ("", 0))
        same = session and session == known_session
        late = seq < number if same else before is not None and change.at < before.at
        if late:
            return False
        self._told_in[name, change.check] = (session, seq)
        known[change.check] = change
        self._index(name, change)
        return True

    def _index(self, name: str, change: VerdictChange) -> None:
        for health, index in ((_FAIL, self._failing), (_UNKNOWN, self._blind)):
            if change.after == health:
                index.setdefault(name, {})[change.check] = change
            elif name in index:
                index[name].pop(change.check, None)
                if not index[name]:
                    del index[name]

    def knows(self, name: str, check: str) -> bool:
        return check in self._of.get(name, {})

    def verdicts(self, name: str) -> list[VerdictChange]:
        return list(self._of.get(name, {}).values())

    def health(self, name: str) -> Health:
        """The worst of its verdicts; a node of which nothing was said yet has nothing against it."""
        known = [JUDGED[one.after] for one in self._of.get(name, {}).values() if one.after in JUDGED]
        return worst(known or [Health.PASS])

    def failing(self, name: str, shadow: Collection[str] = ()) -> VerdictChange | None:
        """What fails first on it, leaving aside checks that are only watched."""
        return next((one for one in self._failing.get(name, {}).values() if one.check not in shadow), None)

    def complaints(self, name: str) -> list[VerdictChange]:
        """Checks that fail on it or call it degraded."""
        return [one for one in self._of.get(name, {}).values() if one.after in (_FAIL, Health.DEGRADED.value)]

    def failing_nodes(self) -> list[str]:
        return list(self._failing)

    def troubled(self) -> set[str]:
        """Nodes with a check that fails or is blind."""
        return {*self._failing, *self._blind}

    def blind_since(self, name: str) -> float | None:
        return min((one.at for one in self._blind.get(name, {}).values()), default=None)
