"""Current topology: the file, the locations of nodes and their jobs; and its gaps."""

import logging
from collections.abc import Collection, Iterable, Mapping

from holdfast.formats.topology.file import strangers, unplaced
from holdfast.model import subject
from holdfast.model.job import Job
from holdfast.model.panel import Panel
from holdfast.model.subject import Subject
from holdfast.model.topology import Edge, Topology, whole_or_self

log = logging.getLogger("holdfast.fleet.controller")
SETTLES_SECONDS = 300.0  # after a start, agents and devices need this long to report
MOST_LOGGED = 5

# key of a node's place -> (edge, kind of the parent)
PLACES = {
    "rack": ("cools", "rack"),
    "loop": ("cools", "loop"),
    "cdu": ("cools", "cdu"),
    "feed": ("powers", "feed"),
    "leaf": ("connects", "switch"),
}


def with_the_fleet(
    known: Topology, places: Mapping[str, Mapping[str, str]], jobs: Iterable[Job], ranks: Iterable[Edge] = ()
) -> Topology:
    """The topology with nodes and jobs.

    For a node's cooling, power and network, the file overrides the node's own place.
    """
    named = {(edge.kind, edge.target) for edge in known.edges}
    more = [
        Edge(how, f"{kind}/{name}", subject.node(node))
        for node, place in sorted(places.items())
        for key, name in sorted(place.items())
        if key in PLACES
        for how, kind in [PLACES[key]]
        if (how, subject.node(node)) not in named
    ]
    placed = {edge for edge in known.edges if edge.kind == "runs_on"}
    running = [Edge("runs_on", subject.node(node), subject.job(job.id)) for job in jobs for node in job.nodes]
    more += [edge for edge in dict.fromkeys([*running, *ranks]) if edge not in placed]
    return Topology((*known.edges, *more), known.owners) if more else known


class TopologyGaps:
    """Names that no source reports, and nodes without an edge. They are logged and shown, and stop nothing."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._seen: frozenset[Subject] = frozenset()
        self.gaps: tuple[str, ...] = ()

    def update(self, written: Topology, whole: Topology, panel: Panel, nodes: Collection[Subject], now: float) -> None:
        """Updates the gaps. `written`: the file's topology. `whole`: with nodes and jobs."""
        if now - self._began < SETTLES_SECONDS:
            return
        seen = frozenset(whole_or_self(one) for table in panel.tables.values() for one in table.subjects)
        seen |= frozenset(nodes)
        if seen == self._seen:
            return
        self._seen = seen
        gaps = (*strangers(written, seen), *unplaced(whole, seen))
        if gaps and gaps != self.gaps:
            more = f"; and {len(gaps) - MOST_LOGGED} more" if len(gaps) > MOST_LOGGED else ""
            log.warning("the topology has gaps: %s%s", "; ".join(gaps[:MOST_LOGGED]), more)
        self.gaps = gaps
