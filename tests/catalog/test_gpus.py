"""The GPU catalog: names as NVML prints them, and what each model is known to lack."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.catalog.gpus import gpu_model, gpu_models, lacking, node_lacks, recovery_action_since


@pytest.mark.parametrize(
    ("name", "model", "lanes"),
    [
        ("NVIDIA A100-SXM4-40GB", "A100 SXM4 40GB", 12),
        ("A100-SXM4-40GB", "A100 SXM4 40GB", 12),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB", 12),
        ("NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB", 12),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB", 12),
        ("NVIDIA H100 80GB HBM3", "H100 SXM5", 18),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "H100 SXM5", 18),
        ("NVIDIA H100 PCIe", "H100 PCIe", 12),
        ("NVIDIA H100 NVL", "H100 NVL", 12),
        ("NVIDIA H200", "H200 SXM", 18),
        ("NVIDIA H200 NVL", "H200 NVL", 18),
        ("NVIDIA B200", "B200", 18),
        ("NVIDIA GB200", "GB200", 18),
        ("NVIDIA L40S", "L40S", 0),
        ("NVIDIA L40", "L40", 0),
        ("NVIDIA L4", "L4", 0),
        ("Tesla T4", "T4", 0),
        ("NVIDIA A10", "A10", 0),
        ("NVIDIA A10G", "A10", 0),
        ("NVIDIA A30", "A30", 4),
        ("NVIDIA A40", "A40", 4),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Server", 0),
        ("Tesla V100-SXM2-16GB", "V100 SXM2 16GB", 6),
        ("Tesla V100-SXM2-32GB", "V100 SXM2 32GB", 6),
        ("Tesla V100-SXM3-32GB", "V100 SXM3", 6),
        ("Tesla V100-PCIE-16GB", "V100 PCIe", 0),
        ("Tesla V100S-PCIE-32GB", "V100 PCIe", 0),
        ("NVIDIA A800-SXM4-80GB", "A800 SXM4", 8),
        ("NVIDIA A800 80GB PCIe", "A800 PCIe", 8),
        ("NVIDIA H800", "H800 SXM5", 8),
        ("NVIDIA H800 PCIe", "H800 PCIe", 8),
        ("NVIDIA H20", "H20", 18),
        ("NVIDIA H20-3e", "H20 141GB", 18),
        ("NVIDIA H100", "H100 64GB", 18),
        ("NVIDIA H100 96GB HBM3", "H100 SXM5 96GB", 18),
        ("NVIDIA H100 SXM5 94GB", "H100 SXM5 96GB", 18),
        ("NVIDIA GH200 480GB", "GH200 96GB", 18),
        ("NVIDIA GH200 144G HBM3e", "GH200 144GB", 18),
        ("NVIDIA B100", "B100", 18),
        ("NVIDIA B300 SXM6 AC", "B300", 18),
        ("NVIDIA GB300", "GB300", 18),
    ],
)
def test_names_that_nvml_prints_find_their_model(name: str, model: str, lanes: int) -> None:
    found = gpu_model(name)
    assert found is not None
    assert (found.name, found.nvlink_lanes) == (model, lanes)


@pytest.mark.parametrize(
    "name", ["", "NVIDIA L400", "NVIDIA GeForce RTX 4080 SUPER", "NVIDIA B2000", "Tesla V100-SXM2"]
)
def test_a_model_the_catalog_does_not_know_is_none(name: str) -> None:
    assert gpu_model(name) is None


@given(st.text())
def test_any_name_is_answered(name: str) -> None:
    assert gpu_model(name) is None or gpu_model(name) in gpu_models()


def test_every_model_names_its_source_and_its_memory() -> None:
    for model in gpu_models():
        assert model.source and model.memory
        assert model.memory_mebibytes == 0 or model.memory_bytes > 14 << 30
        assert not {*model.unknown} & {*model.lacks}


def test_no_name_fits_two_models() -> None:
    names = [model.name for model in gpu_models()]
    assert len(names) == len(set(names))
    bare = [pattern for model in gpu_models() for pattern in model.patterns if not set(pattern) & set(".*?[(\\\\")]
    for name in bare:
        fitting = [m.name for m in gpu_models() if any(re.fullmatch(pattern, name) for pattern in m.patterns)]
        assert len(fitting) == 1, (name, fitting)


def test_a_part_of_which_no_one_knows_is_not_reported_to_be_lacking() -> None:
    assert "fabric_manager" not in node_lacks(["NVIDIA H100 96GB HBM3"])
    assert "fabric_manager" in node_lacks(["NVIDIA H100 PCIe"])


def test_parts_a_model_lacks() -> None:
    lacks = {model.name: set(model.lacks) for model in gpu_models()}
    assert {"nvlink", "hbm", "nvswitch", "fabric_manager", "fabric_state", "mig"} == lacks["L40S"]
    assert lacks["H100 SXM5"] == set()
    assert lacks["A100 SXM4 80GB"] == {"fabric_state"}
    assert {"nvswitch", "fabric_manager"} <= lacks["GB200"]
    assert "nvlink" not in lacks["H100 PCIe"]


def test_a_node_lacks_only_what_all_its_gpus_lack() -> None:
    assert node_lacks(["NVIDIA L40S"])["nvlink"] == "catalog: the L40S has no NVLink"
    assert "nvlink" not in node_lacks(["NVIDIA L40S", "NVIDIA H100 80GB HBM3"])
    assert node_lacks(["NVIDIA L40S", "NVIDIA Mystery"]) == {}
    assert node_lacks([]) == {}


def test_who_says_so_is_empty_for_a_part_it_has() -> None:
    h100 = gpu_model("NVIDIA H100 80GB HBM3")
    assert h100 is not None
    assert lacking(h100, "nvlink") == ""


def test_slowdown_margins_differ_by_model() -> None:
    margins = {model.name: model.slowdown_margin_celsius for model in gpu_models()}
    assert margins["B200"] == -3
    assert margins["H100 SXM5"] == -2
    assert margins["A100 SXM4 80GB"] is None


def test_rates_are_bytes() -> None:
    h100 = gpu_model("NVIDIA H100 80GB HBM3")
    assert h100 is not None
    assert h100.rdma_bytes_per_second == 50e9
    assert recovery_action_since() == 570
