"""Fabric links: their switches, and which links carry less or count errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from holdfast.model.finding import Symptom
from holdfast.model.subject import Subject, kind
from holdfast.seams.scene import Scene

BANDWIDTH = "link_bandwidth_bytes_per_second"
ERRORS = "link_errors_per_second"
CONGESTION = "link_congestion_ratio"
USE = "link_utilization_ratio"


@dataclass(frozen=True)
class Links:
    scene: Scene

    @cached_property
    def of_switch(self) -> dict[Subject, frozenset[Subject]]:
        found: dict[Subject, set[Subject]] = {}
        for edge in self.scene.topology.edges:
            if edge.kind == "connects" and edge.source.startswith("link/") and edge.target.startswith("switch/"):
                found.setdefault(edge.target, set()).add(edge.source)
            elif edge.kind == "connects" and edge.target.startswith("link/") and edge.source.startswith("switch/"):
                found.setdefault(edge.source, set()).add(edge.target)
        return {switch: frozenset(links) for switch, links in found.items()}

    @cached_property
    def switches_of(self) -> dict[Subject, list[Subject]]:
        found: dict[Subject, list[Subject]] = {}
        for switch, links in self.of_switch.items():
            for link in links:
                found.setdefault(link, []).append(switch)
        return found

    @cached_property
    def broken(self) -> dict[Subject, list[Symptom]]:
        """Links that carry less than before or count errors."""
        fell, errors = self.scene.fell(BANDWIDTH), self.scene.rose(ERRORS)
        return {
            link: [found[link] for found in (fell, errors) if link in found]
            for link in sorted({*fell, *errors})
            if link.startswith("link/")
        }

    @cached_property
    def metered(self) -> frozenset[Subject]:
        """Links with measurements. A link without any is neither healthy nor bad."""
        return frozenset(self.scene.seen(BANDWIDTH) | self.scene.seen(ERRORS) | self.scene.seen(CONGESTION))

    def beside(self, place: Subject) -> frozenset[Subject]:
        """Measured links that share a switch with this link and take over its traffic."""
        switches = self.switches_of.get(place, [place])
        return frozenset(link for switch in switches for link in self.of_switch.get(switch, ())) & self.metered

    def most_of(self, switch: Subject, bad: Mapping[Subject, object], least: float = 0.7) -> bool:
        """Whether nearly all links of a switch, and at least two, are bad."""
        links = self.of_switch.get(switch, frozenset()) & {*self.metered, *bad}
        hit = sum(1 for link in links if link in bad)
        return hit > 1 and hit >= least * len(links)

    def below(self, switch: Subject) -> bool:
        """Whether nodes connect to the switch, as to a leaf."""
        targets = self.scene.topology.targets.get(switch, ())
        return any(edge.kind == "connects" and kind(edge.target) == "node" for edge in targets)
