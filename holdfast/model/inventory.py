"""Inventory: expected parts, from the manifest, the catalog and earlier readings, so that a missing part is noticed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.model.signal import Value
from holdfast.model.subject import Subject, kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    node: str
    subjects: frozenset[Subject] = frozenset()
    lacks: Mapping[str, str] = field(default_factory=dict)
    """Parts this node is known not to have -> who says so: {'nvlink': 'catalog: L40S has no NVLink'}."""
    by_device: Mapping[str, Subject] = field(default_factory=dict)
    """PCI addresses (with and without function) and other device names -> subject."""
    expect: Mapping[Subject, Mapping[str, Value]] = field(default_factory=dict)
    """What the manifest says each subject should read: {'node/n17/gpu/0': {'gpu_vbios_version': '96.00'}}."""

    _by_kind: Mapping[str, tuple[Subject, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_kind: dict[str, list[Subject]] = {}
        for subject in sorted(self.subjects, key=natural):
            by_kind.setdefault(kind(subject), []).append(subject)
        object.__setattr__(self, "_by_kind", {name: tuple(found) for name, found in by_kind.items()})

    def expected(self, subject_kind: str) -> tuple[Subject, ...]:
        return self._by_kind.get(subject_kind, ())

    def subject_of(self, device: str) -> Subject:
        """The subject a device address belongs to, or '' if it is not known."""
        return self.by_device.get(device) or self.by_device.get(device.rsplit(".", 1)[0], "")


def natural(text: str) -> tuple[tuple[int, str | int], ...]:
    """Sort key in which gpu/10 follows gpu/9."""
    out: list[tuple[int, str | int]] = []
    digits = ""
    for char in text + "/":
        if char.isdecimal():
            digits += char
            continue
        if digits:
            out.append((0, int(digits)))
            digits = ""
        out.append((1, char))
    return tuple(out)


def devices(pairs: Iterable[tuple[str, Subject]]) -> dict[str, Subject]:
    """Index PCI addresses both as 0000:9b:00.0 and, for function 0, as 0000:9b:00 (how Xid lines print them)."""
    index: dict[str, Subject] = {}
    for address, subject in pairs:
        index[address] = subject
        if address.endswith(".0"):
            index.setdefault(address[:-2], subject)
    return index
