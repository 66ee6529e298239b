"""Root cause over the graph: who explains most, predicts nothing wrongly and moved first. One root per group."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Finding, Rival, Symptom
from holdfast.model.subject import Subject
from holdfast.model.topology import whole_of
from holdfast.seams.candidate import Candidate
from holdfast.seams.effects import NEEDING_A_CAUSE
from holdfast.seams.scene import Scene

LEAST_CONFIDENCE = 0.6
LASTS_SECONDS = 40.0
SLACK_SECONDS = 90.0  # onsets are not known better: noise, inertia, a reading a minute
ABSORBED = 0.6  # of a candidate's own signs: then it is a consequence
FOR_ALL_SYMPTOMS = 2.5
FOR_THE_FIRST = 1.0
AGAINST_THE_LATE = 3.0
MOST_OF_THE_LATE = 0.7  # confidence 0.67
CLOCKS_APART_SECONDS = 600.0
MOST_PATHS = 12
OF_ONE_RANK = frozenset({"compute", "data", "rank_checkpoint"})  # a rank waits for others, but is slow by itself
MOST_RIVALS = 5


@dataclass(slots=True)
class Story:
    """A candidate with what it explains of this scene."""

    candidate: Candidate
    explained: list[Symptom] = field(default_factory=list)
    share: float = 0.0

    @property
    def score(self) -> float:
        return self.candidate.score


def roots(scene: Scene, candidates: Iterable[Candidate]) -> tuple[Finding, ...]:
    needing = [one for name in NEEDING_A_CAUSE for one in scene.moved(name).values()]
    stories = [_tell(scene, one, needing) for one in candidates]
    stories.sort(key=_rank)
    chosen: list[Story] = []
    lost: list[tuple[Story, Story, str]] = []
    for story in stories:
        better = next(((root, why) for root in chosen if (why := _loses(scene, story, root))), None)
        if better:
            lost.append((story, *better))
        elif story.candidate.confidence >= LEAST_CONFIDENCE and _lasted(scene, story.candidate):
            chosen.append(story)
    return tuple(_finding(scene, story, lost) for story in chosen)


def _lasted(scene: Scene, candidate: Candidate) -> bool:
    """What began this moment may be over the next."""
    return scene.now - candidate.since >= (0.0 if candidate.proven else LASTS_SECONDS)


def _rank(story: Story) -> tuple[float, float, str]:
    return (-story.score, story.candidate.since, story.candidate.cause)


def _tell(scene: Scene, candidate: Candidate, needing: Sequence[Symptom]) -> Story:
    within = [one for one in needing if explains(scene, candidate, one)]
    after = [one for one in within if one.since >= candidate.since - SLACK_SECONDS]
    # What is bad in itself and began late has others before it; it is not asked for what was there already.
    explained = after if candidate.proven else within
    story = Story(candidate, explained)
    if not needing:
        return story
    story.share = _share(explained, needing)
    if explained:
        candidate.score += FOR_ALL_SYMPTOMS * story.share
        first = min(one.since for one in explained)
        if candidate.since > first + SLACK_SECONDS:
            _late(candidate, candidate.since - first)
        elif candidate.since <= first + scene.panel.step:
            candidate.score += FOR_THE_FIRST
    return story


def _late(candidate: Candidate, seconds: float) -> None:
    """An effect does not come before its cause, unless one of two clocks is wrong: then nobody can be sure."""
    candidate.doubt(AGAINST_THE_LATE, f"it moved {seconds:.0f} s after what it would have caused")
    candidate.most = min(candidate.most, MOST_OF_THE_LATE)
    if seconds >= CLOCKS_APART_SECONDS:
        domain = candidate.cause.partition("/")[0]
        candidate.unknown.append(
            f"which moved first: unless the clock of {domain} is {seconds:.0f} s late, it is not the cause"
        )


def _share(explained: Sequence[Symptom], needing: Sequence[Symptom]) -> float:
    """How much of what needs a cause it explains; every signal counts the same, however many subjects show it."""
    of = {name: [0, 0] for name in {one.signal for one in needing}}
    for one in needing:
        of[one.signal][1] += 1
    for one in explained:
        of[one.signal][0] += 1
    return sum(hit / total for hit, total in of.values()) / len(of)


def explains(scene: Scene, candidate: Candidate, symptom: Symptom) -> bool:
    family = signals()[symptom.signal].family if symptom.signal in signals() else symptom.signal
    place, whole = symptom.subject, whole_of(symptom.subject)
    if family in OF_ONE_RANK and place in scene.topology.sources:
        whole = None
    within = place in candidate.reach or place == candidate.cause or (whole is not None and whole in candidate.reach)
    if within or (whole is not None and whole == candidate.cause):
        return family in candidate.explains
    return family in candidate.backwards and place in scene.topology.up(candidate.cause)


def _loses(scene: Scene, story: Story, root: Story) -> str:
    """Why this is no root of its own beside one that is, '' if it is."""
    mine, winner = story.candidate, root.candidate
    if mine.cause == winner.cause and not mine.proven:
        return f"{winner.kind} explains the same of {mine.cause} better"
    if mine.signs:
        theirs = sum(explains(scene, winner, one) for one in mine.signs)
        if theirs >= ABSORBED * len(mine.signs) and mine.since >= winner.since - SLACK_SECONDS:
            return f"it follows from {winner.cause}" + _because(mine)
    if mine.proven:
        return ""
    left = [one for one in story.explained if not explains(scene, winner, one)]
    if story.explained and len(left) < 0.3 * len(story.explained):
        return f"what it would explain, {winner.cause} explains" + _because(mine)
    return ""


def _because(candidate: Candidate) -> str:
    return f"; {'; '.join(candidate.doubts[:2])}" if candidate.doubts else ""


def _finding(scene: Scene, story: Story, lost: Sequence[tuple[Story, Story, str]]) -> Finding:
    one = story.candidate
    symptoms = tuple(dict.fromkeys([*one.signs, *story.explained]))
    rivals = tuple(Rival(other.candidate.cause, other.candidate.kind, why) for other, by, why in lost if by is story)
    return Finding(
        cause=one.cause,
        kind=one.kind,
        confidence=round(one.confidence, 3),
        since=min(one.since, scene.now),
        path=_paths(scene, one.cause, symptoms),
        symptoms=symptoms,
        evidence=tuple(dict.fromkeys(one.said)),
        rivals=rivals[:MOST_RIVALS],
        owners=_owners(scene, one.cause, symptoms),
        runbook=one.kind,
        unknown=tuple(dict.fromkeys(one.unknown)),
    )


def _paths(scene: Scene, cause: Subject, symptoms: Sequence[Symptom]) -> tuple[str, ...]:
    """One line per symptom, those of work first: a person reads them from the cause to what it costs."""
    order = sorted(symptoms, key=lambda one: (not one.subject.startswith(("job/", "path/", "pool/")), one.since))
    subjects = list(dict.fromkeys(one.subject for one in order))
    ways = scene.topology.paths(cause, subjects[: 2 * MOST_PATHS])
    return tuple([" > ".join(way) for way in ways if len(way) > 1][:MOST_PATHS]) or (cause,)


def _owners(scene: Scene, cause: Subject, symptoms: Sequence[Symptom]) -> tuple[str, ...]:
    """Who owns the cause, then who owns what suffers."""
    suffering = [one.subject for one in symptoms if one.subject.startswith(("job/", "path/", "pool/"))]
    others = suffering or [one.subject for one in symptoms[:MOST_PATHS]]
    names = (scene.topology.owner(place) for place in [cause, *others])
    return tuple(dict.fromkeys(name for name in names if name))
