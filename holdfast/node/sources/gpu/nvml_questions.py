"""NVML queries of a GPU: the call, and the signals it returns."""

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.model.signal import Value
from holdfast.node.sources.gpu.nvml_answers import Ask, NvmlField, either
from holdfast.node.sources.gpu.nvml_session import nvml

_MEGAHERTZ = 1e6
_MILLIWATT = 1e-3
_PERCENT = 1e-2


def _temperature(handle: Any) -> Sequence[Value]:
    return (float(nvml.nvmlDeviceGetTemperatureV(handle, nvml.NVML_TEMPERATURE_GPU)),)


def _temperature_before_r570(handle: Any) -> Sequence[Value]:
    return (float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),)


def _utilization(handle: Any) -> Sequence[Value]:
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    return rates.gpu * _PERCENT, rates.memory * _PERCENT


def _event_reasons(handle: Any) -> Sequence[Value]:
    return (float(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)),)


def _throttle_reasons(handle: Any) -> Sequence[Value]:
    return (float(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),)


def _memory(handle: Any) -> Sequence[Value]:
    memory = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)  # without the driver's reserved memory
    return float(memory.used), float(memory.total)


def _memory_with_reserved(handle: Any) -> Sequence[Value]:
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    return float(memory.used), float(memory.total)


def _errors(kind: int, counter: int, location: int) -> Any:
    return lambda h: (float(nvml.nvmlDeviceGetMemoryErrorCounter(h, kind, counter, location)),)


def _threshold(which: int) -> Any:
    return lambda h: (float(nvml.nvmlDeviceGetTemperatureThreshold(h, which)),)


def _sram_threshold(handle: Any) -> Sequence[Value]:
    status = nvml.c_nvmlEccSramErrorStatus_v1_t()
    nvml.nvmlDeviceGetSramEccErrorStatus(handle, ctypes.byref(status))
    return (float(bool(status.bThresholdExceeded)),)


def _histogram(handle: Any) -> Sequence[Value]:
    banks = nvml.nvmlDeviceGetRowRemapperHistogram(handle)
    return tuple(float(getattr(banks, level)) for level in ("max", "high", "partial", "low", "none"))


def _fabric(handle: Any) -> Sequence[Value]:
    info = nvml.c_nvmlGpuFabricInfo_v2_t()
    nvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
    cluster = bytes(info.clusterUuid).hex()
    return float(info.state), float(info.status), float(info.healthMask), float(info.cliqueId), cluster


def pids(handle: Any) -> list[int]:
    return [process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]


def _pair(first: int, second: int) -> Sequence[Value]:
    return float(first), float(second)


_SM, _MEM = nvml.NVML_CLOCK_SM, nvml.NVML_CLOCK_MEM
FAST = (
    Ask(("gpu_temperature_celsius",), either(_temperature, _temperature_before_r570)),
    Ask(("gpu_thermal_margin_celsius",), lambda h: (float(nvml.nvmlDeviceGetMarginTemperature(h)),)),
    Ask(("gpu_power_watts",), lambda h: (nvml.nvmlDeviceGetPowerUsage(h) * _MILLIWATT,)),
    Ask(("gpu_clock_sm_hertz",), lambda h: (nvml.nvmlDeviceGetClockInfo(h, _SM) * _MEGAHERTZ,)),
    Ask(("gpu_clock_memory_hertz",), lambda h: (nvml.nvmlDeviceGetClockInfo(h, _MEM) * _MEGAHERTZ,)),
    Ask(("gpu_clock_event_reasons",), either(_event_reasons, _throttle_reasons)),
    Ask(("gpu_utilization_ratio", "gpu_memory_utilization_ratio"), _utilization),
)
FAST_FIELDS = (NvmlField("gpu_memory_temperature_celsius", nvml.NVML_FI_DEV_MEMORY_TEMP, zero_is_absent=True),)

