"""Hardware of a simulated node: the models of models.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from holdfast.lab.twin.error import TwinError


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    gpu_name: str
    gpus: int
    pci_device: int
    pci_subsystem: int
    architecture: int
    compute_capability: list[int]
    cores: int
    board_part: str
    vbios: str
    inforom: str
    driver: str
    cuda: int
    memory_mib: int
    reserved_mib: int
    bar1_mib: int
    power_watts: list[int]
    idle_watts: int
    clocks: list[int]
    gpu_max: int
    memory_max: int
    slowdown_margin: int
    shutdown_margin: int
    nvlinks: int
    nvlink_version: int
    nvlink_mbps: int
    nvswitches: int
    nvswitch_device: int
    pcie_generation: int
    banks: int
    ports: int
    port_rate: str
    hca_type: str
    hca_device: int
    hca_board: str
    hca_firmware: str
    cpus: int
    unsupported: list[str]
    c2c_links: int = 0  # link between a GPU and the CPU of its board
    vendor: str = "nvidia"
    fabric: str = "infiniband"  # or roce_mlx5, roce_bnxt, roce_ionic, efa


def model_names() -> list[str]:
    return sorted(_tables())


def load_model(name: str) -> Model:
    tables = _tables()
    if name not in tables:
        raise TwinError(f"no model is called {name!r}; expected one of {', '.join(sorted(tables))}")
    return Model(**_with_base(tables, name))


def _with_base(tables: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Adds the values of the model that this one is based on."""
    own = dict(tables[name])
    base = own.pop("base", None)
    return {**_with_base(tables, base), **own} if base else own


def _tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("holdfast.lab.twin").joinpath("models.toml").read_text(encoding="utf-8"))
