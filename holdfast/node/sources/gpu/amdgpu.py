"""AMD GPUs through the files of the amdgpu driver in sysfs. Signals have the names of the NVIDIA side wherever they
answer the same question, so the checks are the same."""

import os
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from holdfast.catalog.gpus import amd_model_name
from holdfast.formats.amd import gpu_metrics
from holdfast.formats.amd import sysfs as formats
from holdfast.formats.pci import sysfs as pcie
from holdfast.model import subject
from holdfast.model.signal import Reading
from holdfast.model.subject import Subject
from holdfast.node.sources.gpu.isolation import Isolation
from holdfast.node.sources.small_file import text_or_nothing
from holdfast.runtime.source import ReadingBuilder

_AMD = "0x1002"
_GPU_CLASSES = ("0x0380", "0x0302", "0x0300", "0x1200")
_UMC = "umc"  # the memory controllers; errors of other blocks are in SRAM
_MICROWATT, _MILLICELSIUS, _PERCENT = 1e-6, 1e-3, 1e-2
_GONE = "the GPU is lost: it is no longer on the PCI bus"
_LINK_DOWN, _LINK_UP = 0.0, 1.0  # 2 is a link that the board does not use
_DEAD = 0xFFFFFFFF  # the value that registers of a missing device return

_HWMON_TEMPERATURES = {  # hwmon label -> signal, for the GPU and its memory
    "junction": ("gpu_temperature_celsius", "gpu_slowdown_temperature_celsius", "gpu_shutdown_temperature_celsius"),
    "mem": ("gpu_memory_temperature_celsius", "gpu_memory_max_temperature_celsius", ""),
}
_SIGNALS = (
    "gpu_lost", "gpu_responding", "gpu_trouble", "gpu_temperature_celsius", "gpu_memory_temperature_celsius",
    "gpu_power_watts", "gpu_clock_sm_hertz", "gpu_clock_memory_hertz", "gpu_clock_event_reasons",
    "gpu_utilization_ratio", "gpu_memory_utilization_ratio", "gpu_power_limit_watts", "gpu_power_default_limit_watts",
    "gpu_clock_sm_max_hertz", "gpu_clock_memory_max_hertz", "gpu_slowdown_temperature_celsius",
    "gpu_memory_max_temperature_celsius", "gpu_memory_used_bytes", "gpu_memory_total_bytes", "gpu_ecc_mode",
    "gpu_ecc_volatile_uncorrected_sram_total", "gpu_ecc_volatile_uncorrected_dram_total",
    "gpu_ecc_volatile_corrected_sram_total", "gpu_ecc_volatile_corrected_dram_total",
    "gpu_ecc_volatile_corrected_total", "gpu_retired_pages_double_bit", "gpu_retired_pages_pending",
    "gpu_retired_pages_failed", "gpu_pcie_generation", "gpu_pcie_max_generation", "gpu_pcie_width_lanes",
    "gpu_pcie_max_width_lanes", "gpu_pcie_replay_total", "gpu_nvlink_active_lanes", "gpu_nvlink_down_links",
    "gpu_model", "gpu_serial", "gpu_uuid", "gpu_vbios_version", "gpu_pci_address",
)  # fmt: skip


class _Gpu(NamedTuple):
    number: int
    address: str
    path: str


class _Found(NamedTuple):
    builder: ReadingBuilder
    metrics: gpu_metrics.Metrics | None


