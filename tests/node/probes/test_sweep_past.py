"""The past of a cluster's sweeps: trimmed, by kind, and readable whatever a crash left in the file."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.node.probes.sweep import code_paths, worker
from holdfast.node.probes.sweep import history as sweep_past
from holdfast.node.probes.sweep.history import learn


def test_a_few_bad_days_do_not_make_a_bad_past():
    past = learn([{1024: rate} for rate in (100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 100.2, 12.0)])[1024]
    assert past.bytes_per_second == pytest.approx(100.0, rel=0.01)
    assert past.runs == 7 and past.spread < 0.01


def test_only_runs_of_the_same_kind_are_the_past(tmp_path):
    path = str(tmp_path / "past.jsonl")
    one, other = sweep_past.key("all_reduce", "nccl", 4), sweep_past.key("all_reduce", "nccl", 8)
    sweep_past.append(path, one, {8: 1.0}, 0.0)
    sweep_past.append(path, other, {8: 2.0}, 1.0)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"at": 3, "of": "all_red')
    assert sweep_past.load(path, one) == [{8: 1.0}]
    assert sweep_past.load(str(tmp_path / "none"), one) == []


@given(st.binary(max_size=300))
def test_a_foreign_file_is_no_past(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("past") / "file"
    path.write_bytes(content)
    assert isinstance(learn(sweep_past.load(str(path), "x")), dict)


@given(st.lists(st.floats(1e-3, 1e15), min_size=1, max_size=40))
def test_the_past_lies_among_what_was_measured(rates):
    past = learn([{8: rate} for rate in rates])[8]
    assert min(rates) * 0.999 <= past.bytes_per_second <= max(rates) * 1.001
    assert 1 <= past.runs <= len(rates)


def test_a_pinned_environment_is_gone_afterwards(monkeypatch):
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    monkeypatch.delenv("NCCL_PROTO", raising=False)
    with worker.pinned(code_paths.environment("Tree", "LL")):
        assert (os.environ["NCCL_ALGO"], os.environ["NCCL_PROTO"]) == ("Tree", "LL")
    assert os.environ["NCCL_ALGO"] == "Ring" and "NCCL_PROTO" not in os.environ


def test_nothing_else_is_set_in_a_worker_from_afar():
    with pytest.raises(ValueError, match="'NCCL_NET_PLUGIN'"), worker.pinned({"NCCL_NET_PLUGIN": "/tmp/mine.so"}):
        pass


def test_a_path_without_a_result_is_no_candidate():
    assert code_paths.named({8: 1.0}, {"Ring/LL": {}, "Tree/LL": {8: 4.0}}) == [
        "8 bytes: as slow as Tree/LL (0.00 GB/s), Tree/LL is 4.0 times as fast"
    ]
    assert code_paths.named({8: 1.0}, {"Ring/LL": {}}) == ["8 bytes: no pinned run gave a result"]
