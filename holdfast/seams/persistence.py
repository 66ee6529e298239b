"""Findings to report: those that last over several evaluations, and those that recur often enough."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from holdfast.model.finding import Finding
from holdfast.model.topology import Topology
from holdfast.seams.planned import PlannedWork, explained_by

Named = tuple[str, str]  # cause and kind
LOOKS = 3
LASTS_SECONDS = 100.0
PLAIN = 0.981  # raw: the evidence could not weigh more
PLAIN_LOOKS = 2
REMEMBERED_SECONDS = 2 * 3600.0
EPISODES = 3
OF_AN_EPISODE = 0.9  # raw: an episode counts from here on
COMES_AGAIN_SECONDS = 1800.0  # what comes and goes is reported for so long after it was last seen
MISSED_LOOKS = 1  # of a finding that lasts: a look between that does not see it ends nothing


@dataclass(slots=True)
class _Record:
    first: float  # of this episode
    last: float
    looks: int = 1
    missed: int = 0
    episodes: list[float] = field(default_factory=list)
    reported: Finding | None = None


@dataclass(slots=True)
class FindingMemory:
    """Remembers what was found at each look. `take` answers what to report now."""

    _records: dict[Named, _Record] = field(default_factory=dict)
    explained: dict[Named, str] = field(default_factory=dict)
    """Findings that announced work accounts for, with its name."""

    def take(
        self, found: Iterable[Finding], topology: Topology, now: float, planned: Sequence[PlannedWork] = ()
    ) -> tuple[Finding, ...]:
        self.explained = {}
        reported = []
        seen = set()
        for finding in found:
            named = (finding.cause, finding.kind)
            if (work := explained_by(finding, planned, topology, now)) is not None:
                self.explained[named] = work.name
                continue
            seen.add(named)
            record = self._seen(named, finding, now)
            if self._reports(record, finding, now):
                record.reported = _with_episodes(finding, record)
                reported.append(record.reported)
        causes = {one.cause for one in reported}
        reported += [one for one in self._returning(seen, now) if one.cause not in causes]
        return tuple(reported)

    def _seen(self, named: Named, finding: Finding, now: float) -> _Record:
        record = self._records.get(named)
        if record is None:
            record = self._records[named] = _Record(now, now)
        elif record.missed > MISSED_LOOKS:
            record.first, record.looks = now, 1
        else:
            record.looks += 1
        record.last, record.missed = now, 0
        if record.looks == 1 and finding.raw >= OF_AN_EPISODE:
            record.episodes = [*(at for at in record.episodes if now - at <= REMEMBERED_SECONDS), now]
        return record

    def _reports(self, record: _Record, finding: Finding, now: float) -> bool:
        if record.looks >= LOOKS and now - record.first >= LASTS_SECONDS:
            return True
        return (finding.raw >= PLAIN and record.looks >= PLAIN_LOOKS) or len(record.episodes) >= EPISODES

    def _returning(self, seen: set[Named], now: float) -> list[Finding]:
        """What is not seen at this look: forgotten after a while, but reported on where it comes and goes."""
        found = []
        for named, record in list(self._records.items()):
            if named in seen:
                continue
            record.missed += 1
            if now - record.last > REMEMBERED_SECONDS:
                del self._records[named]
            elif record.reported is not None and (
                record.missed <= MISSED_LOOKS
                or (len(record.episodes) >= EPISODES and now - record.last <= COMES_AGAIN_SECONDS)
            ):
                found.append(record.reported)
            else:
                record.reported = None
        return found


def _with_episodes(finding: Finding, record: _Record) -> Finding:
    if len(record.episodes) < EPISODES:
        return finding
    text = f"it comes and goes: {len(record.episodes)} times since it was first seen"
    return replace(finding, evidence=(*finding.evidence, text), since=min(finding.since, record.episodes[0]))
