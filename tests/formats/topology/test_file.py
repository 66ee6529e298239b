import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.topology.file import NotATopology, check, read, strangers, unplaced
from holdfast.model.topology import KINDS, Edge, Topology

GOOD = """
[owners]
cdu = "facilities"

[[edge]]
kind = "cools"
from = "cdu/c1"
to = ["rack/r1", "rack/r2"]

[[edge]]
kind = "cools"
from = "rack/r1"
to = "node/n[001-016]"
"""


def test_lists_of_names_are_written_as_slurm_writes_them() -> None:
    topology = read(GOOD)
    assert len(topology.edges) == 18
    assert Edge("cools", "rack/r1", "node/n016") in topology.edges
    assert topology.owner("cdu/c1") == "facilities"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[edge]", "not TOML"),
        ("colour = 1", "'colour' is not known here"),
        ('[[edge]]\nkind = "cool"\nfrom = "cdu/a"\nto = "rack/b"', "did you mean cools?"),
        ('[[edge]]\nkind = "cools"\nfrom = "cduu/a"\nto = "rack/b"', "did you mean cdu?"),
        ('[[edge]]\nkind = "cools"\nfrom = "cdu"\nto = "rack/b"', "not a subject such as cdu/name"),
        ('[[edge]]\nkind = "cools"\nfrom = "cdu/a"\nto = 7', "expected a subject such as rack/r1"),
        ('[[edge]]\nkind = "cools"\nfrom = "cdu/a"\nto = []', "expected a subject"),
        ('[[edge]]\nkind = "cools"\nfrom = "cdu/a"\nto = "rack/r[1-"', "brackets"),
        ('[[edge]]\nkind = "cools"\nfrom = "cdu/a"\nto = "rack/b"\nvia = "x"', "'via' is not known"),
        ('[[edge]]\nkind = "cools"\nfrom = "loop/l1"\nto = "rack/b"', "loop/l1 is an orphan"),
        ('[owners]\nplanet = "me"', "not a known thing"),
        ("[owners]\ncdu = 5", "expected a name"),
        ("owners = 5", "expected a table"),
        ("edge = 5", "expected [[edge]]"),
    ],
)
def test_every_mistake_is_named(text: str, says: str) -> None:
    with pytest.raises(NotATopology) as refused:
        read(text)
    assert says in str(refused.value)


def test_a_circle_is_shown() -> None:
    edges = [Edge("cools", "cdu/a", "rack/b"), Edge("cools", "rack/b", "node/c"), Edge("cools", "node/c", "cdu/a")]
    assert check(edges) == ["cools: cdu/a > rack/b > node/c > cdu/a goes in a circle"]
    assert check([Edge("cools", "cdu/a", "rack/b"), Edge("powers", "rack/b", "cdu/a")]) == []


def test_all_mistakes_at_once() -> None:
    text = '[[edge]]\nkind = "cool"\n[[edge]]\nkind = "cools"\nfrom = 1\nto = 2'
    with pytest.raises(NotATopology) as refused:
        read(text)
    assert len(refused.value.mistakes) == 3


def test_names_no_one_reports_of_and_nodes_no_one_placed() -> None:
    topology = Topology((Edge("cools", "rack/r1", "node/n1"), Edge("cools", "rack/r1", "node/x2")))
    known = ["node/n1/gpu/0", "node/n2", "cdu/c9"]
    assert strangers(topology, known) == ["no source reports node/x2; did you mean node/n2?"]
    assert unplaced(topology, known) == ["node/n2 is in no edge"]


@given(st.text(max_size=200))
def test_any_text_is_a_topology_or_is_refused(text: str) -> None:
    try:
        read(text)
    except NotATopology as refused:
        assert refused.mistakes


NAMES = st.text("abcdu/[]-0123,", max_size=12)


@given(st.lists(st.tuples(st.sampled_from([*KINDS, "x"]), NAMES, NAMES), max_size=6))
def test_any_edges_are_a_topology_or_are_refused(edges: list[tuple[str, str, str]]) -> None:
    text = "\n".join(f'[[edge]]\nkind = "{kind}"\nfrom = "{source}"\nto = "{target}"' for kind, source, target in edges)
    try:
        topology = read(text)
    except NotATopology as refused:
        assert refused.mistakes
    else:
        assert not check(topology.edges)
