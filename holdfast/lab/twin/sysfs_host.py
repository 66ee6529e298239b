"""The host part of the simulated /sys: processors, memory controllers, clock source, NUMA nodes, modules."""

from holdfast.lab.twin.hardware import Model
from holdfast.lab.twin.tree import Tree

MODULES = {  # size and users of a module, as in /proc/modules
    "nvidia": (56717312, "nvidia_uvm,nvidia_modeset,"),
    "nvidia_uvm": (4939776, ""),
    "nvidia_modeset": (1314816, ""),
    "mlx5_core": (2383872, "mlx5_ib,"),
    "mlx5_ib": (507904, ""),
    "ib_core": (524288, "mlx5_ib,ib_uverbs,rdma_cm,ib_umad,"),
    "ib_uverbs": (196608, "mlx5_ib,rdma_ucm,"),
    "ib_umad": (40960, ""),
    "rdma_cm": (143360, "rdma_ucm,"),
    "rdma_ucm": (36864, ""),
    "nvme": (61440, ""),
    "nvme_core": (212992, "nvme,"),
}
REQUIRED_MODULES = ("nvidia", "nvidia_uvm", "mlx5_core", "mlx5_ib", "ib_uverbs")
AMD_MODULES = {"amdgpu": (19767296, ""), **{name: use for name, use in MODULES.items() if "nvidia" not in name}}
AMD_REQUIRED_MODULES = ("amdgpu", "mlx5_core", "mlx5_ib", "ib_uverbs")
MEMORY_CONTROLLERS = 4


def modules(model: Model) -> dict[str, tuple[int, str]]:
    return AMD_MODULES if model.vendor == "amd" else MODULES


def required_modules(model: Model) -> tuple[str, ...]:
    return AMD_REQUIRED_MODULES if model.vendor == "amd" else REQUIRED_MODULES


def write(tree: Tree, model: Model) -> None:
    half = model.cpus // 2
    tree.file("devices/system/cpu/online", f"0-{model.cpus - 1}\n")
    for cpu in range(model.cpus):
        here = f"devices/system/cpu/cpu{cpu}/cpufreq"
        tree.file(f"{here}/scaling_governor", "performance\n")
        tree.file(f"{here}/scaling_cur_freq", "3800000\n")
        tree.file(f"{here}/cpuinfo_max_freq", "3800000\n")
    for controller in range(MEMORY_CONTROLLERS):
        here = f"devices/system/edac/mc/mc{controller}"
        tree.file(f"{here}/mc_name", f"Intel_10nm Socket#{controller // 2} IMC#{controller % 2}\n")
        for name in ("ce_count", "ue_count", "ce_noinfo_count", "ue_noinfo_count"):
            tree.file(f"{here}/{name}", "0\n")
    clock = "devices/system/clocksource/clocksource0"
    tree.file(f"{clock}/current_clocksource", "tsc\n")
    tree.file(f"{clock}/available_clocksource", "tsc hpet acpi_pm\n")
    for node in range(2):
        tree.file(f"devices/system/node/node{node}/cpulist", f"{node * half}-{node * half + half - 1}\n")
    for name in modules(model):
        module(tree, name, model)


def module(tree: Tree, name: str, model: Model) -> None:
    tree.file(f"module/{name}/initstate", "live\n")
    tree.file(f"module/{name}/refcnt", "1\n")
    version = model.driver if name.startswith("nvidia") else ""
    if version:
        tree.file(f"module/{name}/version", f"{version}\n")
