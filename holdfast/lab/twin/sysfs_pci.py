"""The PCI part of the simulated /sys: files and links in the form of the kernel."""

from holdfast.lab.twin.hardware import Model
from holdfast.lab.twin.pci import AMD, SPEEDS, Function, functions
from holdfast.lab.twin.tree import Tree

CORRECTABLE = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF")
UNCORRECTABLE = (
    "Undefined",
    "DLP",
    "SDES",
    "TLP",
    "FCP",
    "CmpltTO",
    "CmpltAbrt",
    "UnxCmplt",
    "RxOF",
    "MalfTLP",
    "ECRC",
    "UnsupReq",
    "ACSViol",
    "UncorrIntErr",
    "BlockedTLP",
    "AtomicOpBlocked",
    "TLPBlockedErr",
    "PoisonTLPBlocked",
)
_DRIVERS = {
    "gpu": "nvidia",
    "nvswitch": "nvidia-nvswitch",
    "port": "mlx5_core",
    "storage": "mlx5_core",
    "nvme": "nvme",
    "bridge": "pcieport",
}
_TOTALS = {"correctable": "COR", "fatal": "FATAL", "nonfatal": "NONFATAL"}


def aer_text(severity: str, counts: dict[str, int] | None = None) -> str:
    """One aer_dev_* file: a line per error type and a total."""
    counts = counts or {}
    kinds = CORRECTABLE if severity == "correctable" else UNCORRECTABLE
    lines = [f"{kind} {counts.get(kind, 0)}" for kind in kinds]
    return "\n".join([*lines, f"TOTAL_ERR_{_TOTALS[severity]} {sum(counts.values())}"]) + "\n"


_OF_VENDOR = {AMD: "amdgpu", 0x14E4: "bnxt_en", 0x1DD8: "ionic", 0x1D0F: "efa"}


def driver_of(function: Function) -> str:
    return _OF_VENDOR.get(function.vendor, _DRIVERS[function.role])


def write(tree: Tree, model: Model) -> None:
    for function in functions(model):
        _function(tree, function, model)


def _function(tree: Tree, function: Function, model: Model) -> None:
    here = function.path
    for name, text in _files(function, model).items():
        tree.file(f"{here}/{name}", text)
    for severity in _TOTALS:
        tree.file(f"{here}/aer_dev_{severity}", aer_text(severity))
    tree.link(f"bus/pci/devices/{function.address}", here)
    tree.link(f"{here}/subsystem", "bus/pci")
    driver = driver_of(function)
    tree.directory(f"bus/pci/drivers/{driver}")
    tree.link(f"{here}/driver", f"bus/pci/drivers/{driver}")
    tree.link(f"bus/pci/drivers/{driver}/{function.address}", here)
    bus = f"{function.address.domain:04x}:{function.address.bus:02x}"
    if function.above:
        tree.directory(f"{here.rsplit('/', 1)[0]}/pci_bus/{bus}")
        tree.link(f"class/pci_bus/{bus}", f"{here.rsplit('/', 1)[0]}/pci_bus/{bus}")


def _files(function: Function, model: Model) -> dict[str, str]:
    half = model.cpus // 2
    first = function.numa_node * half
    speed = SPEEDS[function.generation]
    subsystem = model.pci_subsystem if function.role == "gpu" else 0
    return {
        "vendor": f"0x{function.vendor:04x}\n",
        "device": f"0x{function.device:04x}\n",
        "class": f"0x{function.kind:06x}\n",
        "subsystem_vendor": f"0x{subsystem & 0xFFFF or function.vendor:04x}\n",
        "subsystem_device": f"0x{subsystem >> 16:04x}\n",
        "revision": "0xa1\n" if function.role == "gpu" else "0x00\n",
        "current_link_speed": f"{speed}\n",
        "max_link_speed": f"{speed}\n",
        "current_link_width": f"{function.width}\n",
        "max_link_width": f"{function.width}\n",
        "numa_node": f"{function.numa_node}\n",
        "local_cpulist": f"{first}-{first + half - 1}\n",
        "enable": "1\n",
        "power_state": "D0\n",
        "uevent": _uevent(function),
    }


def _uevent(function: Function) -> str:
    lines = [
        f"DRIVER={driver_of(function)}",
        f"PCI_CLASS={function.kind:X}",
        f"PCI_ID={function.vendor:04X}:{function.device:04X}",
        f"PCI_SLOT_NAME={function.address}",
    ]
    return "\n".join(lines) + "\n"
