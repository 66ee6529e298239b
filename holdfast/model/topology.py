"""Topology: one graph of equipment, nodes and jobs. Its edges: cools, powers, connects, runs on, checkpoints to, ...

An edge points from cause to effect: from a coolant unit to the rack that it cools. Parts (node/n1/gpu/3 of node/n1)
need no edge, because their address names their parent.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from holdfast.model.subject import Subject, kind

KINDS = ("cools", "powers", "connects", "runs_on", "checkpoints_to", "feeds", "blocks")
"""cdu cools rack; feed powers rack; switch connects node; node carries job (runs_on); storage keeps a job's
checkpoints (checkpoints_to); pool feeds pool, storage feeds job; job blocks milestone."""
MOST_WALKS = 4096
PART = "part"  # the implicit edge between a whole and its parts; no file contains it


class Edge(NamedTuple):
    kind: str
    source: Subject
    target: Subject


@dataclass(frozen=True)
class Topology:
    edges: tuple[Edge, ...] = ()
    owners: Mapping[str, str] = field(default_factory=dict)
    """Who answers for what, by the beginning of a subject: {'cdu': 'facilities', 'node/n1': 'lab 3'}."""

    @cached_property
    def targets(self) -> dict[Subject, list[Edge]]:
        found: dict[Subject, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.source, []).append(edge)
        return found

    @cached_property
    def sources(self) -> dict[Subject, list[Edge]]:
        found: dict[Subject, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.target, []).append(edge)
        return found

    @cached_property
    def subjects(self) -> frozenset[Subject]:
        return frozenset(self.targets) | frozenset(self.sources)

    def down(self, subject: Subject, kinds: Collection[str] | None = None) -> tuple[Subject, ...]:
        """All subjects that this one acts on, nearest first, without itself."""
        return tuple(self._walk(subject, kinds, down=True))[1:]

    def up(self, subject: Subject, kinds: Collection[str] | None = None) -> tuple[Subject, ...]:
        """All subjects that act on this one, nearest first, without itself. A part is reached through its whole."""
        return tuple(self._walk(subject, kinds, down=False))[1:]

    def path(self, cause: Subject, symptom: Subject, kinds: Collection[str] | None = None) -> tuple[Subject, ...]:
        """The shortest path from cause to symptom, both included; empty if there is none."""
        return self.paths(cause, (symptom,), kinds)[0]

    def paths(
        self, cause: Subject, symptoms: Iterable[Subject], kinds: Collection[str] | None = None
    ) -> list[tuple[Subject, ...]]:
        """Shortest paths to many symptoms in one walk. A part that no edge names is reached through its whole."""
        before = self._walk(cause, kinds, down=True)
        return [_way_back(before, cause, symptom) for symptom in symptoms]

    def peers(self, subject: Subject) -> tuple[Subject, ...]:
        """Subjects of the same kind with the same direct parents."""
        parents = {(edge.kind, edge.source) for edge in self.sources.get(subject, ())}
        if not parents:
            return ()
        groups = [{edge.target for edge in self.targets[source] if edge.kind == how} for how, source in parents]
        shared = set.intersection(*groups) - {subject}
        return tuple(sorted(other for other in shared if kind(other) == kind(subject)))

    def owner(self, subject: Subject) -> str:
        """The owner with the longest matching prefix, '' if none matches."""
        place = subject
        while place:
            if place in self.owners:
                return self.owners[place]
            place = place.rpartition("/")[0]
        return ""

    def _walk(self, start: Subject, kinds: Collection[str] | None, *, down: bool) -> dict[Subject, Subject]:
        """Breadth first: each subject with its predecessor. Results are cached, because a topology does not change."""
        key = (start, None if kinds is None else tuple(kinds), down)
        known = self._walked.get(key)
        if known is None:
            if len(self._walked) >= MOST_WALKS:
                self._walked.clear()
            known = self._walked[key] = self._walk_anew(start, kinds, down)
        return known

    @cached_property
    def _walked(self) -> dict[tuple[Subject, tuple[str, ...] | None, bool], dict[Subject, Subject]]:
        return {}

    def _walk_anew(self, start: Subject, kinds: Collection[str] | None, down: bool) -> dict[Subject, Subject]:
        before = {start: start}
        wave = [start]
        while wave:
            following = []
            for place in wave:
                for other in self._next(place, kinds, down):
                    if other not in before:
                        before[other] = place
                        following.append(other)
            wave = following
        return before

    def _next(self, place: Subject, kinds: Collection[str] | None, down: bool) -> Iterator[Subject]:
        for edge in (self.targets if down else self.sources).get(place, ()):
            if kinds is None or edge.kind in kinds:
                yield edge.target if down else edge.source
        if down and not place.startswith("job/"):
            yield from self._parts.get(place, ())
        elif (whole := whole_of(place)) is not None:
            # Upwards a part is reached through its whole; downwards a slow rank delays its job.
            yield whole

    @cached_property
    def _parts(self) -> dict[Subject, list[Subject]]:
        """The parts that edges name, by their whole: node/n1 has node/n1/gpu/3 where a job runs on that GPU."""
        found: dict[Subject, list[Subject]] = {}
        for subject in sorted(self.subjects):
            if (whole := whole_of(subject)) is not None:
                found.setdefault(whole, []).append(subject)
        return found


@lru_cache(maxsize=1 << 17)
def whole_of(subject: Subject) -> Subject | None:
    """node/n1 for node/n1/gpu/3; None for a subject that is not a part."""
    parts = subject.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else None


def whole_or_self(subject: Subject) -> Subject:
    """node/n1 for node/n1/gpu/3 and for node/n1."""
    return "/".join(subject.split("/")[:2])


def _way_back(before: Mapping[Subject, Subject], cause: Subject, symptom: Subject) -> tuple[Subject, ...]:
    whole = whole_of(symptom)
    way = [symptom]
    if symptom not in before and whole is not None and whole in before:
        way.append(whole)
    if way[-1] not in before:
        return ()
    while way[-1] != cause:
        way.append(before[way[-1]])
    return tuple(reversed(way))