SLOW = (
    Ask(("gpu_power_limit_watts",), lambda h: (nvml.nvmlDeviceGetEnforcedPowerLimit(h) * _MILLIWATT,)),
    Ask(("gpu_power_default_limit_watts",), lambda h: (nvml.nvmlDeviceGetPowerManagementDefaultLimit(h) * _MILLIWATT,)),
    Ask(("gpu_clock_sm_max_hertz",), lambda h: (nvml.nvmlDeviceGetMaxClockInfo(h, _SM) * _MEGAHERTZ,)),
    Ask(("gpu_clock_memory_max_hertz",), lambda h: (nvml.nvmlDeviceGetMaxClockInfo(h, _MEM) * _MEGAHERTZ,)),
    Ask(("gpu_slowdown_temperature_celsius",), _threshold(nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)),
    Ask(("gpu_shutdown_temperature_celsius",), _threshold(nvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN)),
    Ask(("gpu_memory_max_temperature_celsius",), _threshold(nvml.NVML_TEMPERATURE_THRESHOLD_MEM_MAX)),
    Ask(("gpu_memory_used_bytes", "gpu_memory_total_bytes"), either(_memory, _memory_with_reserved)),
    *(
        Ask((f"gpu_ecc_{span}_{kind}_{place}_total",), _errors(kind_number, span_number, place_number))
        for span, span_number in (("volatile", nvml.NVML_VOLATILE_ECC), ("aggregate", nvml.NVML_AGGREGATE_ECC))
        for kind, kind_number in (
            ("corrected", nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
            ("uncorrected", nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        )
        for place, place_number in (("sram", nvml.NVML_MEMORY_LOCATION_SRAM), ("dram", nvml.NVML_MEMORY_LOCATION_DRAM))
    ),
    Ask(("gpu_ecc_mode", "gpu_ecc_mode_pending"), lambda h: _pair(*nvml.nvmlDeviceGetEccMode(h))),
    Ask(("gpu_ecc_sram_threshold_exceeded",), _sram_threshold),
    Ask(
        tuple(f"gpu_remapped_rows_{what}" for what in ("correctable", "uncorrectable", "pending", "failure")),
        lambda h: [float(number) for number in nvml.nvmlDeviceGetRemappedRows(h)],
    ),
    Ask(tuple(f"gpu_remap_{level}_banks" for level in ("max", "high", "partial", "low", "none")), _histogram),
    Ask(("gpu_pcie_generation",), lambda h: (float(nvml.nvmlDeviceGetCurrPcieLinkGeneration(h)),)),
    Ask(("gpu_pcie_max_generation",), lambda h: (float(nvml.nvmlDeviceGetMaxPcieLinkGeneration(h)),)),
    Ask(("gpu_pcie_width_lanes",), lambda h: (float(nvml.nvmlDeviceGetCurrPcieLinkWidth(h)),)),
    Ask(("gpu_pcie_max_width_lanes",), lambda h: (float(nvml.nvmlDeviceGetMaxPcieLinkWidth(h)),)),
    Ask(("gpu_pcie_replay_total",), lambda h: (float(nvml.nvmlDeviceGetPcieReplayCounter(h)),)),
    Ask(
        ("gpu_fabric_state", "gpu_fabric_status", "gpu_fabric_health_mask", "gpu_fabric_clique", "gpu_fabric_cluster"),
        _fabric,
    ),
    Ask(("gpu_processes",), lambda h: (float(len(pids(h))),)),
    Ask(("gpu_mig_mode", "gpu_mig_mode_pending"), lambda h: _pair(*nvml.nvmlDeviceGetMigMode(h))),
    Ask(("gpu_persistence_mode",), lambda h: (float(nvml.nvmlDeviceGetPersistenceMode(h)),)),
)
SLOW_FIELDS = (
    NvmlField("gpu_ecc_volatile_corrected_total", nvml.NVML_FI_DEV_ECC_SBE_VOL_TOTAL),
    NvmlField("gpu_ecc_volatile_uncorrected_total", nvml.NVML_FI_DEV_ECC_DBE_VOL_TOTAL),
    NvmlField("gpu_ecc_aggregate_corrected_total", nvml.NVML_FI_DEV_ECC_SBE_AGG_TOTAL),
    NvmlField("gpu_ecc_aggregate_uncorrected_total", nvml.NVML_FI_DEV_ECC_DBE_AGG_TOTAL),
    NvmlField("gpu_retired_pages_single_bit", nvml.NVML_FI_DEV_RETIRED_SBE),
    NvmlField("gpu_retired_pages_double_bit", nvml.NVML_FI_DEV_RETIRED_DBE),
    NvmlField("gpu_retired_pages_pending", nvml.NVML_FI_DEV_RETIRED_PENDING),
    NvmlField("gpu_shutdown_margin_celsius", nvml.NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT, signed=True),
    NvmlField("gpu_slowdown_margin_celsius", nvml.NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT, signed=True),
    NvmlField("gpu_recovery_action", nvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION),
)
IDENTITY = (
    Ask(("gpu_model",), lambda h: (str(nvml.nvmlDeviceGetName(h)),)),
    Ask(("gpu_serial",), lambda h: (str(nvml.nvmlDeviceGetSerial(h)),)),
    Ask(("gpu_uuid",), lambda h: (str(nvml.nvmlDeviceGetUUID(h)),)),
    Ask(("gpu_vbios_version",), lambda h: (str(nvml.nvmlDeviceGetVbiosVersion(h)),)),
)


def names(asks: Iterable[Ask], fields: Iterable[NvmlField] = ()) -> tuple[str, ...]:
    return tuple(name for ask in asks for name in ask.names) + tuple(field.name for field in fields)
