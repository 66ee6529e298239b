"""GPU models: specification of a healthy GPU, and parts that a node of this model does not have."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

_MEBIBYTE = 1 << 20
_MIG_PROFILE = re.compile(r"(?<!\s)\s+MIG\s.*$")
_VGPU_PROFILE = re.compile(r"-(?:\d{1,2}-)?\d{1,3}[ABCQ]$")
_LACKS = {
    "nvlink": "has no NVLink",
    "hbm": "has no HBM",
    "nvswitch": "nodes have no NVSwitch on the host",
    "fabric_manager": "nodes run no fabric manager",
    "fabric_state": "does not report a fabric state",
    "mig": "cannot be split by MIG",
    "nvidia_driver": "is not an NVIDIA GPU",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuModel:
    """Specification of one model. None or 0 means unknown: checks do not evaluate it."""

    name: str
    patterns: tuple[str, ...]
    source: str
    vendor: str = "NVIDIA"
    pci_devices: tuple[str, ...] = ()  # PCI device ids, for drivers that do not name their GPUs
    nvlink_lanes: int = 0  # AMD: number of XGMI links
    nvlink_optional: bool = False  # lanes exist only with a bridge
    nvlink_off_under_mig: bool = False  # the driver switches the lanes of a MIG GPU off
    nvlink_version: int = 0
    pcie_generation: int | None = None
    pcie_width_lanes: int | None = None
    memory: str = ""
    memory_mebibytes: int = 0
    memory_gigabytes_per_second: float = 0.0  # from the data sheet
    bf16_teraflops: float = 0.0  # dense products, as the data sheet says
    peaks_from: str = ""  # source of both peaks; without a source, no check fails because of them
    slowdown_margin_celsius: float | None = None  # T.Limit margin below which hardware slows down; None: no T.Limit
    slowdown_celsius: float | None = None  # of the core, from the driver; used for readings without a threshold
    gpus_per_node: int = 0
    rdma_ports: int = 0
    rdma_gigabits_per_second: float = 0.0
    nvswitch: bool = False
    fabric_manager: bool = False
    fabric_state: bool = False
    row_remap: bool = True
    mig: bool = False
    unknown: tuple[str, ...] = ()  # parts of which it is unknown whether a node of this model has them

    @property
    def link_name(self) -> str:
        """The vendor's name of the links between GPUs."""
        return "XGMI links" if self.vendor == "AMD" else "NVLink lanes"

    @property
    def spans_trays(self) -> bool:
        """Whether the links leave the node through switch trays of the rack, as in an NVL72."""
        return self.fabric_state and not self.nvswitch

    @property
    def memory_bytes(self) -> int:
        return self.memory_mebibytes * _MEBIBYTE

    @property
    def confirmed_flops_per_second(self) -> float:
        """Peak operations per second, where confirmed."""
        return self.bf16_teraflops * 1e12 if self.peaks_from else 0.0

    @property
    def confirmed_memory_bytes_per_second(self) -> float:
        """Peak bytes per second of its memory, where confirmed."""
        return self.memory_gigabytes_per_second * 1e9 if self.peaks_from else 0.0

    @property
    def rdma_bytes_per_second(self) -> float:
        return self.rdma_gigabits_per_second * 1e9 / 8

    @property
    def lacks(self) -> tuple[str, ...]:
        """Parts a healthy node of this model does not have."""
        has = {
            "nvlink": self.nvlink_lanes > 0,
            "hbm": self.memory.startswith("HBM"),
            "nvswitch": self.nvswitch,
            "fabric_manager": self.fabric_manager,
            "fabric_state": self.fabric_state,
            "mig": self.mig,
            "nvidia_driver": self.vendor == "NVIDIA",
        }
        return tuple(part for part, there in has.items() if not there and part not in self.unknown)


@cache
def _facts() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("gpus.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def gpu_models() -> tuple[GpuModel, ...]:
    return tuple(_model(table) for table in _facts()["model"])


def _model(table: dict[str, Any]) -> GpuModel:
    lists: dict[str, Any] = {name: tuple(fact) for name, fact in table.items() if isinstance(fact, list)}
    return GpuModel(**{**table, **lists})


@cache
def gpu_model(name: str) -> GpuModel | None:
    """The model behind an NVML name ('NVIDIA H100 80GB HBM3'), or None if the catalog does not know it."""
    bare = _MIG_PROFILE.sub("", name.strip()).removeprefix("NVIDIA ").removeprefix("AMD ")
    for model in gpu_models():
        if any(re.fullmatch(pattern, bare, re.IGNORECASE) for pattern in model.patterns):
            return model
    return None


def amd_model_name(device: str, product: str) -> str:
    """The name of an AMD GPU from its PCI device id ('0x74a1') or its product file; '' if unknown."""
    for model in gpu_models():
        if model.vendor == "AMD" and (device.lower() in model.pci_devices or gpu_model(product) is model):
            return f"AMD Instinct {model.name}"
    return ""


def is_virtual(name: str) -> bool:
    """Whether an NVML name is that of a vGPU profile, such as 'NVIDIA H100XM-80C' or 'GRID A100-1-5C'."""
    return bool(_VGPU_PROFILE.search(name.strip()))


def lacking(model: GpuModel, part: str) -> str:
    """The source that says that a model lacks a part, as a sentence; '' if it has the part."""
    return f"catalog: the {model.name} {_LACKS[part]}" if part in model.lacks else ""


def node_lacks(names: Iterable[str]) -> dict[str, str]:
    """Parts that none of a node's GPUs has -> the source. An unknown model lacks nothing."""
    models = [gpu_model(name) for name in names]
    known = [model for model in models if model is not None]
    if not known or len(known) < len(models):
        return {}
    common = set.intersection(*(set(model.lacks) for model in known))
    return {part: lacking(known[0], part) for part in known[0].lacks if part in common}


def recovery_action_since() -> int:
    """The first driver branch that reports the recovery a GPU needs."""
    return int(_facts()["driver"]["recovery_action_since"])