class AmdGpuSource:
    name = "amdgpu"
    every = 10.0
    deadline = 10.0
    carries: tuple[str, ...] = ()  # on a node without AMD GPUs these signals are NVML's

    def __init__(self, node: str, sys: str = "/sys", exclude: Iterable[str] = ()) -> None:
        self._node = node
        self._sys = sys
        self._exclude = frozenset(address.lower() for address in exclude)
        self._known: dict[str, _Gpu] = {}
        self._others: set[str] = set()  # devices that are not AMD GPUs: inspected once
        self._metrics: dict[str, gpu_metrics.Metrics] = {}
        self._isolation = Isolation()

    def read(self, now: float) -> Reading:
        here = self._list()
        if not self._known:
            return Reading(source=self.name, at=now)
        asked = {gpu.number: partial(self._about, gpu) for gpu in self._known.values() if gpu.address in here}
        answered = self._isolation.run(asked, 0.6 * self.deadline)
        builder = ReadingBuilder()
        for gpu in self._known.values():
            who = subject.gpu(self._node, gpu.number)
            if gpu.address not in here:
                _without(builder, who, "gpu_lost", 1.0, _GONE)
            elif gpu.number not in answered:
                seconds = self._isolation.hanging(gpu.number) or 0.0
                _without(
                    builder, who, "gpu_responding", 0.0, f"a read of this GPU has not returned for {seconds:.0f} s"
                )
            else:
                found = answered[gpu.number]
                builder.merge(found.builder)
                if found.metrics:
                    self._metrics[gpu.address] = found.metrics
        self._about_node(builder)
        return builder.build(self.name, now, [subject.gpu(self._node, gpu.number) for gpu in self._known.values()])

    def _list(self) -> set[str]:
        """The present addresses. A GPU keeps its number until this process ends."""
        root = f"{self._sys}/bus/pci/devices"
        try:
            names = set(os.listdir(root))
        except OSError:
            return set()
        self._others &= names  # a device that returns may be another one
        here = {name for name in names - self._others if name in self._known or self._is_ours(root, name)}
        self._others |= names - here
        for address in sorted(here - self._known.keys()):
            number = max((gpu.number for gpu in self._known.values()), default=-1) + 1
            self._known[address] = _Gpu(number, address, f"{root}/{address}")
        return here

    def _is_ours(self, root: str, name: str) -> bool:
        return name not in self._exclude and _is_gpu(root, name)

    def _about_node(self, builder: ReadingBuilder) -> None:
        version = text_or_nothing(f"{self._sys}/module/amdgpu/version")
        if version:
            builder.add(subject.node(self._node), "driver_version", version)

    def _about(self, gpu: _Gpu) -> _Found:
        builder = ReadingBuilder()
        who = subject.gpu(self._node, gpu.number)
        found = _read_metrics(gpu.path)
        metrics = found if isinstance(found, gpu_metrics.Metrics) else None
        _identity(builder, who, gpu)
        hwmon = _hwmon(gpu.path)
        answers = _temperatures(builder, who, hwmon, metrics)
        answers |= _power(builder, who, hwmon, metrics)
        _load(builder, who, gpu.path, metrics)
        _errors(builder, who, gpu.path)
        _links(builder, who, gpu.path, metrics)
        reasons = gpu_metrics.clock_reasons(metrics, self._metrics.get(gpu.address)) if metrics else None
        if metrics and reasons is None:  # residencies need two readings; until then no throttling is known
            reasons = 0
        if reasons is not None:
            builder.add(who, "gpu_clock_event_reasons", float(reasons))
        else:
            builder.miss(who, str(found), "gpu_clock_event_reasons")
        trouble = "" if metrics else str(found)
        builder.add(who, "gpu_responding", float(answers or metrics is not None))
        builder.add(who, "gpu_trouble", trouble if not _optional(trouble) else "")
        if answers or metrics:
            builder.add(who, "gpu_lost", 0.0)
        else:
            builder.miss(who, trouble, "gpu_lost")
        return _Found(builder, metrics)


def _is_gpu(root: str, address: str) -> bool:
    """Whether it is an AMD display or processing device with the amdgpu driver or its gpu_metrics file."""
    path = f"{root}/{address}"
    if text_or_nothing(f"{path}/vendor") != _AMD or not text_or_nothing(f"{path}/class").startswith(_GPU_CLASSES):
        return False
    driver = os.path.basename(os.path.realpath(f"{path}/driver"))
    return driver == "amdgpu" or os.path.exists(f"{path}/gpu_metrics")


def _without(builder: ReadingBuilder, who: Subject, name: str, value: float, why: str) -> None:
    builder.miss(who, why, *(signal for signal in _SIGNALS if signal not in (name, "gpu_trouble")))
    builder.add(who, name, value)
    builder.add(who, "gpu_trouble", why)


def _optional(trouble: str) -> bool:
    """A missing or newer file, as in other kernels or virtual machines, is not a fault of the GPU."""
    return "not known" in trouble or "there is no" in trouble


def _read_metrics(path: str) -> gpu_metrics.Metrics | str:
    try:
        with open(f"{path}/gpu_metrics", "rb") as file:
            return gpu_metrics.parse(file.read(1 << 16))
    except FileNotFoundError:
        return "there is no gpu_metrics file"
    except OSError as error:
        return f"gpu_metrics cannot be read: {(error.strerror or str(error)).lower()}"


