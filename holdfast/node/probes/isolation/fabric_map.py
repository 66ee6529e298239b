"""The fabric between two hosts: cables and switches if routes are known, otherwise leaf switches. Pure.

Under adaptive routing or ECMP the route of a packet is unknown: the two leaves are named, and the counters of the ports
between them are read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from holdfast.formats.fabric.routes import Routes
from holdfast.formats.fabric.subnet import SWITCH, End, IbFabric, leaf_ends
from holdfast.node.probes.isolation.hosts import Host, slot_name
from holdfast.node.probes.isolation.isolation import Parts, between, leaf_parts

MOST_HOPS = 64


@dataclass(frozen=True, slots=True)
class FabricMap:
    """`leaves` places hosts; `parts` returns the parts that a pair uses; `ends` the switch ports at a part."""

    leaves: Mapping[str, str] = field(default_factory=dict)
    cables: "Cables | None" = None

    @property
    def parts(self) -> Parts:
        return self.cables.parts if self.cables else leaf_parts(self.leaves)

    def ends(self, part: str) -> list[End]:
        return self.cables.ends(part) if self.cables else []


def by_hosts(hosts: Iterable[Host]) -> FabricMap:
    """The leaves in a list of hosts, of every rail."""
    leaves = {slot_name(host.name, rail): host.leaf_of(rail) for host in hosts for rail in range(host.rails)}
    return FabricMap(leaves)


def by_cables(fabric: IbFabric, routes: Routes, adaptive: bool) -> FabricMap:
    cables = Cables(fabric, {} if adaptive else routes)
    return FabricMap({host: leaves[0] for host, leaves in cables.leaves.items() if leaves}, cables)


class Cables:
    def __init__(self, fabric: IbFabric, routes: Routes) -> None:
        self._fabric, self._routes = fabric, routes
        self._labels = fabric.labels()
        self._rails = fabric.hosts()
        self._plugged = leaf_ends(fabric)
        self.leaves = {host: [self._labels[guid] for guid, _ in ends] for host, ends in self._plugged.items()}

    def parts(self, one: str, other: str) -> Iterable[str]:
        """Parts by rail, as collectives use them; the two directions may have different routes."""
        found: dict[str, None] = {}
        (one, _, only), other = one.partition("#"), other.partition("#")[0]
        here, there = self._rails.get(one, ()), self._rails.get(other, ())
        for rail, (near, far) in enumerate(zip(here, there, strict=False)):
            if only and rail != int(only):
                continue
            ways = [self.way(near, far), self.way(far, near)]
            if all(way is not None for way in ways):
                found |= dict.fromkeys(chain.from_iterable(self._on_way(way or ()) for way in ways))
            elif rail < min(len(self.leaves[one]), len(self.leaves[other])):
                found |= dict.fromkeys(between(self.leaves[one][rail], self.leaves[other][rail]))
        return found

    def way(self, start: End, goal: End) -> list[End] | None:
        """Output ports of a packet on its way; None if a table lacks the route."""
        lid = self._fabric.lids.get(goal)
        at = self._fabric.cables.get(start)
        taken: list[End] = []
        while at is not None and at != goal and len(taken) < MOST_HOPS:
            out = self._routes.get(at[0], {}).get(lid or 0)
            if out is None:
                return None
            taken.append((at[0], out))
            at = self._fabric.cables.get((at[0], out))
        return taken if at == goal else None

    def _on_way(self, way: Sequence[End]) -> Iterable[str]:
        for end in way:
            yield f"switch/{self._labels[end[0]]}"
            far = self._fabric.cables[end]
            if self._fabric.nodes[far[0]].kind == SWITCH:  # a host's own cable belongs to the host
                yield self.link(end, far)

    def link(self, one: End, other: End) -> str:
        first, second = sorted((self.end_name(one), self.end_name(other)))
        return f"link/{first}-{second}"

    def end_name(self, end: End) -> str:
        return f"{self._labels[end[0]]}:{end[1]}"

    def ends(self, part: str) -> list[End]:
        """The switch ports whose counters are evidence for or against a part."""
        kind, _, name = part.partition("/")
        if kind == "link":
            return [end for end, far in self._between_switches.items() if part == self.link(end, far)]
        if kind in ("leaf", "switch"):
            return [end for end in self._fabric.cables if self._labels[end[0]] == name]
        if kind in ("uplinks", "trunk"):
            return [end for end in self._between_switches if self._labels[end[0]] in name.split("+")]
        hosts = name.split("/")[0].split("+")
        own = [end for host in hosts for end in self._plugged.get(host, ())]
        if kind == "pair" and len(hosts) == 2:
            links = [one for one in self.parts(*hosts) if one.startswith("link/")]
            return own + [end for one in links for end in self.ends(one)]
        return own

    @cached_property
    def _between_switches(self) -> dict[End, End]:
        nodes = self._fabric.nodes
        return {
            end: far for end, far in self._fabric.cables.items() if nodes[end[0]].kind == nodes[far[0]].kind == SWITCH
        }
