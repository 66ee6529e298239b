"""Faults of faults.toml: what each breaks, and which checks must change."""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.hardware import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    name: str
    on: str  # gpu, port or node
    breaks: str
    expects: tuple[str, ...]
    blinds: str = ""
    needs: str = ""  # the process that must run for the fault to show; '' where a single reading shows it
    default: str = ""
    act: str = ""
    gpu: dict[str, int | str] = field(default_factory=dict)
    driver: dict[str, int | str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    kernel: tuple[str, ...] = ()
    vendor: str = "nvidia"  # vendor of the GPU, or the fabric, that a node needs; `any`: every GPU
    of_the_driver: bool = False  # needs NVIDIA's driver or library
    recovery: tuple[str, ...] = ()  # kernel lines written when cleared; without it, clearing removes the injected lines


def all_faults(vendor: str = "") -> dict[str, Fault]:
    """All faults, or those possible on a node with GPUs of this vendor, or with this fabric."""
    return {name: found for name, found in _every().items() if vendor in ("", found.vendor)}


def faults_of(model: Model) -> dict[str, Fault]:
    """Faults possible on a node of this model. Ports, disks and the host can break on every node."""
    has = {model.vendor, model.fabric, ANY, *([GRACE] if model.c2c_links else ())}
    return {name: found for name, found in _every().items() if _fits(found, has)}


def _fits(found: Fault, has: set[str]) -> bool:
    return found.vendor in has or (found.on != "gpu" and found.vendor == "nvidia" and not found.of_the_driver)


ANY = "any"
GRACE = "grace"  # GPUs on one board with their CPU


@cache
def _every() -> dict[str, Fault]:
    tables = tomllib.loads(files("holdfast.lab.twin").joinpath("faults.toml").read_text(encoding="utf-8"))
    found = {}
    for name, table in tables.items():
        for key in ("expects", "kernel", "recovery"):
            table[key] = tuple(table.get(key, ()))
        found[name] = Fault(name=name, **table)
    return found


def fault(name: str) -> Fault:
    faults = _every()
    if name not in faults:
        raise TwinError(f"no fault is called {name!r}; `holdfast twin faults` lists all {len(faults)}")
    return faults[name]


@cache
def xid_texts() -> dict[str, str]:
    return tomllib.loads(files("holdfast.lab.twin").joinpath("xids.toml").read_text(encoding="utf-8"))
