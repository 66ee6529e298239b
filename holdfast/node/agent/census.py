"""Census: the parts of this node, from sources, manifest and catalog."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.catalog.gpus import node_lacks
from holdfast.model.inventory import Inventory, devices
from holdfast.model.signal import Reading, Value
from holdfast.model.subject import Subject


@dataclass(slots=True)
class Census:
    """Grows with every reading. A part that was once seen stays expected, so that a GPU that disappears is reported."""

    node: str
    manifest_lacks: Mapping[str, str] = field(default_factory=dict)
    expect: Mapping[Subject, Mapping[str, Value]] = field(default_factory=dict)
    _seen: set[Subject] = field(default_factory=set)
    _addresses: dict[Subject, str] = field(default_factory=dict)
    _models: dict[Subject, str] = field(default_factory=dict)

    def take(self, reading: Reading) -> bool:
        """Learn from a reading; return whether the inventory changed."""
        known = len(self._seen)
        self._seen.update(reading.present)
        changed = len(self._seen) != known
        for subject, name, value in reading.signals:
            learned = (
                self._models if name == "gpu_model" else self._addresses if name.endswith("_pci_address") else None
            )
            if learned is not None and learned.get(subject) != value:
                learned[subject] = str(value)
                changed = True
        return changed

    def inventory(self) -> Inventory:
        return Inventory(
            node=self.node,
            subjects=frozenset(self._seen | set(self.expect)),
            lacks={**node_lacks(self._models.values()), **self.manifest_lacks},
            by_device=devices((address, subject) for subject, address in self._addresses.items()),
            expect=self.expect,
        )
