from holdfast.model.topology import Edge, Topology, whole_of, whole_or_self

TOPOLOGY = Topology(
    (
        Edge("cools", "cdu/c1", "rack/r1"),
        Edge("cools", "cdu/c1", "rack/r2"),
        Edge("cools", "rack/r1", "node/n1"),
        Edge("cools", "rack/r1", "node/n2"),
        Edge("cools", "rack/r2", "node/n3"),
        Edge("connects", "switch/l1", "node/n1"),
        Edge("connects", "switch/l1", "node/n2"),
        Edge("runs_on", "node/n1", "job/a"),
        Edge("runs_on", "node/n1/gpu/0", "job/a/rank/0"),
        Edge("blocks", "job/a", "milestone/m"),
    ),
    {"cdu": "facilities", "node": "hardware", "node/n2": "lab"},
)


def test_down_and_up_follow_the_relations_that_are_asked_for() -> None:
    assert set(TOPOLOGY.down("cdu/c1", ("cools",))) == {"rack/r1", "rack/r2", "node/n1", "node/n2", "node/n3"} | {
        "node/n1/gpu/0"
    }
    assert "milestone/m" in TOPOLOGY.down("cdu/c1")
    assert TOPOLOGY.up("node/n1", ("cools",)) == ("rack/r1", "cdu/c1")
    assert set(TOPOLOGY.up("node/n1/gpu/0")) == {"node/n1", "rack/r1", "switch/l1", "cdu/c1"}


def test_the_path_leads_through_parts() -> None:
    assert TOPOLOGY.path("cdu/c1", "node/n3/gpu/5") == ("cdu/c1", "rack/r2", "node/n3", "node/n3/gpu/5")
    assert TOPOLOGY.path("node/n1/gpu/0", "milestone/m") == (
        "node/n1/gpu/0",
        "job/a/rank/0",
        "job/a",
        "milestone/m",
    )
    assert TOPOLOGY.path("rack/r2", "node/n1") == ()
    assert TOPOLOGY.path("rack/r2", "rack/r2") == ("rack/r2",)


def test_peers_share_every_parent() -> None:
    assert TOPOLOGY.peers("node/n1") == ("node/n2",)
    assert TOPOLOGY.peers("node/n3") == ()
    assert TOPOLOGY.peers("rack/r1") == ("rack/r2",)
    assert TOPOLOGY.peers("cdu/c1") == ()


def test_the_longest_beginning_owns() -> None:
    assert TOPOLOGY.owner("node/n2/gpu/1") == "lab"
    assert TOPOLOGY.owner("node/n1/gpu/1") == "hardware"
    assert TOPOLOGY.owner("job/a") == ""


def test_whole_of() -> None:
    assert [whole_or_self(one) for one in ("node/n1/nic/mlx5_0/1", "node/n1", "x")] == ["node/n1", "node/n1", "x"]
    assert whole_of("node/n1/nic/mlx5_0/1") == "node/n1"
    assert whole_of("node/n1") is None
