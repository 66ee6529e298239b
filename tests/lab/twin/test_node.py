"""A twin node: the same eight GPUs and nine ports in every interface."""

import os
from pathlib import Path

import pytest

from holdfast.lab.twin import TwinError, TwinNode, make_node, open_node
from holdfast.lab.twin.nvml.layout import NvmlState
from holdfast.model.settings import parse

pytestmark = pytest.mark.slow  # compiles the NVML library the first time


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> TwinNode:
    return make_node(tmp_path_factory.mktemp("twin") / "n01", name="n01")


def _read(node: TwinNode, path: str) -> str:
    return (node.sys.root / path).read_text().strip()


def test_pci_infiniband_and_nvml_name_the_same_addresses(node: TwinNode) -> None:
    devices = node.sys.root / "bus/pci/devices"
    gpus = sorted(d.name for d in devices.iterdir() if (d / "class").read_text().strip() == "0x030200")
    in_nvml = sorted(f"0000:{node.state.gpu[i].pci_bus:02x}:00.0" for i in range(node.state.gpu_count))
    assert gpus == in_nvml and len(gpus) == 8
    for port in node.ports():
        target = os.path.realpath(node.sys.root / "class/infiniband" / port.name / "device")
        assert os.path.basename(target) == str(port.function.address)
        assert (devices / os.path.basename(target)).exists()


def test_nine_ports_are_active_eight_infiniband_and_one_roce(node: TwinNode) -> None:
    layers = []
    for name in sorted(os.listdir(node.sys.root / "class/infiniband")):
        assert _read(node, f"class/infiniband/{name}/ports/1/state") == "4: ACTIVE"
        layers.append(_read(node, f"class/infiniband/{name}/ports/1/link_layer"))
    assert layers.count("InfiniBand") == 8 and layers.count("Ethernet") == 1
    assert _read(node, "class/infiniband/mlx5_0/ports/1/rate") == "400 Gb/sec (4X NDR)"


def test_a_gpu_shares_its_switch_with_the_port_of_its_rail(node: TwinNode) -> None:
    for function, port in zip(node.gpu_functions(), node.ports(), strict=False):
        assert function.above[:2] == port.function.above[:2]


def test_the_settings_it_writes_are_settings_the_agent_accepts(node: TwinNode) -> None:
    settings = parse((node.directory / "holdfast.toml").read_text(), "holdfast.toml", {})
    assert settings.node == "n01" and settings.agent.twin
    assert all(Path(path).exists() for path in (settings.roots.sys, settings.roots.kmsg, settings.roots.nvml))
    assert all(Path(path).is_dir() for path in (*settings.agent.mounts, *settings.agent.shared_mounts))


def test_a_used_directory_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(TwinError, match="not an empty directory"):
        make_node(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["precious"]


def test_an_unknown_model_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(TwinError, match="h100"):
        make_node(tmp_path / "x", model="k80")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(("model", "gpus", "links"), [("a100", 8, 12), ("gb200", 4, 18), ("l40s", 8, 0)])
def test_other_models_have_their_own_parts(tmp_path: Path, model: str, gpus: int, links: int) -> None:
    state: NvmlState = make_node(tmp_path / model, model=model).state
    assert state.gpu_count == gpus and state.gpu[0].link_count == links


def test_a_node_opened_again_is_the_same_node(node: TwinNode) -> None:
    node.state.gpu[3].temperature = 71
    again = open_node(node.directory)
    assert again.name == "n01" and again.state.gpu[3].temperature == 71


def test_opening_something_else_says_so(tmp_path: Path) -> None:
    with pytest.raises(TwinError, match="not a twin node"):
        open_node(tmp_path)
