"""What infiniband-diags print: cables, routes and counters; and anything else without falling over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.fabric import counters as ib_counters
from holdfast.formats.fabric import routes as ib_routes
from holdfast.formats.fabric import subnet as ib_topology
from holdfast.formats.slurm import topology as slurm_topology

TOPOLOGY = """\
#
# Topology file: generated on Sun Nov  1 08:00:00 2026
#
vendid=0x2c9
devid=0xd2f2
switchguid=0xa1(a1)
Switch\t65 "S-00000000000000a1"\t\t# "MF0;leaf1:MQM9700/U1" enhanced port 0 lid 21 lmc 0
[1]\t"H-0000000000000011"[1](12) \t\t# "n1 mlx5_0" lid 31 4xNDR
[2]\t"H-0000000000000013"[1](14) \t\t# "n1 mlx5_1" lid 32 4xNDR
[33]\t"S-00000000000000b1"[1]\t\t# "MF0;core:CS9500/S01/U1" lid 22 4xNDR s=4 w=2 v=4 e=4
[65]\t"H-00000000000000c1"[1](c1) \t\t# "Mellanox Technologies Aggregation Node" lid 40 4xNDR

caguid=0x11
Ca\t1 "H-0000000000000011"\t\t# "n1 mlx5_0"
[1](12) \t"S-00000000000000a1"[1]\t\t# lid 31 lmc 0 "MF0;leaf1:MQM9700/U1" lid 21 4xNDR
[2](15) \tthis cable was cut in half
"""
LISTED = """\
CA    31  1 0x0000000000000012 4x NDR - SW    21  1 0x00000000000000a1 ( 'n1 mlx5_0' - 'leaf1' )
SW    21  9 0x00000000000000a1 4x ???                                    'leaf1'
SW    21 33 0x00000000000000a1 4x NDR - SW    22  1 0x00000000000000b1 ( 'leaf1' - 'core' )
SW    21 34 0x00000000000000a1 4x NDR - XX    22
"""
TABLES = """\
Unicast lids [0x0-0x20] of switch DR path slid 0; dlid 0; 0,1 guid 0x00000000000000a1 (leaf1):
  Lid  Out   Destination
       Port     Info
0x001f 001 : (Channel Adapter portguid 0x0000000000000012: 'n1 mlx5_0')
0x0016 033 : (Switch portguid 0x00000000000000b1: 'core')
2 valid lids dumped
Multicast mlids [0xc000-0xc3ff] of switch Lid 21 guid 0x00000000000000a1 (leaf1):
0xc000 001 :
"""
PERFQUERY = """\
# Port extended counters: Lid 21 port 33 (CapMask: 0x5A00 CapMask2: 0x0000002)
PortSelect:......................33
CounterSelect:...................0x0000
PortXmitData:....................4096
SymbolErrorCounter:..............12
PortXmitWait:....................70000
# Port counters: Lid 21 port 255 (CapMask: 0x5A00)
SymbolErrorCounter:..............99
# PortRcvErrorDetails counters: Lid 21 port 1
PortLocalPhysicalErrors:.........3
"""
ERRORS = """\
Errors for "n1 mlx5_0"
   GUID 0x12 port 1: [PortRcvErrors == 3]
