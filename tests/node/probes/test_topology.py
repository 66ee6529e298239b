"""Where hosts hang: a file of several kinds, or the subnet itself, whose switch counters join the evidence."""

import json
import math
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.formats.fabric import routes as ib_routes
from holdfast.formats.fabric import subnet as ib_topology
from holdfast.model.refusal import Refusal
from holdfast.node.probes.isolation.fabric_map import FabricMap, by_cables
from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.isolation.isolation import Measured, learn, suspects
from holdfast.node.probes.isolation.pairing import every_pair
from holdfast.node.probes.runs.topology import find
from tests.node.probes.fabric import fabric
from tests.node.probes.subnet import needs_ibsim, subnet

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
HOSTS = [Host(f"n{number}") for number in range(1, 9)]
NAMES = [host.name for host in HOSTS]
LEAVES = {name: f"leaf{1 + number // 4}" for number, name in enumerate(NAMES)}


def network() -> str:
    """Two leaves of four hosts, two spines; the last digit of a host's number chooses the spine."""
    lines, tables = [], []
    for leaf in (1, 2):
        lines.append(f'Switch 8 "S-a{leaf}" # "leaf{leaf}" base port 0 lid {leaf} lmc 0')
        own = [number for number in range(1, 9) if LEAVES[f"n{number}"] == f"leaf{leaf}"]
        lines += [
            f'[{place}] "H-{number}"[1](1) # "n{number}" lid {10 + number} 4xNDR' for place, number in enumerate(own, 1)
        ]
        lines += [f'[{4 + spine}] "S-b{spine}"[{leaf}] # "spine{spine}" lid {4 + spine} 4xNDR' for spine in (1, 2)]
        lines.append("")
        tables.append(f"Unicast lids [0-0] of switch Lid {leaf} guid 0xa{leaf} (leaf{leaf}):")
        for number in range(1, 9):
            out = own.index(number) + 1 if number in own else 5 + number % 2
            tables.append(f"0x{10 + number:04x} {out:03d} : (Channel Adapter)")
    for spine in (1, 2):
        tables.append(f"Unicast lids [0-0] of switch Lid {4 + spine} guid 0xb{spine} (spine{spine}):")
        tables += [f"0x{10 + number:04x} {1 + (number > 4):03d} : (Channel Adapter)" for number in range(1, 9)]
    return "\n".join([*lines, *tables]) + "\n"


def mapped(adaptive: bool = False) -> FabricMap:
    return by_cables(ib_topology.parse(network()), ib_routes.parse(network()), adaptive)


def named(known: FabricMap, slow) -> list[str]:
    chance = random.Random(4)
    measured = [
        Measured(one, other, math.exp(chance.gauss(0.0, 0.15)) * (0.3 if slow(one, other) else 1.0))
        for _ in range(2)
        for turn in every_pair(NAMES)
        for one, other in turn
    ]
    return [one.part for one in suspects(measured, known.parts, learn(measured)) if one.confirmed]


def test_by_static_routes_the_single_link_is_named() -> None:
    known = mapped()
    slow = "link/leaf1:6-spine2:1"
    users = {(one, other) for turn in every_pair(NAMES) for one, other in turn if slow in set(known.parts(one, other))}
    assert 0 < len(users) < 16
    assert named(known, lambda one, other: (one, other) in users) == [slow]
    assert known.ends(slow) == [("0x00000000000000a1", 6), ("0x00000000000000b2", 1)]


def test_under_adaptive_routing_the_pair_of_leaves_is_named() -> None:
    known = mapped(adaptive=True)
    assert named(known, lambda one, other: LEAVES[one] != LEAVES[other]) == ["trunk/leaf1+leaf2"]
    assert {guid for guid, _ in known.ends("trunk/leaf1+leaf2")} == {"0x00000000000000a1", "0x00000000000000a2"}


def test_a_slow_host_is_still_a_host() -> None:
    assert named(mapped(), lambda one, other: "n3" in (one, other)) == ["node/n3"]
    assert mapped().ends("node/n3") == [("0x00000000000000a1", 3)]


@pytest.mark.parametrize(
    "text",
    [
        network(),
        "SwitchName=leaf1 Nodes=n[1-4]\nSwitchName=leaf2 Nodes=n[5-8]\nSwitchName=top Switches=leaf[1-2]\n",
        json.dumps({"nodes": [{"name": name, "place": {"leaf": leaf}} for name, leaf in LEAVES.items()]}),
    ],
    ids=["ibnetdiscover", "topology.conf", "inventory"],
)
def test_a_file_of_any_kind_places_the_hosts(tmp_path, text) -> None:
    (tmp_path / "where").write_text(text)
    assert find(str(tmp_path / "where"), False, HOSTS).map.leaves == LEAVES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("once upon a time", "neither ibnetdiscover's output nor"),
        ("{", "not JSON"),
        ('{"nodes": 3}', "node list --json"),
        ("SwitchName=l Nodes=other[1-3]", "none of these hosts; it knows other1"),
    ],
)
def test_a_file_of_no_kind_is_refused_in_one_sentence(tmp_path, text, expected) -> None:
    (tmp_path / "where").write_text(text)
    with pytest.raises(Refusal, match=expected) as refused:
        find(str(tmp_path / "where"), False, HOSTS)
    assert "\n" not in str(refused.value)


@needs_ibsim
@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("tc"), reason="network namespaces and tc need root")
@pytest.mark.parametrize(
    ("words", "subject"), [([], "link/east:9-west:9"), (["--adaptive"], "trunk/east+west")], ids=["static", "adaptive"]
)
def test_a_limited_trunk_is_named_with_what_its_switch_ports_counted(tmp_path, words, subject) -> None:
    """The hosts' packets run over namespaces, the switches' counters come from ibsim; both have the same shape."""
    pytest.importorskip("torch", reason="torch is not installed")
    cables = [("east", 1, "h1", 1), ("east", 2, "h2", 1), ("west", 1, "h3", 1), ("west", 2, "h4", 1)]
    (tmp_path / "ib").mkdir()
    with fabric(tmp_path) as made, subnet(tmp_path / "ib", [*cables, ("east", 9, "west", 9)]) as switches:
        made.limit_trunk()
        switches.command('PerformanceSet "east"[9] PortCounters.SymbolErrorCounter=77')
        done = subprocess.run(
            [HOLDFAST, "probe", "run", "--json", "--hosts", str(made.hosts), "--largest", "1KiB"]
            + ["--pair-bytes", "2MiB", "--topology", "ib", *words],
            capture_output=True,
            text=True,
            timeout=300,
            env=switches.environment,
        )
    (suspect,) = json.loads(done.stdout)["suspects"]
    assert suspect["subject"] == subject
    assert any(words.startswith("switch/east/port/9: SymbolErrorCounter 77 (0 more") for words in suspect["evidence"])
