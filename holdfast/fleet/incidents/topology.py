"""The topology as it is now: the file's, where nodes say that they are, and which jobs run on them."""

from collections.abc import Iterable, Mapping

from holdfast.model import subject
from holdfast.model.job import Job
from holdfast.model.topology import Edge, Topology

# What a node names as its place -> how that acts on it, and the kind of its subject.
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
    """The file's word on a node's cooling, power or network is the better one; where it has none, the node's own."""
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
