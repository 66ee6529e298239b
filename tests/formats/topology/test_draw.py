"""Edges from what a fabric tells of itself; what is drawn can be read again."""

from holdfast.formats.fabric import subnet as ib_topology
from holdfast.formats.topology.draw import as_toml, of_fabric, of_leaves
from holdfast.formats.topology.file import read
from holdfast.model.topology import Edge

TREE = """
Switch\t4 "S-0000000000000010"\t\t# "MF0;spine1:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[1]\t"S-0000000000000011"[3]\t\t# "MF0;leaf1:MQM9700/U1" lid 2 4xNDR

Switch\t4 "S-0000000000000011"\t\t# "MF0;leaf1:MQM9700/U1" enhanced port 0 lid 2 lmc 0
[3]\t"S-0000000000000010"[1]\t\t# "MF0;spine1:MQM9700/U1" lid 1 4xNDR
[1]\t"H-0000000000000021"[1](22) \t\t# "n001 mlx5_0" lid 5 4xNDR
[2]\t"H-0000000000000022"[1](23) \t\t# "n002 mlx5_0" lid 6 4xNDR
"""
RAILS = """
Switch\t4 "S-0000000000000011"\t\t# "MF0;rail0:MQM9700/U1" enhanced port 0 lid 2 lmc 0
[1]\t"H-0000000000000021"[1](22) \t\t# "n001 mlx5_0" lid 5 4xNDR

Switch\t4 "S-0000000000000012"\t\t# "MF0;rail1:MQM9700/U1" enhanced port 0 lid 3 lmc 0
[1]\t"H-0000000000000031"[1](32) \t\t# "n001 mlx5_1" lid 6 4xNDR
"""


def test_a_tree_points_from_the_spine_over_its_link_to_the_nodes() -> None:
    topology = read(as_toml(of_fabric(ib_topology.parse(TREE))))
    assert set(topology.edges) == {
        Edge("connects", "switch/spine1", "link/leaf1-spine1"),
        Edge("connects", "link/leaf1-spine1", "switch/leaf1"),
        Edge("connects", "switch/leaf1", "node/n001"),
        Edge("connects", "switch/leaf1", "node/n002"),
    }


def test_a_fabric_of_rails_names_ports() -> None:
    topology = read(as_toml(of_fabric(ib_topology.parse(RAILS))))
    assert set(topology.edges) == {
        Edge("connects", "switch/rail0", "node/n001/nic/mlx5_0/1"),
        Edge("connects", "switch/rail1", "node/n001/nic/mlx5_1/1"),
    }


def test_what_slurm_reports_is_drawn_as_lists_of_hosts() -> None:
    text = as_toml(of_leaves({"n1": "s1", "n2": "s1", "x9": "s2"}))
    assert '"node/n[1-2]"' in text
    assert len(read(text).edges) == 3
