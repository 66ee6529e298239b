"""Output of ibnetdiscover: the nodes of an InfiniBand subnet and the cables between them.

Both forms are read: the topology file, and the list of ports (`ibnetdiscover -p`). Other lines are skipped; `skipped`
counts those that looked like a port and could not be parsed.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

SWITCH, HOST, ROUTER = "switch", "ca", "router"
_KINDS = {"S": SWITCH, "H": HOST, "R": ROUTER, "SW": SWITCH, "CA": HOST, "RT": ROUTER}
_NODE = re.compile(r'(?:Switch|Ca|Rt)\s+\d+\s+"([SHR])-([0-9a-fA-F]{1,16})"\s*#\s*"(.*)"(.*)')
_LID = re.compile(r"\blid (\d{1,6})\b")
_PORT = re.compile(
    r'\[(\d{1,3})\](?:\[[^]]*\])?(?:\([0-9a-fA-F]+\))?\s+"([SHR])-([0-9a-fA-F]{1,16})"\[(\d{1,3})\][^#]*#(.*)'
)
_PEER = re.compile(r'(?:\s*lid (\d{1,6}) lmc \d+)?\s*"(.*)" lid (\d{1,6}) (\S+)')
_LISTED = re.compile(
    r"(SW|CA|RT)\s+(\d{1,6})\s+(\d{1,3})\s+0x([0-9a-fA-F]{1,16})\s+(\d+x)\s+(\S+)\s+-\s+"
    r"(SW|CA|RT)\s+(\d{1,6})\s+(\d{1,3})\s+0x([0-9a-fA-F]{1,16})\s+\(\s*'(.*)'\s+-\s+'(.*)'\s*\)"
)
_MANAGED = re.compile(r"MF\d+;([^:]+):[^/]*/?(.*)")  # descriptions of managed switches
_AGGREGATOR = "Aggregation Node"  # in-network reduction: looks like a host, but is part of a switch

End = tuple[str, int]  # guid, port


@dataclass(frozen=True, slots=True)
class IbNode:
    guid: str
    kind: str
    description: str


@dataclass(slots=True)
class IbFabric:
    nodes: dict[str, IbNode] = field(default_factory=dict)
    cables: dict[End, End] = field(default_factory=dict)  # both directions
    rates: dict[End, str] = field(default_factory=dict)  # 4xNDR
    lids: dict[End, int] = field(default_factory=dict)  # of a switch, at its port 0
    skipped: int = 0

    def hosts(self) -> dict[str, list[End]]:
        """Host name -> its ports with a cable, ordered by adapter name: the rails."""
        found: dict[str, list[tuple[str, End]]] = {}
        for end in self.cables:
            node = self.nodes[end[0]]
            if node.kind == HOST and _AGGREGATOR not in node.description and node.description.split():
                found.setdefault(node.description.split()[0], []).append((node.description, end))
        return {name: [end for _, end in sorted(ports)] for name, ports in sorted(found.items())}

    def labels(self) -> dict[str, str]:
        """Guid -> a short unique name without slashes; the guid is appended if two names would be equal."""
        plain = {guid: label(node.description) or guid for guid, node in self.nodes.items()}
        often = Counter(plain.values())
        return {guid: name if often[name] == 1 else f"{name}~{guid}" for guid, name in plain.items()}


def label(description: str) -> str:
    """'MF0;leaf3:MQM9700/U1' -> leaf3; for a chassis, the name of the board stays."""
    managed = _MANAGED.fullmatch(description.strip())
    words = description.strip()
    if managed:
        board = managed[2].removesuffix("U1").strip("/")
        words = f"{managed[1]}.{board}" if board else managed[1]
    return re.sub(r"[\s/+]+", ".", words).strip(".")


def guid_of(digits: str) -> str:
    return f"0x{int(digits, 16):016x}"


def parse(text: str) -> IbFabric:
    found = IbFabric()
    current: IbNode | None = None
    for line in text.splitlines():
        if node := _NODE.match(line):
            current = IbNode(guid_of(node[2]), _KINDS[node[1]], node[3])
            found.nodes[current.guid] = current
            if current.kind == SWITCH and (lid := _LID.search(node[4])):
                found.lids[current.guid, 0] = int(lid[1])
        elif line.startswith("["):
            _port_line(found, current, line)
        elif line.startswith(("SW ", "CA ", "RT ")):
            _listed_line(found, line)
        elif not line.strip():
            current = None
    return found


def _port_line(found: IbFabric, node: IbNode | None, line: str) -> None:
    port, peer = _PORT.match(line), None
    if port:
        peer = _PEER.match(port[5])
    if node is None or port is None or peer is None:
        found.skipped += 1
        return
    there = IbNode(guid_of(port[3]), _KINDS[port[2]], peer[2])
    here_end, there_end = (node.guid, int(port[1])), (there.guid, int(port[4]))
    found.nodes.setdefault(there.guid, there)
    _cable(found, here_end, there_end, peer[4])
    if peer[1]:
        found.lids[here_end] = int(peer[1])
    found.lids[(there.guid, 0) if there.kind == SWITCH else there_end] = int(peer[3])


def _listed_line(found: IbFabric, line: str) -> None:
    row = _LISTED.match(line)
    if row is None:
        found.skipped += " - " in line  # a port without a cable has no peer
        return
    ends = []
    for kind, lid, port, guid, name in ((row[1], row[2], row[3], row[4], row[11]), (*row.group(7, 8, 9, 10, 12),)):
        node = IbNode(guid_of(guid), _KINDS[kind], name)
        found.nodes.setdefault(node.guid, node)
        ends.append((node.guid, int(port)))
        found.lids[(node.guid, 0) if node.kind == SWITCH else ends[-1]] = int(lid)
    _cable(found, ends[0], ends[1], f"{row[5]}{row[6]}")


def _cable(found: IbFabric, here: End, there: End, rate: str) -> None:
    found.cables[here], found.cables[there] = there, here
    found.rates[here] = found.rates[there] = rate


def leaf_ends(fabric: IbFabric) -> Mapping[str, list[End]]:
    """Host -> the switch ports that its rails are connected to."""
    return {
        host: [far for end in rails if fabric.nodes[(far := fabric.cables[end])[0]].kind == SWITCH]
        for host, rails in fabric.hosts().items()
    }
