"""The subnet from outside: real infiniband-diags against ibsim and opensm."""

import os

import pytest

from holdfast.node.probes.isolation.fabric_map import by_cables
from holdfast.node.sources.fabric import subnet as ib_fabric
from holdfast.node.sources.fabric.subnet import IbFabricSource
from tests.node.probes.subnet import needs_ibsim, subnet


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with subnet(tmp_path_factory.mktemp("subnet")) as running:
        yield running


@pytest.fixture
def asked(made, monkeypatch):
    monkeypatch.setenv("PATH", made.environment["PATH"])
    return made


@needs_ibsim
@pytest.mark.slow
def test_every_switch_port_has_its_counters_and_a_bad_one_stands_out(asked):
    asked.command('PerformanceSet "east"[9] PortCounters.SymbolErrorCounter=77')
    source = IbFabricSource()
    reading = source.read(0.0)
    assert not reading.blind
    counts = {(one.subject, one.name): one.value for one in reading.signals}
    assert {subject for subject, _ in counts} == {
        *(f"switch/{leaf}/port/{port}" for leaf in ("east", "west") for port in (1, 2, 9, 10)),
        *(f"switch/{spine}/port/{port}" for spine in ("spine1", "spine2") for port in (1, 2)),
    }
    assert {name for _, name in counts} == set(source.carries)
    bad = {key: value for key, value in counts.items() if value}
    assert bad == {("switch/east/port/9", "port_symbol_error_total"): 77.0}


@needs_ibsim
@pytest.mark.slow
def test_a_pair_is_led_over_the_links_of_its_static_routes(asked):
    fabric, routes = ib_fabric.topology(), ib_fabric.routes()
    static, adaptive = by_cables(fabric, routes, adaptive=False), by_cables(fabric, routes, adaptive=True)
    assert static.leaves == {"h1": "east", "h2": "east", "h3": "west", "h4": "west"}
    crossing = set(static.parts("h1", "h3"))
    assert {part for part in crossing if part.startswith("switch/")} >= {"switch/east", "switch/west"}
    links = {part for part in crossing if part.startswith("link/")}
    east = {"link/east:9-spine1:1", "link/east:10-spine2:1"}
    west = {"link/spine1:2-west:9", "link/spine2:2-west:10"}
    assert links & east and links & west and links <= east | west
    assert set(static.parts("h1", "h2")) == {"switch/east"}
    assert "trunk/east+west" in set(adaptive.parts("h1", "h3"))


@needs_ibsim
@pytest.mark.slow
def test_the_counters_of_one_port_are_known_by_its_lid(asked):
    fabric = ib_fabric.topology()
    (east,) = [guid for guid, name in fabric.labels().items() if name == "east"]
    asked.command('PerformanceSet "east"[2] PortCounters.LinkDownedCounter=5')
    assert ib_fabric.counters(fabric.lids[east, 0], 2)["LinkDownedCounter"] == 5


def test_without_the_tools_it_is_blind_and_says_why(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert IbFabricSource().read(0.0).blind == "ibnetdiscover (infiniband-diags) is not installed"


def test_a_tool_that_fails_is_quoted(monkeypatch, tmp_path):
    (tmp_path / "ibnetdiscover").write_text("#!/bin/sh\necho no umad port >&2\nexit 1\n")
    os.chmod(tmp_path / "ibnetdiscover", 0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert IbFabricSource().read(0.0).blind == "ibnetdiscover ended with code 1: no umad port"
