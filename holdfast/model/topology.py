"""Topology: what cools, powers, connects, runs on, checkpoints to, feeds and blocks what, as one graph.

An edge points from what acts to what is acted on. The parts of a thing (node/n1/gpu/3 of node/n1) need no edge:
their address says whose they are.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from holdfast.model.subject import Subject, kind

KINDS = ("cools", "powers", "connects", "runs_on", "checkpoints_to", "feeds", "blocks")
"""cdu cools rack; feed powers rack; switch connects node; node carries job (runs_on); storage keeps a job's
checkpoints (checkpoints_to); pool feeds pool, storage feeds job; job blocks milestone."""
PART = "part"  # between a thing and its parts, never written


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
        """Everything it acts on, nearest first, without itself."""
        return tuple(self._walk(subject, kinds, down=True))[1:]

    def up(self, subject: Subject, kinds: Collection[str] | None = None) -> tuple[Subject, ...]:
        """Everything that acts on it, nearest first, without itself. A part is acted on through its whole."""
        return tuple(self._walk(subject, kinds, down=False))[1:]

    def path(self, cause: Subject, symptom: Subject, kinds: Collection[str] | None = None) -> tuple[Subject, ...]:
        """The shortest way from cause to symptom, both included; empty where there is none."""
        before = self._walk(cause, kinds, down=True, until=symptom)
        if symptom not in before:
            return ()
        way = [symptom]
        while way[-1] != cause:
            way.append(before[way[-1]])
        return tuple(reversed(way))

    def peers(self, subject: Subject) -> tuple[Subject, ...]:
        """Others of its kind that share every direct parent with it."""
        parents = {(edge.kind, edge.source) for edge in self.sources.get(subject, ())}
        if not parents:
            return ()
        groups = [{edge.target for edge in self.targets[source] if edge.kind == how} for how, source in parents]
        shared = set.intersection(*groups) - {subject}
        return tuple(sorted(other for other in shared if kind(other) == kind(subject)))

    def owner(self, subject: Subject) -> str:
        """The owner of the longest beginning that is named, '' where nobody is."""
        place = subject
        while place:
            if place in self.owners:
                return self.owners[place]
            place = place.rpartition("/")[0]
        return ""

    def _walk(
        self, start: Subject, kinds: Collection[str] | None, *, down: bool, until: Subject | None = None
    ) -> dict[Subject, Subject]:
        """Breadth first: each subject reached, with the one it was reached from."""
        before = {start: start}
        wave = [start]
        while wave and (until is None or until not in before):
            following = []
            for place in wave:
                for other in self._next(place, kinds, down, until):
                    if other not in before:
                        before[other] = place
                        following.append(other)
            wave = following
        return before

    def _next(
        self, place: Subject, kinds: Collection[str] | None, down: bool, until: Subject | None
    ) -> Iterator[Subject]:
        for edge in (self.targets if down else self.sources).get(place, ()):
            if kinds is None or edge.kind in kinds:
                yield edge.target if down else edge.source
        whole = whole_of(place)
        if not down:
            yield from () if whole is None else (whole,)
        elif place.startswith("job/"):
            # A rank holds up its job; the ranks of a job are not listed one by one, their address tells.
            yield from () if whole is None else (whole,)
        else:
            yield from self._parts.get(place, ())
        if down and until is not None and until.startswith(place + "/"):
            yield until

    @cached_property
    def _parts(self) -> dict[Subject, list[Subject]]:
        """The parts that edges name, by their whole: node/n1 has node/n1/gpu/3 where a job runs on that GPU."""
        found: dict[Subject, list[Subject]] = {}
        for subject in sorted(self.subjects):
            if (whole := whole_of(subject)) is not None:
                found.setdefault(whole, []).append(subject)
        return found


def whole_of(subject: Subject) -> Subject | None:
    """node/n1 for node/n1/gpu/3; None for what is whole itself."""
    parts = subject.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else None
