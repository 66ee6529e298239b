"""Captures of ibnetdiscover and perfquery from real subnets, where they are at hand."""

from holdfast.formats.fabric import counters as ib_counters
from holdfast.formats.fabric import subnet as ib_topology

from . import captures

DATA = captures.DATA / "infiniband_sysfs"
pytestmark = captures.needs(DATA)


def test_a_topology_with_a_chassis_places_every_host_behind_one_leaf() -> None:
    found = ib_topology.parse((DATA / "superbench_ib_traffic_topo_aware_ibnetdiscover.txt").read_text())
    assert found.skipped == 0
    assert len(found.hosts()) == 10
    assert all(len(ends) == 1 for ends in ib_topology.leaf_ends(found).values())
    assert not any("Aggregation" in host for host in found.hosts())


def test_a_list_of_ports_with_free_ones() -> None:
    found = ib_topology.parse((DATA / "treydock_tools/ibnetdiscover/test.out").read_text())
    assert found.skipped == 0
    assert len(found.hosts()) == 3


def test_every_port_of_perfquery_is_counted() -> None:
    texts = [path.read_text() for path in DATA.glob("treydock_tools/perfquery*/*.out")]
    heads = sum(text.count("counters: Lid") for text in texts)
    found = [one for text in texts for one in ib_counters.parse_perfquery(text)]
    assert len(found) == heads > 0
    assert all(one.counts for one in found)