def _identity(builder: ReadingBuilder, who: Subject, gpu: _Gpu) -> None:
    device = text_or_nothing(f"{gpu.path}/device")
    product = text_or_nothing(f"{gpu.path}/product_name")
    values = {
        "gpu_model": amd_model_name(device, product) or product or f"AMD device {device}",
        "gpu_serial": text_or_nothing(f"{gpu.path}/serial_number"),
        "gpu_uuid": text_or_nothing(f"{gpu.path}/unique_id"),
        "gpu_vbios_version": text_or_nothing(f"{gpu.path}/vbios_version"),
        "gpu_pci_address": gpu.address,
    }
    for name, value in values.items():
        if value:
            builder.add(who, name, value)
        else:
            builder.miss(who, "not supported by this GPU/driver", name)


def _hwmon(path: str) -> str:
    try:
        return next((f"{path}/hwmon/{name}" for name in sorted(os.listdir(f"{path}/hwmon"))), "")
    except OSError:
        return ""


def _number(path: str) -> float | None:
    return formats.number(text_or_nothing(path))


def _temperatures(builder: ReadingBuilder, who: Subject, hwmon: str, metrics: gpu_metrics.Metrics | None) -> bool:
    labels = {text_or_nothing(f"{hwmon}/temp{n}_label"): n for n in (1, 2, 3)} if hwmon else {}
    answers = False
    for label, (current, critical, emergency) in _HWMON_TEMPERATURES.items():
        number = labels.get(label)
        key = "temperature_hotspot" if label == "junction" else "temperature_mem"
        celsius = _number(f"{hwmon}/temp{number}_input") if number else None
        value = celsius * _MILLICELSIUS if celsius is not None else (metrics.values.get(key) if metrics else None)
        if value:
            builder.add(who, current, value)
            answers = True
        else:  # a GPU without the sensor reads 0
            builder.miss(who, "not supported by this GPU/driver", current)
        for name, suffix in ((critical, "crit"), (emergency, "emergency")):
            limit = _number(f"{hwmon}/temp{number}_{suffix}") if number and name else None
            if name and limit:
                builder.add(who, name, limit * _MILLICELSIUS)
            elif name:
                builder.miss(who, "not supported by this GPU/driver", name)
    return answers


def _power(builder: ReadingBuilder, who: Subject, hwmon: str, metrics: gpu_metrics.Metrics | None) -> bool:
    read = [_number(f"{hwmon}/power1_{kind}") for kind in ("input", "average")] if hwmon else []
    watts = next((value * _MICROWATT for value in read if value is not None), None)
    if watts is None and metrics:
        watts = metrics.values.get("socket_power")
    cap = _number(f"{hwmon}/power1_cap") if hwmon else None
    default = (_number(f"{hwmon}/power1_cap_default") or _number(f"{hwmon}/power1_cap_max")) if hwmon else None
    for name, value in (
        ("gpu_power_watts", watts),
        ("gpu_power_limit_watts", cap * _MICROWATT if cap else None),
        ("gpu_power_default_limit_watts", default * _MICROWATT if default else None),
    ):
        if value is None:
            builder.miss(who, "not supported by this GPU/driver", name)
        else:
            builder.add(who, name, value)
    return watts is not None


