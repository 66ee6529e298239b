"""Selects root causes over the topology: the candidate that explains most, contradicts least and changed first."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.catalog.seam_confidence import calibrated
from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Finding, Rival, Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_of
from holdfast.seams import evidence, slowdown
from holdfast.seams.candidate import CauseCandidate, sure
from holdfast.seams.effects import FAN_FAILS, HELD_BACK, HELD_BACK_BITS, NEEDING_A_CAUSE, REASONS
from holdfast.seams.scene import Scene

LEAST_CONFIDENCE = 0.6
LASTS_SECONDS = 40.0
SLACK_SECONDS = 90.0  # uncertainty of an onset: noise, inertia, one reading a minute
SAME_DOMAIN_SECONDS = 300.0  # the same between meters of one domain, which smooth and report with a delay
ABSORBED = 0.6  # a candidate is a consequence if another one explains this share of its own signs
FOR_ALL_SYMPTOMS = 2.5
FOR_THE_FIRST = 1.0
EARLY = 0.2  # share of the earliest symptoms to ignore: a few coarse sensors seem to change too early
AGAINST_THE_LATE = 3.0
MOST_OF_THE_LATE = 0.7  # confidence 0.67
CLOCKS_APART_SECONDS = 600.0
MOST_PATHS = 12
OF_ONE_RANK = frozenset({"compute", "data", "rank_checkpoint"})  # a rank waits for others, but is slow by itself
MOST_RIVALS = 5
SPARED = 0.5


@dataclass(slots=True)
class Hypothesis:
    """A candidate, the symptoms that it can explain, and its score for those that no chosen root explains yet."""

    candidate: CauseCandidate
    within: list[int]  # indices of the symptoms in its reach, among those that need a cause
    score: float = field(init=False)
    most: float = field(init=False)
    ceiling: float = field(init=False)
    """Highest score that the kinds of its evidence allow. It limits the confidence, not the rank among candidates."""
    doubts: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def confidence(self) -> float:
        return sure(self.score, self.most)

    @property
    def raw(self) -> float:
        return sure(self.score, min(self.most, self.ceiling))


def roots(scene: Scene, candidates: Iterable[CauseCandidate]) -> tuple[Finding, ...]:
    """Chooses the best candidate, removes the symptoms that it explains, scores the rest again, and repeats."""
    needing = [one for name in NEEDING_A_CAUSE for one in scene.moved(name).values()]
    waiting = [Hypothesis(one, _within(scene, one, needing)) for one in candidates]
    chosen: list[Hypothesis] = []
    lost: list[tuple[Hypothesis, Hypothesis, str]] = []
    taken: set[int] = set()
    _weigh_all(scene, waiting, needing, taken)
    while waiting:
        hypothesis = waiting.pop()
        better = next(((root, why) for root in chosen if (why := _loses(scene, hypothesis, root, needing))), None)
        if better:
            lost.append((hypothesis, *better))
        elif hypothesis.confidence >= LEAST_CONFIDENCE and _lasted(scene, hypothesis.candidate):
            chosen.append(hypothesis)
            taken |= set(_explained(hypothesis, needing))
            _weigh_all(scene, waiting, needing, taken)
    found = [_finding(scene, hypothesis, needing, lost) for hypothesis in chosen]
    return (*found, *slowdown.findings(scene, [one for place, one in enumerate(needing) if place not in taken], found))


def _weigh_all(scene: Scene, waiting: list[Hypothesis], needing: Sequence[Symptom], taken: set[int]) -> None:
    """Scores all candidates and sorts them, the best last."""
    counts = _counts(needing, taken)
    for hypothesis in waiting:
        _weigh(scene, hypothesis, needing, taken, counts)
    waiting.sort(key=_rank, reverse=True)


def _lasted(scene: Scene, candidate: CauseCandidate) -> bool:
    """Whether the change lasted long enough. Without proof, a change that just began may be noise."""
    return scene.now - candidate.since >= (0.0 if candidate.proven else LASTS_SECONDS)


def _rank(hypothesis: Hypothesis) -> tuple[float, float, float, str]:
    """The score, limited to the maximum of the candidate: so a sensor reading ranks above a mere pattern."""
    return (
        -min(hypothesis.score, hypothesis.most),
        -hypothesis.score,
        hypothesis.candidate.since,
        hypothesis.candidate.cause,
    )


def _within(scene: Scene, candidate: CauseCandidate, needing: Sequence[Symptom]) -> list[int]:
    return [place for place, one in enumerate(needing) if explains(scene, candidate, one)]


def _explained(hypothesis: Hypothesis, needing: Sequence[Symptom]) -> list[int]:
    """The symptoms in reach. A proven fault is not responsible for symptoms that began before it."""
    if not hypothesis.candidate.proven:
        return hypothesis.within
    return [place for place in hypothesis.within if needing[place].since >= hypothesis.candidate.since - SLACK_SECONDS]


def _weigh(
    scene: Scene, hypothesis: Hypothesis, needing: Sequence[Symptom], taken: set[int], counts: Mapping[str, int]
) -> None:
    candidate = hypothesis.candidate
    hypothesis.score, hypothesis.most, hypothesis.doubts, hypothesis.unknown = candidate.score, candidate.most, [], []
    explained = [needing[place] for place in _explained(hypothesis, needing) if place not in taken]
    explained = evidence.by_heat(scene, candidate, explained)
    hypothesis.ceiling = evidence.most(scene, candidate, explained)
    if not explained:
        return
    hypothesis.score += FOR_ALL_SYMPTOMS * _share(explained, counts)
    first = sorted(one.since for one in explained)[int(EARLY * len(explained))]
    if candidate.since > first + SLACK_SECONDS:
        _late(hypothesis, candidate.since - first)
    elif (candidate.signs or candidate.proven) and candidate.since <= first + scene.panel.step:
        hypothesis.score += FOR_THE_FIRST


def _late(hypothesis: Hypothesis, seconds: float) -> None:
    """Lowers the score of a candidate that changed after its effects. A wrong clock may explain that, so it stays."""
    hypothesis.score -= AGAINST_THE_LATE
    hypothesis.doubts.append(f"it changed {seconds:.0f} s later than the effects that it would explain")
    hypothesis.most = min(hypothesis.most, MOST_OF_THE_LATE)
    if seconds >= CLOCKS_APART_SECONDS:
        domain = hypothesis.candidate.cause.partition("/")[0]
        hypothesis.unknown.append(
            f"which moved first: unless the clock of {domain} is {seconds:.0f} s late, it is not the cause"
        )


def _counts(needing: Sequence[Symptom], taken: set[int]) -> Mapping[str, int]:
    return Counter(one.signal for place, one in enumerate(needing) if place not in taken)


def _share(explained: Sequence[Symptom], counts: Mapping[str, int]) -> float:
    """Share of the symptoms that the candidate explains.

    Every signal counts the same, however many subjects show it.
    """
    hits = Counter(one.signal for one in explained)
    return sum(hit / counts[name] for name, hit in hits.items()) / len(counts)


def explains(scene: Scene, candidate: CauseCandidate, symptom: Symptom) -> bool:
    family = signals()[symptom.signal].family if symptom.signal in signals() else symptom.signal
    if family == REASONS and symptom.now == symptom.now and int(symptom.now) & HELD_BACK_BITS:
        family = HELD_BACK
    if family == "fan" and symptom.now < symptom.before:
        family = FAN_FAILS  # heat makes fans turn faster
    place, whole = symptom.subject, whole_of(symptom.subject)
    if family in OF_ONE_RANK and place in scene.topology.sources:
        whole = None
    if not candidate.reach.isdisjoint((place, whole)) or candidate.cause in (place, whole):
        return family in candidate.explains
    return family in candidate.backwards and place in scene.topology.up(candidate.cause)


def _loses(scene: Scene, hypothesis: Hypothesis, root: Hypothesis, needing: Sequence[Symptom]) -> str:
    """Why this candidate is not a separate root beside `root`; '' if it is one."""
    mine, winner = hypothesis.candidate, root.candidate
    if mine.cause == winner.cause and not mine.proven:
        return f"{winner.kind} explains the same of {mine.cause} better"
    if mine.signs:
        theirs = sum(explains(scene, winner, one) and not _spared(scene, winner, one) for one in mine.signs)
        if theirs < ABSORBED * len(mine.signs):
            return ""  # the candidate has signs of its own that the winner does not explain
        domain = mine.kind.partition(".")[0] == winner.kind.partition(".")[0]
        if mine.since >= winner.since - (SAME_DOMAIN_SECONDS if domain else SLACK_SECONDS):
            return f"it follows from {winner.cause}" + _because(hypothesis)
    if mine.proven:
        return ""
    explained = _explained(hypothesis, needing)
    left = [place for place in explained if not explains(scene, winner, needing[place])]
    if explained and len(left) < 0.3 * len(explained):
        return f"{winner.cause} explains its symptoms" + _because(hypothesis)
    return ""


def _spared(scene: Scene, winner: CauseCandidate, sign: Symptom) -> bool:
    """Whether most paths that the winner should affect are healthy.

    Then the winner does not explain this one either.
    """
    if not sign.subject.startswith("path/"):
        return False
    within = [path for path in scene.seen(sign.signal) if path in winner.reach]
    return len(within) > 1 and sum(path in scene.moved(sign.signal) for path in within) <= SPARED * len(within)


def _because(hypothesis: Hypothesis) -> str:
    doubts = [*hypothesis.candidate.doubts, *hypothesis.doubts]
    return f"; {'; '.join(doubts[:2])}" if doubts else ""


def _finding(
    scene: Scene, hypothesis: Hypothesis, needing: Sequence[Symptom], lost: Sequence[tuple[Hypothesis, Hypothesis, str]]
) -> Finding:
    one = hypothesis.candidate
    symptoms = tuple(dict.fromkeys([*one.signs, *(needing[place] for place in _explained(hypothesis, needing))]))
    rivals = tuple(
        Rival(other.candidate.cause, other.candidate.kind, why) for other, by, why in lost if by is hypothesis
    )
    return Finding(
        cause=one.cause,
        kind=one.kind,
        confidence=round(calibrated(hypothesis.raw), 3),
        raw=hypothesis.raw,
        since=min(one.since, scene.now),
        path=_paths(scene, one.cause, symptoms),
        symptoms=symptoms,
        evidence=tuple(dict.fromkeys(one.reasons)),
        rivals=rivals[:MOST_RIVALS],
        owners=_owners(scene, one.cause, symptoms),
        runbook=one.kind,
        unknown=tuple(dict.fromkeys([*one.unknown, *hypothesis.unknown])),
    )


def _paths(scene: Scene, cause: Subject, symptoms: Sequence[Symptom]) -> tuple[str, ...]:
    """One line per symptom, jobs first, because an operator reads from the cause to the affected work."""
    order = sorted(symptoms, key=lambda one: (not one.subject.startswith(("job/", "path/", "pool/")), one.since))
    subjects = list(dict.fromkeys(one.subject for one in order))
    ways = scene.topology.paths(cause, subjects[: 2 * MOST_PATHS])
    return tuple([" > ".join(way) for way in ways if len(way) > 1][:MOST_PATHS]) or (cause,)


def _owners(scene: Scene, cause: Subject, symptoms: Sequence[Symptom]) -> tuple[str, ...]:
    """The owner of the cause, then the owners of the affected subjects."""
    suffering = [one.subject for one in symptoms if one.subject.startswith(("job/", "path/", "pool/"))]
    others = suffering or [one.subject for one in symptoms[:MOST_PATHS]]
    names = (scene.topology.owner(place) for place in [cause, *others])
    return tuple(dict.fromkeys(name for name in names if name))
