"""PCI tree of an eight-GPU server: one switch per GPU and its NIC."""

from dataclasses import dataclass

from holdfast.lab.twin.hardware import Model

AMD, NVIDIA, MELLANOX, INTEL, BROADCOM, SAMSUNG = 0x1002, 0x10DE, 0x15B3, 0x8086, 0x1000, 0x144D
RAILS_OF = {  # fabric -> PCI vendor id of its adapters
    "infiniband": MELLANOX,
    "roce_mlx5": MELLANOX,
    "roce_bnxt": 0x14E4,
    "roce_ionic": 0x1DD8,
    "efa": 0x1D0F,
}
CLASS_BRIDGE, CLASS_GPU, CLASS_NVSWITCH = 0x060400, 0x030200, 0x068000
CLASS_ACCELERATOR = 0x120000
CLASS_INFINIBAND, CLASS_ETHERNET, CLASS_NVME = 0x020700, 0x020000, 0x010802
SPEEDS = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}

# Root buses below which a switch connects one GPU, one network card and one NVMe drive; half per socket.
_RAILS = (0x15, 0x3D, 0x4C, 0x5B, 0x97, 0xBD, 0xCB, 0xD9)
_NVSWITCH_ROOT = 0x03
_STORAGE_ROOT = 0x27
_SECOND_SOCKET = 0x80


@dataclass(frozen=True, slots=True)
class Address:
    bus: int
    device: int = 0
    function: int = 0
    domain: int = 0

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function:x}"


@dataclass(frozen=True, slots=True)
class Function:
    """One PCI function; `role` is its role in the twin (gpu, nvswitch, port, storage, nvme, bridge)."""

    address: Address
    above: tuple[Address, ...]  # bridges from the root port down
    role: str
    vendor: int
    device: int
    kind: int
    generation: int
    width: int

    @property
    def numa_node(self) -> int:
        return 1 if self.address.bus >= _SECOND_SOCKET else 0

    @property
    def path(self) -> str:
        """Path below /sys, nested as the kernel does."""
        root = self.above[0] if self.above else self.address
        steps = [*self.above, self.address]
        return f"devices/pci{root.domain:04x}:{root.bus:02x}/" + "/".join(map(str, steps))


def functions(model: Model) -> list[Function]:
    """All functions of the node; GPUs and ports in the order of their driver's numbers."""
    found: list[Function] = []
    for rail, root in enumerate(_RAILS):
        found += _rail(model, root, has_gpu=rail < model.gpus, has_port=rail < model.ports)
    found += _nvswitches(model)
    found += _storage(model)
    return found


def of_role(model: Model, role: str) -> list[Function]:
    return [function for function in functions(model) if function.role == role]


def _rail(model: Model, root: int, *, has_gpu: bool, has_port: bool) -> list[Function]:
    if not has_gpu and not has_port:
        return []
    generation = model.pcie_generation
    top, upstream = Address(root, 1), Address(root + 1)
    found = [
        Function(top, (), "bridge", INTEL, 0x352A, CLASS_BRIDGE, generation, 16),
        Function(upstream, (top,), "bridge", BROADCOM, 0xC030, CLASS_BRIDGE, generation, 16),
    ]
    slots = [("port", has_port), ("nvme", True), ("gpu", has_gpu)]
    for slot, (role, present) in enumerate(slots):
        if present:
            down = Address(root + 2, slot)
            leaf = Address(root + 3 + slot + (slot == 2))  # the GPU's own bus follows a reserved one
            width = 4 if role == "nvme" else 16
            speed = 4 if role == "nvme" else generation
            found.append(Function(down, (top, upstream), "bridge", BROADCOM, 0xC030, CLASS_BRIDGE, speed, width))
            found.append(_leaf(model, leaf, (top, upstream, down), role, speed, width))
    return found


def _leaf(model: Model, at: Address, above: tuple[Address, ...], role: str, generation: int, width: int) -> Function:
    vendor, device, kind = {
        "gpu": (AMD, model.pci_device, CLASS_ACCELERATOR)
        if model.vendor == "amd"
        else (NVIDIA, model.pci_device, CLASS_GPU),
        "port": (RAILS_OF[model.fabric], model.hca_device, CLASS_INFINIBAND),
        "storage": (MELLANOX, model.hca_device, CLASS_ETHERNET),
        "nvme": (SAMSUNG, 0xA824, CLASS_NVME),
        "nvswitch": (NVIDIA, model.nvswitch_device, CLASS_NVSWITCH),
    }[role]
    return Function(at, above, role, vendor, device, kind, generation, width)


def _nvswitches(model: Model) -> list[Function]:
    if not model.nvswitches:
        return []
    top, upstream = Address(_NVSWITCH_ROOT, 1), Address(_NVSWITCH_ROOT + 1)
    found = [
        Function(top, (), "bridge", INTEL, 0x352A, CLASS_BRIDGE, 4, 8),
        Function(upstream, (top,), "bridge", BROADCOM, 0xC030, CLASS_BRIDGE, 4, 8),
    ]
    for number in range(model.nvswitches):
        down = Address(_NVSWITCH_ROOT + 2, number)
        found.append(Function(down, (top, upstream), "bridge", BROADCOM, 0xC030, CLASS_BRIDGE, 4, 2))
        found.append(_leaf(model, Address(_NVSWITCH_ROOT + 4 + number), (top, upstream, down), "nvswitch", 4, 2))
    return found


def _storage(model: Model) -> list[Function]:
    top = Address(_STORAGE_ROOT, 1)
    return [
        Function(top, (), "bridge", INTEL, 0x352A, CLASS_BRIDGE, model.pcie_generation, 16),
        _leaf(model, Address(_STORAGE_ROOT + 2), (top,), "storage", model.pcie_generation, 16),
    ]
