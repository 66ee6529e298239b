"""Reads topology files (TOML). Reports every mistake at once: cycle, orphan, unknown subject or relation.

[owners]
cdu = "facilities"

[[edge]]
kind = "cools"
from = "cdu/c1"
to = ["rack/r1", "rack/r[2-4]"]
"""

import tomllib
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from holdfast.formats.slurm.hostlist import NotAHostlist, expand
from holdfast.model.subject import Subject
from holdfast.model.topology import KINDS, Edge, Topology, whole_or_self

THINGS = (
    "room", "cdu", "loop", "rack", "feed", "psu", "switch", "link", "node", "storage", "job", "pool", "path",
    "milestone", "software",
)  # fmt: skip
"""Valid first parts of a subject."""

MOST_EDGES = 4_000_000
MOST_MISTAKES = 20


class NotATopology(ValueError):
    """The text is not a valid topology; `mistakes` lists every mistake."""

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        more = len(self.mistakes) - MOST_MISTAKES
        reported = "; ".join(self.mistakes[:MOST_MISTAKES])
        super().__init__(reported + (f"; and {more} more" if more > 0 else ""))


def read(text: str) -> Topology:
    """Parses the topology. Raises NotATopology with all of its mistakes."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotATopology([f"not TOML: {error}"]) from None
    mistakes = [f"{key!r} is not known here; expected owners and edge" for key in document.keys() - {"owners", "edge"}]
    owners = _owners(document.get("owners", {}), mistakes)
    edges = _edges(document.get("edge", []), mistakes)
    mistakes += check(edges)
    if mistakes:
        raise NotATopology(mistakes)
    return Topology(tuple(edges), owners)


def check(edges: Collection[Edge]) -> list[str]:
    """Mistakes of a graph from any source: subjects that act on themselves, and GPUs without a node."""
    return [*_cycles(edges), *_orphans(edges)]


def strangers(topology: Topology, known: Collection[Subject]) -> list[str]:
    """Subjects that the topology names and no source reports, the first ones with the nearest reported name.

    Only types for which something is reported count: a loop without instruments is no mistake.
    """
    wholes: dict[str, set[Subject]] = {}
    for one in known:
        whole = whole_or_self(one)
        wholes.setdefault(whole.partition("/")[0], set()).add(whole)
    found: list[str] = []
    for subject in sorted({whole_or_self(one) for one in topology.subjects}):
        of_its_kind = wholes.get(subject.partition("/")[0], set())
        if of_its_kind and subject not in of_its_kind:
            # Finding the nearest of ten thousand names takes a second; twenty hints are enough to see a pattern.
            near = get_close_matches(subject, sorted(of_its_kind), n=1) if len(found) < MOST_MISTAKES else []
            found.append(f"no source reports {subject}" + (f"; did you mean {near[0]}?" if near else ""))
    return found


def unplaced(topology: Topology, known: Collection[Subject]) -> list[str]:
    """Nodes that report and are missing in the topology: their faults cannot be traced to a cause."""
    nodes = {whole_or_self(one) for one in known if one.startswith("node/")}
    return [f"{node} is in no edge" for node in sorted(nodes - topology.subjects)]


def _owners(found: Any, mistakes: list[str]) -> dict[str, str]:
    if not isinstance(found, dict):
        mistakes.append('owners: expected a table such as cdu = "facilities"')
        return {}
    owners = {}
    for place, owner in found.items():
        if not isinstance(owner, str):
            mistakes.append(f"owners.{place}: expected a name, found {owner!r}")
        elif place.partition("/")[0] not in THINGS:
            mistakes.append(f"owners.{place}: {_near(place.partition('/')[0], THINGS, 'thing')}")
        else:
            owners[place] = owner
    return owners


def _edges(found: Any, mistakes: list[str]) -> list[Edge]:
    if not isinstance(found, list):
        mistakes.append("edge: expected [[edge]] tables")
        return []
    edges: dict[Edge, None] = {}
    for number, table in enumerate(found, 1):
        for edge in _edge(f"edge {number}", table, mistakes):
            edges[edge] = None
            if len(edges) > MOST_EDGES:
                raise NotATopology([f"more than {MOST_EDGES} edges"])
    return list(edges)


def _edge(where: str, table: Any, mistakes: list[str]) -> Iterator[Edge]:
    if not isinstance(table, dict):
        mistakes.append(f"{where}: expected a table with kind, from and to")
        return
    for key in sorted(table.keys() - {"kind", "from", "to"}):
        mistakes.append(f"{where}: {key!r} is not known; expected kind, from and to")
    kind = table.get("kind")
    if kind not in KINDS:
        mistakes.append(f"{where}: {_near(str(kind), KINDS, 'relation')}")
        return
    sources = _subjects(f"{where}, from", table.get("from"), mistakes)
    targets = _subjects(f"{where}, to", table.get("to"), mistakes)
    if len(sources) * len(targets) > MOST_EDGES:
        raise NotATopology([f"{where}: more than {MOST_EDGES} edges"])
    for source in sources:
        for target in targets:
            yield Edge(kind, source, target)


def _subjects(where: str, reported: Any, mistakes: list[str]) -> list[Subject]:
    listed = [reported] if isinstance(reported, str) else reported
    if not isinstance(listed, list) or not listed or not all(isinstance(one, str) for one in listed):
        mistakes.append(f"{where}: expected a subject such as rack/r1, or a list of them, found {reported!r}")
        return []
    found: list[Subject] = []
    for text in listed:
        try:
            names = expand(text)
        except NotAHostlist as error:
            mistakes.append(f"{where}: {error}")
            continue
        found += names
        if not names:
            mistakes.append(f"{where}: {text!r} names no subject")
        elif problem := _not_a_subject(names[0]):
            mistakes.append(f"{where}: {problem}")
            return []
    return found


def _not_a_subject(name: str) -> str:
    thing, slash, rest = name.partition("/")
    if thing not in THINGS:
        return _near(thing, THINGS, "thing")
    return "" if slash and rest and not rest.startswith("/") else f"{name!r} is not a subject such as {thing}/name"


def _near(text: str, known: Collection[str], what: str) -> str:
    close = get_close_matches(text, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}"
    return f"{text!r} is not a known {what}; {hint}"


def _cycles(edges: Collection[Edge]) -> Iterator[str]:
    """Cycles, for one kind of edge at a time: nothing cools or powers itself through others."""
    for kind in KINDS:
        after: dict[Subject, list[Subject]] = {}
        for edge in edges:
            if edge.kind == kind:
                after.setdefault(edge.source, []).append(edge.target)
        if circle := _circle(after):
            yield f"{kind}: {' > '.join(circle)} goes in a circle"


def _circle(after: dict[Subject, list[Subject]]) -> list[Subject]:
    """One cycle, or nothing. Depth first without recursion, because chains may be long."""
    done: set[Subject] = set()
    for start in after:
        way: list[Subject] = []
        inside: set[Subject] = set()
        todo: list[tuple[Subject, bool]] = [(start, True)]
        while todo:
            place, entering = todo.pop()
            if not entering:
                done.add(way.pop())
                inside.discard(place)
            elif place in inside:
                return [*way[way.index(place) :], place]
            elif place not in done:
                way.append(place)
                inside.add(place)
                todo.append((place, False))
                todo += [(following, True) for following in after.get(place, ())]
    return []


def _orphans(edges: Collection[Edge]) -> Iterator[str]:
    """Subjects in the middle of a chain that nothing acts on: a loop without a cooling unit, a rank without a node."""
    sources = {edge.source for edge in edges}
    for kind, prefix, why in (
        ("cools", "loop/", "no unit cools it"),
        ("powers", "psu/", "no feed powers it"),
        ("connects", "link/", "it joins no switch to anything"),
    ):
        hung = {edge.target for edge in edges if edge.kind == kind}
        for place in sorted(place for place in sources - hung if place.startswith(prefix)):
            yield f"{place} is an orphan: {why}"
