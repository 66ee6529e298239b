"""Site documents of a simulated fleet: topology, owners, prices."""

import json
from collections.abc import Iterator

from holdfast.lab.twin.fleet.kinds import FleetScenario
from holdfast.lab.twin.fleet.simulation import places

OWNERS = {
    "room": "facilities",
    "cdu": "facilities",
    "loop": "facilities",
    "rack": "facilities",
    "feed": "facilities",
    "switch": "network",
    "storage": "storage",
    "node": "hardware",
    "job": "training",
    "milestone": "business",
}


def topology(scenario: FleetScenario, nodes: int) -> str:
    """A topology file, as docs/topology.md describes it."""
    owners = "".join(f"{kind} = {json.dumps(team)}\n" for kind, team in OWNERS.items())
    edges = "".join(
        f'\n[[edge]]\nkind = "{kind}"\nfrom = "{source}"\nto = {json.dumps(list(targets))}\n'
        for (kind, source), targets in _grouped(scenario, nodes).items()
    )
    return f"# What the demo's building consists of.\n[owners]\n{owners}{edges}"


def _grouped(scenario: FleetScenario, nodes: int) -> dict[tuple[str, str], dict[str, None]]:
    """One edge per acting subject, with all subjects that it acts on."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for kind, source, target in _edges(scenario, nodes):
        found.setdefault((kind, source), {})[target] = None
    return found


def _edges(scenario: FleetScenario, nodes: int) -> Iterator[tuple[str, str, str]]:
    for name, place in places(scenario, nodes):
        rack, loop, node = f"rack/{place['rack']}", place["loop"], f"node/{name}"
        unit = f"cdu/{loop.replace('loop', 'cdu')}"
        yield "cools", "room/hall1", unit
        yield "cools", unit, f"loop/{loop}"
        yield "cools", f"loop/{loop}", rack
        yield "cools", rack, node
        yield "powers", f"feed/{place['feed']}", rack
        yield "powers", rack, node
        yield "connects", f"switch/{place['leaf']}", node
    for run in scenario.runs:
        yield "checkpoints_to", "storage/scratch", f"job/{run.name}"
        yield "blocks", f"job/{run.name}", "milestone/release"
