"""A manifest survives being written and read, names subjects locally, and refuses nonsense in one sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import manifest
from holdfast.model.manifest import Manifest
from holdfast.model.settings import SettingsError
from holdfast.model.signal import Signal

TEXT = """
[node]
learned_from = "n17"
lacks = ["nvswitch"]
[expect.node]
driver_version = "550.54.15"
[expect."gpu/0"]
gpu_model = "NVIDIA H100 80GB HBM3"
[expect."nic/mlx5_0/1"]
port_rate_bytes_per_second = 50_000_000_000
"""

values = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**60), 2**60),
)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
names = st.builds("{}/{}".format, st.sampled_from(["gpu", "nic", "pci"]), words) | st.just("node")


def test_expectations_are_about_the_subjects_of_the_node_that_asks() -> None:
    expected = manifest.expectations(manifest.parse(TEXT, "m.toml"), "n3")
    assert expected["node/n3"] == {"driver_version": "550.54.15"}
    assert expected["node/n3/gpu/0"] == {"gpu_model": "NVIDIA H100 80GB HBM3"}
    assert expected["node/n3/nic/mlx5_0/1"] == {"port_rate_bytes_per_second": 50e9}


def test_a_lacking_part_names_who_says_so() -> None:
    assert manifest.parse(TEXT, "m.toml").lacks_by() == {"nvswitch": "m.toml says this node has no nvswitch"}


@given(st.dictionaries(names, st.dictionaries(words, values, max_size=4), max_size=4))
def test_what_is_dumped_is_parsed_back(expect: dict[str, dict[str, str | float]]) -> None:
    written = manifest.dump(Manifest(learned_from='n"1', lacks=("rdma",), expect=expect))
    back = manifest.parse(written, "manifest")
    assert (back.learned_from, back.lacks, back.expect) == ('n"1', ("rdma",), expect)


@given(st.text())
def test_arbitrary_text_is_a_manifest_or_one_sentence(text: str) -> None:
    try:
        manifest.parse(text, "m.toml")
    except SettingsError as error:
        assert str(error).startswith("m.toml: ")


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("[nodes]", "unknown key 'nodes'"),
        ("[expect.'fpga/0']\na = 1", "expected 'node' or a name such as gpu/0"),
        ("[expect.node]\na = true", "expected a number or a string, found True"),
        ("[expect.node]\na = nan", "expected a number or a string"),
        ("expect = 3", "expected a table, found 3"),
        ("[node]\nlacks = 'rdma'", "expected a list of parts"),
    ],
)
def test_a_wrong_manifest_is_refused_with_its_place(text: str, expected_text: str) -> None:
    with pytest.raises(SettingsError, match=expected_text):
        manifest.parse(text, "m.toml")


def test_learning_takes_what_is_built_and_leaves_what_varies() -> None:
    gpu = "node/n1/gpu/0"
    learned = manifest.learn(
        [
            Signal(gpu, "gpu_model", "H100"),
            Signal(gpu, "gpu_uuid", "GPU-1"),
            Signal(gpu, "gpu_temperature_celsius", 40.0),
            Signal(gpu, "gpu_nvlink_active_lanes", 18.0),
            Signal("node/n1", "driver_version", "550"),
            Signal("node/n2/gpu/0", "gpu_model", "A100"),
            Signal("node/n10/gpu/0", "gpu_model", "A100"),
        ],
        "n1",
        lacks=["rdma"],
    )
    assert learned.expect == {
        "gpu/0": {"gpu_model": "H100", "gpu_nvlink_active_lanes": 18.0},
        "node": {"driver_version": "550"},
    }
    assert learned.lacks == ("rdma",)


def test_identities_are_learned_only_when_asked() -> None:
    seen = [Signal("node/n1/gpu/0", "gpu_uuid", "GPU-1")]
    assert manifest.learn(seen, "n1").expect == {}
    assert manifest.learn(seen, "n1", identities=True).expect == {"gpu/0": {"gpu_uuid": "GPU-1"}}


def test_a_node_without_gpus_has_no_nvlink_either() -> None:
    assert "nvlink" in manifest.parse('[node]\nlacks = ["gpu"]', "m.toml").lacks
    assert "nvlink" in manifest.learn([], "n1", lacks=["gpu"]).lacks