Errors for 0xa1 "MF0;leaf1:MQM9700/U1"
   GUID 0xa1 port ALL: [SymbolErrorCounter == 77] [PortXmitData == 4096 (16.000KB)]
   GUID 0xa1 port 33: [SymbolErrorCounter == 77] [PortXmitData == 4096 (16.000KB)]
       Link info:     21  33[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>  0xb1     22    1[  ] "core" ( )

## Summary: 12 nodes checked, 2 bad nodes found
"""


def test_a_topology_file_has_hosts_with_their_rails_and_switches_with_short_names() -> None:
    found = ib_topology.parse(TOPOLOGY)
    assert found.skipped == 1
    assert found.hosts() == {"n1": [("0x0000000000000011", 1), ("0x0000000000000013", 1)]}
    assert ib_topology.leaf_ends(found) == {"n1": [("0x00000000000000a1", 1), ("0x00000000000000a1", 2)]}
    assert sorted(found.labels().values())[-3:] == ["leaf1", "n1.mlx5_0", "n1.mlx5_1"]
    assert found.labels()["0x00000000000000b1"] == "core.S01"
    assert found.lids[("0x00000000000000a1", 0)] == 21 and found.lids[("0x0000000000000013", 1)] == 32
    assert found.rates[("0x00000000000000b1", 1)] == "4xNDR"


def test_the_list_of_ports_says_the_same() -> None:
    found = ib_topology.parse(LISTED)
    assert list(found.hosts()) == ["n1"]
    assert found.cables[("0x00000000000000a1", 33)] == ("0x00000000000000b1", 1)
    assert found.skipped == 1


def test_switches_of_the_same_name_are_distinguished() -> None:
    found = ib_topology.parse(LISTED.replace("core", "leaf1"))
    assert len(set(found.labels().values())) == len(found.nodes)


def test_a_forwarding_table_reports_the_port_to_a_lid() -> None:
    assert ib_routes.parse(TABLES) == {"0x00000000000000a1": {31: 1, 22: 33}}


def test_perfquery_reports_each_port_and_not_the_sum_of_all() -> None:
    first, details = ib_counters.parse_perfquery(PERFQUERY)
    assert (first.lid, first.port) == (21, 33)
    assert first.counts == {"PortXmitData": 4096, "SymbolErrorCounter": 12, "PortXmitWait": 70000}
    assert details.counts == {"PortLocalPhysicalErrors": 3}


def test_ibqueryerrors_reports_ports_with_errors() -> None:
    report = ib_counters.parse_errors(ERRORS)
    assert report.nodes_checked == 12
    assert [(one.guid, one.port, one.counts.get("SymbolErrorCounter")) for one in report.ports] == [
        ("0x0000000000000012", 1, None),
        ("0x00000000000000a1", 33, 77),
    ]
    assert ib_counters.parse_errors(ERRORS[:200]).nodes_checked is None


@pytest.mark.parametrize(
    ("counter", "signal", "worth"),
    [
        ("SymbolErrorCounter", "port_symbol_error_total", 1),
        ("PortXmitWait", "port_xmit_wait_total", 1),
        ("VL15Dropped", "port_vl15_dropped_total", 1),
        ("PortRcvData", "port_rcv_data_bytes_total", 4),
    ],
)
def test_a_switch_port_calls_its_counters_as_a_hosts_port_does(counter: str, signal: str, worth: int) -> None:
    assert ib_counters.signal_of(counter) == (signal, worth)


def test_slurms_topology_places_nodes_below_leaves() -> None:
    text = "SwitchName=l1 Nodes=n[1-2]  # west\nSwitchName=l2 \\\n  Nodes=n3\nSwitchName=top Switches=l[1-2]\n"
    assert slurm_topology.parse(text, "topology.conf") == {"n1": "l1", "n2": "l1", "n3": "l2"}


def test_blocks_of_topology_block_are_leaves() -> None:
    text = "BlockName=rack1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\nBlockName=rack2 Nodes=n3\nBlockSizes=2,4\n"
    assert slurm_topology.parse(text, "topology.conf") == {"n1": "rack1", "n2": "rack1", "n3": "rack2"}


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("", "no line has"),
        ("SwitchName=l1", "line 1: expected SwitchName= with"),
        ("SwitchName=l1 Nodes=n[1-", "line 1"),
        ("BlockName=b1 BlockSize=4", "line 1: expected .* BlockName= with Nodes="),
        ("BlockSizes=4", "no line has"),
    ],
)
def test_a_wrong_topology_conf_is_refused_with_its_line(text: str, expected_text: str) -> None:
    with pytest.raises(slurm_topology.TopologyError, match=expected_text):
        slurm_topology.parse(text, "topology.conf")


WORDS = st.lists(
    st.one_of(st.sampled_from((TOPOLOGY + LISTED + TABLES + PERFQUERY + ERRORS).splitlines()), st.text(max_size=60))
).map("\n".join)


@given(WORDS, st.integers(0, 200))
def test_whatever_is_printed_is_read_without_falling_over(text: str, cut: int) -> None:
    for words in (text, text[cut:], text[:-cut]):
        fabric = ib_topology.parse(words)
        assert set(fabric.labels()) == set(fabric.nodes)
        assert set(fabric.hosts()) == set(ib_topology.leaf_ends(fabric))
        ib_routes.parse(words)
        assert all(count >= 0 for one in ib_counters.parse_perfquery(words) for count in one.counts.values())
        ib_counters.parse_errors(words)
        try:
            slurm_topology.parse(words, "x")
        except slurm_topology.TopologyError as error:
            assert "\n" not in str(error)
