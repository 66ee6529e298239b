"""The amdgpu part of the simulated /sys: hwmon, gpu_metrics, RAS counts and identity of every AMD GPU."""

import struct
import uuid

from holdfast.formats.amd.gpu_metrics import LAYOUTS
from holdfast.lab.twin.hardware import Model
from holdfast.lab.twin.pci import of_role
from holdfast.lab.twin.tree import Tree, replace_in_place

MIB = 1024 * 1024
HWMON = "hwmon4"
INLET_CELSIUS = 26
BLOCKS = ("umc", "sdma", "gfx", "mmhub", "athub", "pcie_bif", "hdp", "xgmi_wafl", "df", "smn", "fuse", "vcn", "jpeg")
SIZES = {(1, 5): 328, (1, 7): 2208}


def write(tree: Tree, model: Model, node: str) -> None:
    tree.file("module/amdgpu/version", f"{model.driver}\n")
    for index, function in enumerate(of_role(model, "gpu")):
        unique = uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}.gpu{index}.twin").int
        for name, text in _files(model, unique).items():
            tree.file(f"{function.path}/{name}", text)
        replace_in_place(tree.root / function.path / "gpu_metrics", metrics(model))


def _files(model: Model, unique: int) -> dict[str, str]:
    junction, memory = INLET_CELSIUS + 14, INLET_CELSIUS + 10
    sclk, mclk = model.clocks
    return {
        "product_name": f"{model.gpu_name} OAM\n",
        "serial_number": f"{unique % 10**12:012d}\n",
        "unique_id": f"{unique % 2**64:016x}\n",
        "vbios_version": f"{model.vbios}\n",
        "gpu_busy_percent": "0\n",
        "mem_busy_percent": "0\n",
        "mem_info_vram_total": f"{model.memory_mib * MIB}\n",
        "mem_info_vram_used": f"{283 * MIB}\n",
        "pcie_replay_count": "0\n",
        "pp_dpm_sclk": f"0: 132Mhz *\n1: {sclk}Mhz\n",
        "pp_dpm_mclk": f"0: 900Mhz\n1: {mclk}Mhz *\n",
        "current_compute_partition": "SPX\n",
        "current_memory_partition": "NPS1\n",
        "xgmi_error": "0\n",
        "ras/features": "feature mask: 0x3fff\n",
        "ras/gpu_vram_bad_pages": "",
        **{f"ras/{block}_err_count": "ue: 0\nce: 0\n" + ("de: 0\n" if block == "umc" else "") for block in BLOCKS},
        f"hwmon/{HWMON}/name": "amdgpu\n",
        f"hwmon/{HWMON}/temp2_label": "junction\n",
        f"hwmon/{HWMON}/temp2_input": f"{junction * 1000}\n",
        f"hwmon/{HWMON}/temp2_crit": f"{model.gpu_max * 1000}\n",
        f"hwmon/{HWMON}/temp2_emergency": f"{(model.gpu_max + 5) * 1000}\n",
        f"hwmon/{HWMON}/temp3_label": "mem\n",
        f"hwmon/{HWMON}/temp3_input": f"{memory * 1000}\n",
        f"hwmon/{HWMON}/temp3_crit": f"{model.memory_max * 1000}\n",
        f"hwmon/{HWMON}/power1_label": "PPT\n",
        f"hwmon/{HWMON}/power1_input": f"{model.idle_watts * 1_000_000}\n",
        f"hwmon/{HWMON}/power1_cap": f"{model.power_watts[1] * 1_000_000}\n",
        f"hwmon/{HWMON}/power1_cap_default": f"{model.power_watts[1] * 1_000_000}\n",
        f"hwmon/{HWMON}/power1_cap_max": f"{model.power_watts[1] * 1_000_000}\n",
    }


def metrics(model: Model, revision: tuple[int, int] = (1, 7), **changed: float | list[int]) -> bytes:
    """A gpu_metrics file in the format of the MI300X drivers; fields that are not named here are not filled."""
    values: dict[str, float | list[int]] = {
        "temperature_hotspot": INLET_CELSIUS + 14, "temperature_mem": INLET_CELSIUS + 10, "temperature_vrsoc": 38,
        "socket_power": model.idle_watts, "gfx_activity": 0, "umc_activity": 0, "accumulation_residency": 1000,
        "prochot_residency": 0, "ppt_residency": 0, "socket_thermal_residency": 0, "vr_thermal_residency": 0,
        "hbm_thermal_residency": 0, "pcie_link_width": 16, "pcie_link_speed": 320, "xgmi_link_width": 16,
        "xgmi_link_speed": 32, "pcie_l0_to_recovery": 0, "pcie_replay": 0, "gfxclk": [132] * 8, "uclk": 900,
        "xgmi_link_status": [1] * model.nvlinks + [2] * (8 - model.nvlinks), "partitions": 1,
        "throttle_status": 0, **changed,
    }  # fmt: skip
    size, layout = SIZES[revision], LAYOUTS[revision]
    raw = bytearray(b"\xff" * size)
    struct.pack_into("<HBB", raw, 0, size, *revision)
    for name, value in values.items():
        if name not in layout:
            continue
        place = layout[name]
        numbers = [int(number) for number in value] if isinstance(value, list) else [int(value)]
        struct.pack_into(f"<{len(numbers)}{place.kind}", raw, place.offset, *numbers)
    return bytes(raw)
