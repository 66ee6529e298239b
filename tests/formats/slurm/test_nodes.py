"""Nodes, however Slurm tells of them."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.slurm.nodes import SlurmNode, from_json, from_scontrol, from_table

SEVERAL_LINES = """\
NodeName=g1 Arch=x86_64 CoresPerSocket=1
   AvailableFeatures=a100,ib
   ActiveFeatures=a100
   Gres=gpu:8
   OS=Linux 6.1 State=FAKE
   State=MIXED+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=77 Owner=N/A MCS_label=N/A
   Partitions=all
   Reason=holdfast: gpu.xid: State=IDLE [3] Comment=none [root@2026-11-15T20:48:22]
   Comment=site text
with a second line
   Extra={"a":1}

NodeName=g2 Arch=x86_64
   State=IDLE ThreadsPerCore=1 Weight=1
"""
ONE_LINE = (
    "NodeName=g1 Arch=x86_64 AvailableFeatures=a100,ib ActiveFeatures=a100 Gres=gpu:8 OS=Linux 6.1 #1 SMP "
    "State=MIXED+DRAIN Weight=77 Reason=holdfast: gpu.xid: State=IDLE [3] Comment=none [root@2026-11-15T20:48:22] "
    'Comment=site text with a second line Extra={"a":1}\n'
    "NodeName=g2 State=IDLE ThreadsPerCore=1 Weight=1\n"
)
EXPECTED = SlurmNode(
    name="g1",
    flags=frozenset({"MIXED", "DRAIN"}),
    reason="holdfast: gpu.xid: State=IDLE [3] Comment=none",
    reason_by="root",
    reason_at=1794775702.0,
    weight=77,
    features=("a100", "ib"),
    active_features=("a100",),
    comment="site text with a second line",
    gpus=8,
)


@pytest.mark.parametrize("text", [SEVERAL_LINES, ONE_LINE], ids=["several lines", "one line"])
def test_a_note_that_looks_like_fields_does_not_change_the_node(text: str) -> None:
    first, second = from_scontrol(text)
    assert replace(first, comment=" ".join(first.comment.split())) == EXPECTED
    assert (second.name, second.reason, second.comment, second.gpus) == ("g2", "", "", None)
    assert first.ours and first.drained and first.busy and not first.accepts_work
    assert second.accepts_work and not second.busy


OLD = {
    "nodes": [
        {
            "name": "g1",
            "state": "idle",
            "state_flags": ["DRAIN"],
            "reason": "holdfast: x",
            "weight": 5,
            "reason_set_by_user": "root",
            "reason_changed_at": 1700000000,
            "features": "a,b",
            "gres": "gpu:4",
        }
    ]
}
NEW = {
    "nodes": [
        {
            "name": "g1",
            "state": ["IDLE", "DRAIN"],
            "reason": "holdfast: x",
            "weight": 5,
            "gres": "gpu:4",
            "reason_set_by_user": "root",
            "features": ["a", "b"],
            "reason_changed_at": {"set": True, "infinite": False, "number": 1700000000},
        }
    ]
}


@pytest.mark.parametrize("document", [OLD, NEW], ids=["v0.0.38", "v0.0.40"])
def test_json_old_and_new_say_the_same(document: object) -> None:
    [node] = from_json(json.dumps(document)) or []
    assert node == SlurmNode(
        name="g1",
        flags=frozenset({"IDLE", "DRAIN"}),
        reason="holdfast: x",
        reason_by="root",
        reason_at=1700000000.0,
        weight=5,
        features=("a", "b"),
        gpus=4,
    )


def test_json_of_sinfo_groups_nodes_since_23_02() -> None:
    group = {
        "node": {"state": ["DOWN", "NOT_RESPONDING"]},
        "nodes": {"nodes": ["g1", "g[7-8]"]},
        "reason": "Not responding",
        "weight": {"minimum": 3, "maximum": 3},
        "features": {"total": "a,b", "active": ""},
        "gres": {"total": "gpu:l40s:4"},
    }
    nodes = from_json(json.dumps({"sinfo": [group, group]})) or []
    assert [node.name for node in nodes] == ["g1", "g7", "g8"]
    assert all(node.down and node.weight == 3 and node.gpus == 4 for node in nodes)


@pytest.mark.parametrize("text", ["sinfo: unrecognized option '--json'", "", "[]", "{}", "3", "[" * 100_000])
def test_what_is_no_such_document_is_none(text: str) -> None:
    assert from_json(text) is None


def test_a_table_merges_partitions_and_expands_lists() -> None:
    nodes = from_table("PARTITION|NODELIST|STATE\na|g[1-2]|idle\nb|g2|resv\nbroken\n")
    assert [(node.name, set(node.flags)) for node in nodes] == [("g1", {"IDLE"}), ("g2", {"IDLE", "RESERVED"})]


def test_what_sinfo_prints_for_people_is_read_too() -> None:
    text = (
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
        "all*         up   infinite      1  down* g9\n"
        "all*         up   infinite      2   drng g[1-2]\n"
    )
    assert {node.name: sorted(node.flags) for node in from_table(text)} == {
        "g9": ["DOWN", "NOT_RESPONDING"],
        "g1": ["ALLOCATED", "DRAIN"],
        "g2": ["ALLOCATED", "DRAIN"],
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["nodes", "sinfo", "name", "state", "number", "set", "weight", "node", "gres"]), inner
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["nodes", "sinfo"]), json_values))
def test_any_json_is_read_without_raising(document: object) -> None:
    from_json(json.dumps(document))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_without_raising(raw: bytes) -> None:
    from_json(raw)
    text = raw.decode("latin-1")
    from_scontrol("NodeName=" + text)
    from_scontrol(f"NodeName=a State={text}\n   Reason={text}\n{text}")
    from_table(text)
    from_table(text, ["nodelist", "state", "reason"], delimiter=" ")
