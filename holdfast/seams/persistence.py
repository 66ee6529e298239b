"""Findings to report: those that last over several evaluations, and those that recur often enough."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from holdfast.model.finding import Finding
from holdfast.model.topology import Topology
from holdfast.seams.evidence import is_plain
from holdfast.seams.planned import PlannedWork, explained_by

Named = tuple[str, str]  # cause and kind
EVALUATIONS = 3
LASTS_SECONDS = 100.0
PLAIN = 0.981  # a raw score: the highest confidence
PLAIN_EVALUATIONS = 2
CONFIDENCE_BY_AGE = ((300.0, 0.79), (600.0, 0.94))  # (age in seconds, maximum confidence up to that age)
WEAK = 0.85  # a raw score: below it, a finding must last longer
WEAK_EVALUATIONS = 7
WEAK_SECONDS = 400.0
SLOWDOWN = "job.slowdown"
SOONER = (SLOWDOWN, "cooling.unmetered")  # kinds whose rules already require duration, or a pattern of many nodes
REMEMBERED_SECONDS = 2 * 3600.0
EPISODES = 3
OF_AN_EPISODE = 0.9  # a raw score: episodes from here on count
COMES_AGAIN_SECONDS = 1800.0  # an intermittent finding is reported until this long after it was last seen
COMES_AND_GOES = "it is intermittent"
MISSED_EVALUATIONS = 1  # evaluations that may miss a finding before its count starts again
HELD_SECONDS = 600.0  # a reported finding stays this long without being seen: load and gaps hide a fault for minutes
BEHIND_SECONDS = 600.0  # a finding behind a cause that was seen within this time is an effect of it


@dataclass(slots=True)
class _Record:
    first: float  # start of this episode
    last: float
    evaluations: int = 1
    missed: int = 0
    episodes: list[float] = field(default_factory=list)
    reported: Finding | None = None
    last_reported: Finding | None = None
    victims: set[str] = field(default_factory=set)  # victims of all evaluations, because one may miss some
    recurs: bool = False  # the finding is intermittent
    longest: float = 0.0  # seconds of its longest episode


@dataclass(slots=True)
class FindingMemory:
    """Remembers the findings of each evaluation. `take` returns those to report now."""

    _records: dict[Named, _Record] = field(default_factory=dict)
    explained: dict[Named, str] = field(default_factory=dict)
    """Findings that announced work explains, with the name of the work."""

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
            if record.reported is None and (self._behind(finding, topology, now) or self._explained(finding, now)):
                continue
            if self._reports(record, finding, now):
                record.reported = record.last_reported = _by_age(_with_episodes(finding, record), record)
                record.recurs = record.recurs or any(one.startswith(COMES_AND_GOES) for one in record.reported.evidence)
                reported.append(record.reported)
            elif record.recurs and record.reported is not None:
                reported.append(record.reported)  # an intermittent finding is present again
        causes = {one.cause for one in reported}
        reported += [one for one in self._returning(seen, now) if one.cause not in causes]
        return tuple(reported)

    def _behind(self, finding: Finding, topology: Topology, now: float) -> bool:
        """Whether a more confident cause above the finding was reported recently and began earlier."""
        return any(
            kind.partition(".")[0] == finding.kind.partition(".")[0]
            and record.last_reported is not None
            and now - record.last <= BEHIND_SECONDS
            and finding.since >= record.last_reported.since
            and finding.raw <= record.last_reported.raw
            and finding.cause in topology.down(cause)
            for (cause, kind), record in self._records.items()
        )

    def _explained(self, finding: Finding, now: float) -> bool:
        """Whether the finding is an unexplained slowdown of a job that is a victim of a recently reported cause. One
        evaluation may miss that cause."""
        return finding.kind == SLOWDOWN and any(
            record.last_reported is not None
            and now - record.last <= BEHIND_SECONDS
            and kind != SLOWDOWN
            and finding.cause in record.victims
            for (_, kind), record in self._records.items()
        )

    def _seen(self, named: Named, finding: Finding, now: float) -> _Record:
        record = self._records.get(named)
        if record is None:
            record = self._records[named] = _Record(now, now)
        elif record.missed > MISSED_EVALUATIONS:
            record.first, record.evaluations = now, 1
        else:
            record.evaluations += 1
        record.last, record.missed = now, 0
        record.longest = max(record.longest, now - record.first)
        record.victims |= finding.victims
        if record.evaluations == 1 and finding.raw >= OF_AN_EPISODE:
            record.episodes = [*(at for at in record.episodes if now - at <= REMEMBERED_SECONDS), now]
        return record

    def _reports(self, record: _Record, finding: Finding, now: float) -> bool:
        weak = finding.raw < WEAK and finding.kind not in SOONER and record.reported is None
        otherwise = self._otherwise(finding) and record.reported is None
        weak = weak or otherwise
        looks, seconds = (WEAK_EVALUATIONS, WEAK_SECONDS) if weak else (EVALUATIONS, LASTS_SECONDS)
        if record.evaluations >= looks and now - record.first >= seconds:
            return True
        if otherwise:
            return False
        return (finding.raw >= PLAIN and record.evaluations >= PLAIN_EVALUATIONS) or len(record.episodes) >= EPISODES

    def _otherwise(self, finding: Finding) -> bool:
        """Whether the cause is already reported with another kind. A change of kind must persist too."""
        return any(
            cause == finding.cause and kind != finding.kind and record.reported is not None
            for (cause, kind), record in self._records.items()
        )

    def _returning(self, seen: set[Named], now: float) -> list[Finding]:
        """Reported findings that this evaluation does not repeat. They stay for a while, intermittent ones longer."""
        found = []
        for named, record in list(self._records.items()):
            if named in seen:
                continue
            record.missed += 1
            if now - record.last > REMEMBERED_SECONDS:
                del self._records[named]
            elif record.reported is not None and now - record.last <= (
                COMES_AGAIN_SECONDS if record.recurs else HELD_SECONDS
            ):
                found.append(record.reported)
            else:
                record.reported = None
        return found


def _by_age(finding: Finding, record: _Record) -> Finding:
    """Limits the confidence of a young finding. A state that a device itself reports has no such limit."""
    if record.recurs or len(record.episodes) >= EPISODES or is_plain(finding):
        return finding
    most = next((most for until, most in CONFIDENCE_BY_AGE if record.longest < until), 1.0)
    return replace(finding, confidence=min(finding.confidence, most))


def _with_episodes(finding: Finding, record: _Record) -> Finding:
    if len(record.episodes) < EPISODES:
        return finding
    text = f"{COMES_AND_GOES}: {len(record.episodes)} times since it was first seen"
    return replace(finding, evidence=(*finding.evidence, text), since=min(finding.since, record.episodes[0]))
