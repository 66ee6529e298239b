"""The manifest: what a good node of this kind has, written by `holdfast node learn`, compared at bootstrap.

Names in it are local ('gpu/0', 'nic/mlx5_0/1'), so that one manifest serves every node built alike.
"""

import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.model.inventory import natural
from holdfast.model.settings import SettingsError
from holdfast.model.signal import Signal, Value
from holdfast.model.subject import Subject, node

KINDS = ("gpu", "nic", "pci", "nvswitch", "mount", "storage")

HARDWARE = (  # fixed properties: another value means another part or another slot
    "gpu_model",
    "gpu_pci_address",
    "gpu_memory_total_bytes",
    "port_hca_type",
    "port_board_id",
    "port_pci_address",
    "port_link_layer",
    "pci_role",
    "pci_device",
    "pci_max_link_width_lanes",
    "host_memory_total_bytes",
)
FOR_OTHER_CHECKS = (
    "gpu_nvlink_active_lanes",
    "pci_link_width_lanes",
    "port_rate_bytes_per_second",
    "host_cpu_governor",
)
SETTINGS = (
    "gpu_ecc_mode",
    "gpu_mig_mode",
    "gpu_persistence_mode",
    "gpu_power_limit_watts",
)
TOPOLOGY = ("pci_switch", "pci_parent", "pci_numa_node")
VERSION_SUFFIX = "_version"  # driver, VBIOS, NIC firmware, kernel: signals named *_version
IDENTITY = ("gpu_uuid", "gpu_serial")  # differ between nodes; learned only with --identities


_GOES_WITH = {"gpu": ("dcgm", "fabric_manager", "fabric_state", "hbm", "mig", "nvidia_driver", "nvlink", "nvswitch")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    origin: str = "manifest"
    learned_from: str = ""
    lacks: tuple[str, ...] = ()
    """Parts that nodes of this kind do not have: rdma, nvlink, nvswitch, dcgm, ..."""
    expect: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def lacks_by(self) -> dict[str, str]:
        """Each part that the node does not have, with the source of that fact."""
        return {part: f"{self.origin} says this node has no {part}" for part in self.lacks}


def parse(text: str, origin: str) -> Manifest:
    """Read a manifest. Raises SettingsError in one sentence that names what, where and what was expected."""
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{origin}: not valid TOML: {error}") from None
    _only(raw, {"node", "expect"}, f"{origin}: top level")
    about = _only(raw.get("node", {}), {"learned_from", "lacks"}, f"{origin}: node")
    learned_from, lacks = about.get("learned_from", ""), about.get("lacks", [])
    if not isinstance(learned_from, str):
        raise SettingsError(f"{origin}: node.learned_from: expected a name, found {learned_from!r}")
    if not isinstance(lacks, list) or not all(isinstance(part, str) for part in lacks):
        raise SettingsError(f"{origin}: node.lacks: expected a list of parts, found {lacks!r}")
    expect = _only(raw.get("expect", {}), None, f"{origin}: expect")
    for name, values in expect.items():
        _check_subject(name, values, f'{origin}: expect."{name}"')
    return Manifest(origin=origin, learned_from=learned_from, lacks=with_implied(lacks), expect=expect)


def with_implied(lacks: Iterable[str]) -> tuple[str, ...]:
    """A node without a part also lacks everything on that part."""
    named = set(lacks)
    return tuple(sorted(named.union(*(_GOES_WITH.get(part, ()) for part in named))))


def _only(table: Any, allowed: set[str] | None, place: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise SettingsError(f"{place}: expected a table, found {table!r}")
    for key in table:
        if allowed is not None and key not in allowed:
            raise SettingsError(f"{place}: unknown key {key!r}; expected one of {', '.join(sorted(allowed))}")
    return table


def _check_subject(name: str, values: Any, place: str) -> None:
    kind, slash, rest = name.partition("/")
    if name != "node" and (kind not in KINDS or not slash or not rest):
        raise SettingsError(f"{place}: expected 'node' or a name such as gpu/0 or nic/mlx5_0/1")
    for signal, value in _only(values, None, place).items():
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not _finite(value):
            raise SettingsError(f"{place}.{signal}: expected a number or a string, found {value!r}")


def _finite(value: Value) -> bool:
    try:
        return isinstance(value, str) or math.isfinite(value)
    except OverflowError:  # an integer beyond any measurement
        return False


def dump(manifest: Manifest) -> str:
    """The manifest as TOML, in a stable order that is easy to read and to diff."""
    lines = ["# The expected parts of a node of this kind. Written by `holdfast node learn`; edit freely.", "[node]"]
    lines.append(f"learned_from = {_quoted(manifest.learned_from)}")
    lines.append(f"lacks = [{', '.join(_quoted(part) for part in manifest.lacks)}]")
    for name in sorted(manifest.expect, key=lambda name: (name != "node", natural(name))):
        lines += ["", f"[expect.{_key(name)}]"]
        lines += [f"{_key(key)} = {_literal(value)}" for key, value in sorted(manifest.expect[name].items())]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").isalnum() else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def expectations(manifest: Manifest, node_name: str) -> dict[Subject, dict[str, Value]]:
    """The manifest's values for the subjects of this node."""
    root = node(node_name)
    return {root if name == "node" else f"{root}/{name}": dict(values) for name, values in manifest.expect.items()}


def learn(
    signals: Iterable[Signal], node_name: str, lacks: Iterable[str] = (), *, identities: bool = False
) -> Manifest:
    """A manifest from the readings of a good node: hardware, versions, settings and slots; identities only on
    request."""
    seen = list(signals)
    root = node(node_name)
    leave_out = {subject for subject, name, value in seen if _not_a_part(name, value)}
    expect: dict[str, dict[str, Value]] = {}
    for subject, name, value in seen:
        if subject in leave_out or (subject != root and not subject.startswith(root + "/")):
            continue
        if worth_expecting(name) or (identities and name in IDENTITY):
            expect.setdefault(subject[len(root) + 1 :] or "node", {})[name] = value
    return Manifest(learned_from=node_name, lacks=with_implied(lacks), expect=expect)


def _not_a_part(name: str, value: Value) -> bool:
    """PCI bridges only lead to parts and are left out. So is a port that was never up."""
    return (name == "pci_role" and value == "bridge") or (name == "port_expected" and not value)


def worth_expecting(name: str) -> bool:
    return name in HARDWARE or name in FOR_OTHER_CHECKS or name in TOPOLOGY or is_drift(name)


def is_drift(name: str) -> bool:
    """Versions and settings: operators change them, faults do not."""
    return name in SETTINGS or name.endswith(VERSION_SUFFIX)
