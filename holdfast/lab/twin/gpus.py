"""A healthy GPU of a model, as its driver describes it. Clearing a fault copies values back from here."""

import uuid
from ctypes import memmove, pointer, sizeof

from holdfast.lab.twin.hardware import Model
from holdfast.lab.twin.nvml.layout import CAPABILITIES, MAX_LINKS, Gpu, NvmlState
from holdfast.lab.twin.pci import Address

MIB = 1024 * 1024
NO_BIT_ERRORS = 15 << 8 | 255  # 15e-255: the driver's value for no error seen
FABRIC_COMPLETED = 3
FABRIC_HEALTHY_SUMMARY = 1
FABRIC_HEALTHY_MASK = 0x1AA  # bandwidth, route, recovery, timeout: no trouble; configuration: correct
GPU_IDLE = 0x1
INLET_CELSIUS = 26.0


def fill(state: NvmlState, model: Model, node: str, addresses: list[Address]) -> None:
    state.driver_version = model.driver.encode()
    state.nvml_version = f"12.{model.driver}".encode()
    state.cuda_version = model.cuda
    for index, address in enumerate(addresses):
        gpu = healthy(model, node, index, address)
        memmove(pointer(state.gpu[index]), pointer(gpu), sizeof(Gpu))
    state.gpu_count = len(addresses)


def healthy(model: Model, node: str, index: int, address: Address) -> Gpu:
    gpu = Gpu()
    _identity(gpu, model, node, index, address)
    _limits(gpu, model)
    _memory(gpu, model)
    _wires(gpu, model, node)
    gpu.inlet_celsius = INLET_CELSIUS
    gpu.temperature = round(INLET_CELSIUS) + 8
    gpu.memory_temperature = gpu.temperature + 6
    gpu.margin = model.gpu_max - gpu.temperature
    gpu.power_milliwatts = model.idle_watts * 1000
    gpu.event_reasons = GPU_IDLE
    for name in model.unsupported:
        gpu.unsupported |= 1 << CAPABILITIES.index(name)
    return gpu


def _identity(gpu: Gpu, model: Model, node: str, index: int, address: Address) -> None:
    unique = uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}.gpu{index}.twin")
    gpu.name = model.gpu_name.encode()
    gpu.uuid = f"GPU-{unique}".encode()
    gpu.serial = f"165{unique.int % 10**10:010d}".encode()
    gpu.vbios = model.vbios.encode()
    gpu.board_part = model.board_part.encode()
    gpu.inforom = model.inforom.encode()
    gpu.brand = 14
    gpu.architecture = model.architecture
    gpu.cuda_major, gpu.cuda_minor = model.compute_capability
    gpu.cores = model.cores
    gpu.minor_number = index
    gpu.module_id = index + 1
    gpu.pci_domain, gpu.pci_bus, gpu.pci_device = address.domain, address.bus, address.device
    gpu.pci_device_id = model.pci_device << 16 | 0x10DE
    gpu.pci_subsystem_id = model.pci_subsystem
    gpu.numa_node = 0 if index < model.gpus // 2 else 1


def _limits(gpu: Gpu, model: Model) -> None:
    gpu.shutdown_tlimit = model.shutdown_margin
    gpu.slowdown_tlimit = model.slowdown_margin
    gpu.threshold[0] = model.gpu_max - model.shutdown_margin
    gpu.threshold[1] = model.gpu_max - model.slowdown_margin
    gpu.threshold[2] = model.memory_max
    gpu.threshold[3] = model.gpu_max
    lowest, highest = model.power_watts
    gpu.power_min_milliwatts = lowest * 1000
    for name in ("limit", "default", "max"):
        setattr(gpu, f"power_{name}_milliwatts", highest * 1000)
    gpu.sm_clock_mhz = gpu.max_sm_clock_mhz = model.clocks[0]
    gpu.memory_clock_mhz = gpu.max_memory_clock_mhz = model.clocks[1]
    gpu.supported_event_reasons = 0x1FF
    gpu.persistence = 1
    gpu.ecc_current = gpu.ecc_pending = 1


def _memory(gpu: Gpu, model: Model) -> None:
    gpu.memory_total = model.memory_mib * MIB
    gpu.memory_reserved = model.reserved_mib * MIB
    gpu.bar1_total = model.bar1_mib * MIB
    gpu.bar1_used = 2 * MIB
    gpu.banks_max = model.banks


def _wires(gpu: Gpu, model: Model, node: str) -> None:
    gpu.pcie_generation = gpu.pcie_max_generation = model.pcie_generation
    gpu.pcie_width = gpu.pcie_max_width = 16
    gpu.c2c_links = model.c2c_links
    gpu.link_count = min(model.nvlinks, MAX_LINKS)
    for number in range(gpu.link_count):
        link = gpu.link[number]
        link.active = 1
        link.version = model.nvlink_version
        link.speed_mbps = model.nvlink_mbps
        link.remote_is_switch = 1
        link.effective_ber = link.symbol_ber = NO_BIT_ERRORS
    if model.nvlinks:
        gpu.fabric_state = FABRIC_COMPLETED
        gpu.fabric_health_mask = FABRIC_HEALTHY_MASK
        gpu.fabric_health_summary = FABRIC_HEALTHY_SUMMARY
        for position, byte in enumerate(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}.fabric.twin").bytes):
            gpu.fabric_cluster[position] = byte
