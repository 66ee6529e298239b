"""Fabrics: the performance that collectives must reach on each."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from holdfast.catalog.gpus import gpu_model


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricSpec:
    name: str
    about: str
    gpus: tuple[str, ...]  # GPU models of the catalog whose nodes have this fabric
    network: str  # the plugin that NCCL must choose
    operation: str  # the collective that the limits apply to
    ranks_per_host: int  # fewer ranks cannot reach the limits
    small_bytes: int
    small_p95_seconds: float
    small_expected_seconds: float
    large_bytes: int
    large_busbw_bytes_per_second: float
    large_expected_bytes_per_second: float


@cache
def fabrics() -> dict[str, FabricSpec]:
    text = resources.files(__package__).joinpath("fabrics.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)["fabric"]
    return {table["name"]: FabricSpec(**{**table, "gpus": tuple(table["gpus"])}) for table in tables}


def fabric_of(name: str, gpu: str) -> FabricSpec | None:
    """The fabric with this name, or the fabric of a GPU model."""
    if name:
        return fabrics().get(name)
    model = gpu_model(gpu) if gpu else None
    return next((one for one in fabrics().values() if model and model.name in one.gpus), None)
