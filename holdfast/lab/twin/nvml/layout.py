"""Layout of nvml.state, the simulated driver's data, for Python and (generated) for C.

Each value is stored once. The C library and Python read and write the same bytes, so the next NVML call of any process
sees a change. Every field is naturally aligned, so that a single store is atomic.
"""

import ctypes
from ctypes import Array, Structure
from typing import Annotated

from holdfast.lab.twin.c_layout import F64, I32, U32, U64, Text, c_struct, packed

MAGIC = 0x4E49575444464C48  # 'HLFDTWIN' in memory order
VERSION = 3
MAX_GPUS = 16
MAX_LINKS = 18
MAX_PROCESSES = 16

# Values for which a GPU may return "not supported"; the position is the bit in Gpu.unsupported.
CAPABILITIES = (
    "identity",
    "temperature",
    "memory_temperature",
    "margin",
    "tlimit",
    "thresholds",
    "power",
    "energy",
    "clocks",
    "event_reasons",
    "utilization",
    "memory",
    "ecc_mode",
    "ecc_counts",
    "sram_status",
    "remapped_rows",
    "remap_histogram",
    "retired_pages",
    "nvlink",
    "nvlink5_counters",
    "pcie_link",
    "pcie_replay",
    "pcie_traffic",
    "fabric",
    "processes",
    "serial",
    "mig",
    "recovery_action",
)

# Locations of ECC errors: NVML's memory locations 0..7.
ECC_LOCATIONS = ("l1", "l2", "dram", "register_file", "texture", "texture_shm", "cbu", "sram")


@packed
class Link(Structure):
    active: U32
    version: U32
    speed_mbps: U32
    remote_is_switch: U32
    replay_errors: U64
    recovery_errors: U64
    crc_flit_errors: U64
    crc_data_errors: U64
    ecc_data_errors: U64
    sent_bytes: U64
    received_bytes: U64
    receive_errors: U64
    recovery_failed: U64
    effective_errors: U64
    symbol_errors: U64
    effective_ber: U64  # mantissa << 8 | exponent, as the driver encodes it; 15e-255: no error seen
    symbol_ber: U64


@packed
class NvmlProcess(Structure):
    pid: U32
    gpu_instance: U32
    used_bytes: U64
    name: Text


@packed
class Ecc(Structure):
    """Counts by location; index is NVML's memory location."""

    count: Annotated["Array[ctypes.c_uint64]", ctypes.c_uint64 * len(ECC_LOCATIONS)]


@packed
class Gpu(Structure):
    lost: U32
    hang: U32  # calls about this GPU wait until this is 0
    error: U32  # NVML error that all calls about this GPU return; 0: the real answer
    minor_number: U32
    unsupported: U64
    name: Text
    uuid: Text
    serial: Text
    vbios: Text
    board_part: Text
    inforom: Text
    brand: U32
    architecture: U32
    cuda_major: U32
    cuda_minor: U32
    cores: U32
    module_id: U32
    pci_domain: U32
    pci_bus: U32
    pci_device: U32
    pci_device_id: U32
    pci_subsystem_id: U32
    numa_node: U32
    temperature: U32
    memory_temperature: U32
    margin: I32
    shutdown_tlimit: I32
    slowdown_tlimit: I32
    memory_max_tlimit: I32
    gpu_max_tlimit: I32
    threshold: Annotated["Array[ctypes.c_uint32]", ctypes.c_uint32 * 4]  # shutdown, slowdown, memory max, gpu max
    power_milliwatts: U32
    power_limit_milliwatts: U32
    power_default_milliwatts: U32
    power_min_milliwatts: U32
    power_max_milliwatts: U32
    performance_state: U32
    energy_millijoules: U64
    sm_clock_mhz: U32
    memory_clock_mhz: U32
    max_sm_clock_mhz: U32
    max_memory_clock_mhz: U32
    event_reasons: U64
    supported_event_reasons: U64
    gpu_utilization: U32
    memory_utilization: U32
    memory_total: U64
    memory_used: U64
    memory_reserved: U64
    bar1_total: U64
    bar1_used: U64
    persistence: U32
    compute_mode: U32
    mig_mode: U32
    mig_pending: U32
    ecc_current: U32
    ecc_pending: U32
    volatile_corrected: Annotated[Ecc, Ecc]
    volatile_uncorrected: Annotated[Ecc, Ecc]
    aggregate_corrected: Annotated[Ecc, Ecc]
    aggregate_uncorrected: Annotated[Ecc, Ecc]
    sram_threshold_exceeded: U32
    remapped_corrected: U32
    remapped_uncorrected: U32
    remap_pending: U32
    remap_failure: U32
    banks_max: U32
    banks_high: U32
    banks_partial: U32
    banks_low: U32
    banks_none: U32
    retired_pending: U32
    retired_single_bit: U32
    retired_double_bit: U32
    link_count: U32
    link: Annotated["Array[Link]", Link * MAX_LINKS]
    pcie_generation: U32
    pcie_width: U32
    pcie_max_generation: U32
    pcie_max_width: U32
    pcie_replays: U32
    pcie_replay_rollovers: U32
    pcie_sent_kilobytes_per_second: U32
    pcie_received_kilobytes_per_second: U32
    fabric_state: U32
    fabric_status: U32
    fabric_clique: U32
    fabric_health_mask: U32
    fabric_health_summary: U32
    fabric_cluster: Annotated["Array[ctypes.c_uint8]", ctypes.c_uint8 * 16]
    recovery_action: U32
    c2c_links: U32  # link to the CPU of the same board
    c2c_down: U32  # one bit for each link that is down
    process_count: U32
    process: Annotated["Array[NvmlProcess]", NvmlProcess * MAX_PROCESSES]
    # Not visible through NVML: values for the twin's physics.
    load: F64
    core_excess_celsius: F64
    memory_excess_celsius: F64
    inlet_celsius: F64


@packed
class NvmlState(Structure):
    magic: U64
    version: U32
    gpu_count: U32
    answer_delay_microseconds: U32
    hang: U32
    driver_version: Text
    nvml_version: Text
    cuda_version: U32
    gpu: Annotated["Array[Gpu]", Gpu * MAX_GPUS]


def c_header() -> str:
    """The same layout as a C header."""
    lines = ["/* generated from layout.py */", "#include <stdint.h>"]
    lines += [f"#define STATE_MAGIC 0x{MAGIC:x}ULL", f"#define STATE_VERSION {VERSION}", f"#define MAX_GPUS {MAX_GPUS}"]
    lines += [f"enum {{ {', '.join(f'CAN_{name.upper()}' for name in CAPABILITIES)} }};"]
    return "\n".join(lines) + "\n" + "".join(map(c_struct, (Link, NvmlProcess, Ecc, Gpu, NvmlState)))
