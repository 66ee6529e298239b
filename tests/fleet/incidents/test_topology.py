"""TopologyGaps of the topology are said once they are sure, once, and again when they change."""

import logging

import numpy as np
import pytest

from holdfast.fleet.incidents.topology import SETTLES_SECONDS, TopologyGaps
from holdfast.model.panel import Panel, table
from holdfast.model.topology import Edge, Topology

TOPOLOGY = Topology((Edge("cools", "rack/r1", "node/n1"), Edge("cools", "rack/r1", "node/x2")))
PANEL = Panel(np.arange(2.0), {"gpu_temperature_celsius": table({"node/n1/gpu/0": [1.0, 2.0]})})


def test_nothing_is_reported_before_everybody_had_the_time_to_report() -> None:
    gaps = TopologyGaps(began=100.0)
    gaps.update(TOPOLOGY, TOPOLOGY, PANEL, ["node/n1"], 100.0 + SETTLES_SECONDS - 1)
    assert gaps.gaps == ()


def test_others_and_unplaced_are_reported_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    gaps = TopologyGaps(began=0.0)
    with caplog.at_level(logging.WARNING, "holdfast.fleet.controller"):
        for now in (1000.0, 1030.0):
            gaps.update(TOPOLOGY, TOPOLOGY, PANEL, ["node/n1", "node/n2"], now)
    assert gaps.gaps == ("no source reports node/x2; did you mean node/n2?", "node/n2 is in no edge")
    assert len(caplog.records) == 1 and "node/n2 is in no edge" in caplog.text


def test_what_nodes_reported_of_their_place_counts() -> None:
    gaps = TopologyGaps(began=0.0)
    whole = Topology((*TOPOLOGY.edges, Edge("cools", "rack/r1", "node/n2")))
    gaps.update(TOPOLOGY, whole, PANEL, ["node/n1", "node/n2", "node/x2"], 1000.0)
    assert gaps.gaps == ()