def _load(builder: ReadingBuilder, who: Subject, path: str, metrics: gpu_metrics.Metrics | None) -> None:
    values = metrics.values if metrics else {}
    busy, memory_busy = _number(f"{path}/gpu_busy_percent"), _number(f"{path}/mem_busy_percent")
    sclk, mclk = values.get("gfxclk"), values.get("uclk")
    known: dict[str, float | None] = {
        "gpu_utilization_ratio": _scaled(busy if busy is not None else values.get("gfx_activity"), _PERCENT),
        "gpu_memory_utilization_ratio": _scaled(
            memory_busy if memory_busy is not None else values.get("umc_activity"), _PERCENT
        ),
        "gpu_clock_sm_hertz": _scaled(sclk, 1e6),
        "gpu_clock_memory_hertz": _scaled(mclk, 1e6),
        "gpu_clock_sm_max_hertz": formats.highest_clock_hertz(text_or_nothing(f"{path}/pp_dpm_sclk")),
        "gpu_clock_memory_max_hertz": formats.highest_clock_hertz(text_or_nothing(f"{path}/pp_dpm_mclk")),
        "gpu_memory_used_bytes": _number(f"{path}/mem_info_vram_used"),
        "gpu_memory_total_bytes": _number(f"{path}/mem_info_vram_total"),
    }
    for name, value in known.items():
        if value is None:
            builder.miss(who, "not supported by this GPU/driver", name)
        else:
            builder.add(who, name, value)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _errors(builder: ReadingBuilder, who: Subject, path: str) -> None:
    """Counts of all blocks: those of the memory controllers are DRAM, all others SRAM."""
    ras = f"{path}/ras"
    try:
        files = sorted(name for name in os.listdir(ras) if name.endswith("_err_count"))
    except OSError:
        files = []
    counts = {file.removesuffix("_err_count"): formats.error_counts(text_or_nothing(f"{ras}/{file}")) for file in files}
    known = {block: count for block, count in counts.items() if count is not None}
    if _UMC not in known:
        why = f"not supported by this GPU/driver: no error counts in {ras}"
        builder.miss(who, why, *(name for name in _SIGNALS if "_ecc_" in name or "_retired_" in name))
        return
    builder.add(who, "gpu_ecc_mode", 1.0)
    for word in ("uncorrected", "corrected", "deferred"):
        dram = float(getattr(known[_UMC], word))
        sram = float(sum(getattr(count, word) for block, count in known.items() if block != _UMC))
        builder.add(who, f"gpu_ecc_volatile_{word}_dram_total", dram)
        builder.add(who, f"gpu_ecc_volatile_{word}_sram_total", sram)
        builder.add(who, f"gpu_ecc_volatile_{word}_total", dram + sram)
    blocks = [block for block, count in known.items() if count.uncorrected]
    builder.add(who, "gpu_ecc_uncorrected_blocks", ",".join(blocks))
    pages = formats.bad_pages(text_or_nothing(f"{ras}/gpu_vram_bad_pages"))
    builder.add(who, "gpu_retired_pages_single_bit", 0.0)
    builder.add(who, "gpu_retired_pages_double_bit", float(pages.retired))
    builder.add(who, "gpu_retired_pages_pending", float(pages.pending))
    builder.add(who, "gpu_retired_pages_failed", float(pages.failed))


def _links(builder: ReadingBuilder, who: Subject, path: str, metrics: gpu_metrics.Metrics | None) -> None:
    replay = _number(f"{path}/pcie_replay_count")
    if replay is not None and replay != _DEAD:
        builder.add(who, "gpu_pcie_replay_total", replay)
    else:
        builder.miss(who, "not supported by this GPU/driver", "gpu_pcie_replay_total")
    for part, file in (("", "current"), ("max_", "max")):
        speed = pcie.link_speed(text_or_nothing(f"{path}/{file}_link_speed"))
        width = pcie.link_width(text_or_nothing(f"{path}/{file}_link_width"))
        for name, value in ((f"gpu_pcie_{part}generation", _generation(speed)), (f"gpu_pcie_{part}width_lanes", width)):
            if value is None:
                builder.miss(who, "the PCIe link is not reported", name)
            else:
                builder.add(who, name, float(value))
    status = metrics.lists.get("xgmi_link_status") if metrics else None
    if status:
        down = [str(link) for link, state in enumerate(status) if state == _LINK_DOWN]
        builder.add(who, "gpu_nvlink_active_lanes", float(status.count(_LINK_UP)))
        builder.add(who, "gpu_nvlink_down_links", ",".join(down))
    else:
        builder.miss(who, "not supported by this GPU/driver", "gpu_nvlink_active_lanes", "gpu_nvlink_down_links")
    counts = formats.error_counts(text_or_nothing(f"{path}/ras/xgmi_wafl_err_count"))
    flag = _number(f"{path}/xgmi_error")
    if counts or flag is not None:
        builder.add(who, "gpu_nvlink_crc_errors_total", float(counts.corrected if counts else 0))
        builder.add(who, "gpu_nvlink_recovery_errors_total", (counts.uncorrected if counts else 0) + (flag or 0.0))
    else:
        builder.miss(who, "not supported by this GPU/driver", "gpu_nvlink_crc_errors_total")


def _generation(transfers_per_second: float | None) -> int | None:
    speeds = {2.5e9: 1, 5.0e9: 2, 8.0e9: 3, 16.0e9: 4, 32.0e9: 5, 64.0e9: 6}
    return speeds.get(transfers_per_second or 0.0)
