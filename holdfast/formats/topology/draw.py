"""Topology edges from a fabric or scheduler, and a topology as TOML."""

import json
from collections.abc import Iterable, Mapping

from holdfast.formats.fabric.subnet import HOST, SWITCH, IbFabric, leaf_ends
from holdfast.formats.slurm.hostlist import compress
from holdfast.model.topology import Edge

UNREACHED = 1 << 30


def of_fabric(fabric: IbFabric) -> list[Edge]:
    """The graph of ibnetdiscover: switches, the links between them, and the nodes or, in a fabric of rails, their
    ports."""
    names = fabric.labels()
    levels = _levels(fabric)
    found: dict[Edge, None] = {}
    for (here, _), (there, _) in fabric.cables.items():
        if fabric.nodes[here].kind == fabric.nodes[there].kind == SWITCH:
            far, near = sorted((here, there), key=lambda guid: (-levels.get(guid, UNREACHED), names[guid]))
            link = f"link/{names[near]}-{names[far]}"
            found[Edge("connects", f"switch/{names[far]}", link)] = None
            found[Edge("connects", link, f"switch/{names[near]}")] = None
    for host, ends in leaf_ends(fabric).items():
        rails = fabric.hosts()[host]
        switches = {end[0] for end in ends}
        for end in rails:
            far = fabric.cables[end][0]
            if fabric.nodes[far].kind == SWITCH:
                port = f"node/{host}/nic/{_adapter(fabric, end[0])}/{end[1]}"
                target = port if len(switches) > 1 else f"node/{host}"
                found[Edge("connects", f"switch/{names[far]}", target)] = None
    return list(found)


def of_leaves(leaves: Mapping[str, str]) -> list[Edge]:
    """The graph of topology.conf: node -> its leaf switch."""
    return [Edge("connects", f"switch/{leaf}", f"node/{node}") for node, leaf in leaves.items()]


def as_toml(edges: Iterable[Edge]) -> str:
    """TOML with one table for all subjects that one subject acts on in one way; nodes as a hostlist."""
    targets: dict[tuple[str, str], list[str]] = {}
    for edge in edges:
        targets.setdefault((edge.kind, edge.source), []).append(edge.target)
    parts = []
    for (kind, source), mine in targets.items():
        short = compress(mine) if all(target.count("/") == 1 for target in mine) else ""
        reported = json.dumps([short] if short else mine, ensure_ascii=False)
        parts.append(
            f"[[edge]]\nkind = {json.dumps(kind)}\nfrom = {json.dumps(source, ensure_ascii=False)}\nto = {reported}\n"
        )
    return "\n".join(parts)


def _levels(fabric: IbFabric) -> dict[str, int]:
    """Distance of each switch from the nearest host; edges lead from the farther to the nearer one."""
    found = {guid: 0 for guid, node in fabric.nodes.items() if node.kind == HOST}
    wave = list(found)
    beside: dict[str, list[str]] = {}
    for (here, _), (there, _) in fabric.cables.items():
        beside.setdefault(here, []).append(there)
    while wave:
        following = []
        for guid in wave:
            for other in beside.get(guid, ()):
                if other not in found:
                    found[other] = found[guid] + 1
                    following.append(other)
        wave = following
    return found


def _adapter(fabric: IbFabric, guid: str) -> str:
    """'n001 mlx5_3' -> mlx5_3; the guid if the adapter has no name."""
    words = fabric.nodes[guid].description.split()
    return words[1] if len(words) > 1 and "/" not in words[1] else guid
