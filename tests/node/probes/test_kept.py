"""Results over time: what is kept, what is compared with it, and what is not because the part is another one."""

import json

from hypothesis import given
from hypothesis import strategies as st

from holdfast.node.probes.active import history as kept

SPEED = "probe_memory_bytes_per_second"
GPU = "node/n1/gpu/0"


def run(speed, uuid="GPU-1", digest="d1"):
    facts = [(GPU, SPEED, speed), (GPU, "gpu_uuid", uuid), (GPU, "gpu_ecc_aggregate_corrected_total", 3.0)]
    facts += [(GPU, "probe_fingerprint", digest), (GPU, "probe_fingerprint_key", "k"), (GPU, "gpu_clock", 1.0)]
    return kept.record(facts)


def recalled(runs, current):
    return {signal.name: signal.value for signal in kept.recall(runs, current, 0.0).signals}


def test_what_was_kept_is_the_median_of_the_past_and_its_spread(tmp_path):
    path = str(tmp_path / "probes.jsonl")
    for speed in (100.0, 102.0, 98.0):
        assert kept.append(path, run(speed), 1.0) == ""
    past = recalled(kept.load(path), run(90.0))
    assert (past[f"past_{SPEED}"], past[f"past_runs_{SPEED}"]) == (100.0, 3.0)
    assert 0.02 < past[f"past_spread_{SPEED}"] < 0.04
    assert past["probe_fingerprint_golden"] == "d1"
    assert past["past_gpu_ecc_aggregate_corrected_total"] == 3.0


def test_another_gpu_in_the_same_place_has_no_past():
    assert f"past_{SPEED}" not in recalled([run(100.0, uuid="GPU-0")], run(90.0))


def test_a_look_without_probes_keeps_nothing():
    assert kept.record([(GPU, "gpu_uuid", "GPU-1")]) == {}


def test_the_file_stays_small(tmp_path):
    path = tmp_path / "probes.jsonl"
    for number in range(2 * kept.MOST_RUNS + 5):
        kept.append(str(path), run(float(number)), 1.0)
    assert len(path.read_bytes().splitlines()) <= 2 * kept.MOST_RUNS


def test_a_directory_that_cannot_be_written_is_reported(tmp_path):
    assert "No such file" in kept.append(str(tmp_path / "gone/probes.jsonl"), run(1.0), 1.0)


@given(
    st.one_of(st.binary(), st.recursive(st.none() | st.text() | st.floats(), lambda x: st.dictionaries(st.text(), x)))
)
def test_whatever_is_in_the_file_is_survived(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "probes.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps({"subjects": content}).encode())
    for facts in kept.load(str(path)):
        kept.recall([facts], run(1.0), 0.0)
