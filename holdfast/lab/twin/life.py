"""Time on a simulated node: traffic, heat, energy and noise, reproducible by seed."""

import random

from holdfast.lab.twin import procfs
from holdfast.lab.twin.hardware import Model
from holdfast.lab.twin.node import TwinNode
from holdfast.lab.twin.nvml.layout import Gpu
from holdfast.lab.twin.sysfs_infiniband import ACTIVE, TwinRdmaPort
from holdfast.lab.twin.tree import write_in_place

IDLE_REASON = 0x1
FULL_LOAD_SHARE = 0.92  # share of the power limit that a training job draws
CORE_RISE_CELSIUS = (8.0, 32.0)  # degrees above the inlet when idle, and in addition at full load
MEMORY_RISE_CELSIUS = (6.0, 8.0)  # degrees above the core
REPLAYS_PER_HOUR = 1.0
IDLE_BYTES_PER_SECOND = 2_000.0
BUSY_SHARE_OF_LINE_RATE = 0.4
BYTES_PER_PACKET = 4096
WORD_BYTES = 4  # port_*_data counts words of four bytes


def tick(node: TwinNode, seconds: float, seed: int = 0) -> None:
    """Advances time. Counters grow, temperatures and power vary a little; nothing breaks."""
    uptime = _uptime(node) + seconds
    rng = random.Random(f"{seed}/{node.name}/{uptime:.3f}")
    for index in range(node.state.gpu_count):
        gpu = node.state.gpu[index]
        _work(gpu, seconds, rng)
        settle(gpu, node.model, noise_celsius=rng.uniform(-0.8, 0.8), noise_watts=rng.uniform(-4, 4))
    for rail, port in enumerate(node.ports()):
        load = node.state.gpu[rail].load if rail < node.state.gpu_count else 0.0
        _traffic(node, port, load, seconds, rng)
    write_in_place(node.proc.root / "uptime", procfs.uptime_text(uptime, node.model))
    write_in_place(node.proc.root / "stat", procfs.stat_text(node.model, node.boot_time, uptime))


def settle(gpu: Gpu, model: Model, noise_celsius: float = 0.0, noise_watts: float = 0.0) -> None:
    """Sets temperatures, power and utilization from load, inlet and any injected offset."""
    highest = model.power_watts[1] * FULL_LOAD_SHARE
    watts = model.idle_watts + gpu.load * (highest - model.idle_watts) + noise_watts
    core = gpu.inlet_celsius + CORE_RISE_CELSIUS[0] + gpu.load * CORE_RISE_CELSIUS[1] + gpu.core_excess_celsius
    memory = core + MEMORY_RISE_CELSIUS[0] + gpu.load * MEMORY_RISE_CELSIUS[1] + gpu.memory_excess_celsius
    gpu.power_milliwatts = round(watts * 1000)
    gpu.temperature = round(core + noise_celsius)
    gpu.memory_temperature = round(memory + noise_celsius)
    gpu.margin = model.gpu_max - gpu.temperature
    gpu.gpu_utilization = round(100 * gpu.load)
    gpu.memory_utilization = round(45 * gpu.load)
    gpu.event_reasons = gpu.event_reasons & ~IDLE_REASON | (0 if gpu.load else IDLE_REASON)


def _work(gpu: Gpu, seconds: float, rng: random.Random) -> None:
    gpu.energy_millijoules += round(gpu.power_milliwatts * seconds)
    if rng.random() < REPLAYS_PER_HOUR * seconds / 3600:
        gpu.pcie_replays += 1
    gpu.pcie_sent_kilobytes_per_second = round(gpu.load * 9_000_000)
    gpu.pcie_received_kilobytes_per_second = round(gpu.load * 4_000_000)
    for number in range(gpu.link_count):
        link = gpu.link[number]
        if link.active:
            moved = round(gpu.load * link.speed_mbps * 1_000_000 / 8 * BUSY_SHARE_OF_LINE_RATE * seconds)
            link.sent_bytes += moved
            link.received_bytes += moved


def _traffic(node: TwinNode, port: TwinRdmaPort, load: float, seconds: float, rng: random.Random) -> None:
    here = node.sys.root / port.path
    try:
        if (here / "state").read_text(encoding="ascii") != ACTIVE:
            return
    except FileNotFoundError:
        return  # the device was removed
    if port.driver != "mlx5":
        return  # its bytes are not simulated
    line_rate = float(port.rate.split()[0]) * 1e9 / 8
    for way in ("xmit", "rcv"):
        share = load * BUSY_SHARE_OF_LINE_RATE * rng.uniform(0.9, 1.1)
        moved = (share * line_rate + IDLE_BYTES_PER_SECOND) * seconds
        _add(node, f"{port.path}/counters/port_{way}_data", moved / WORD_BYTES)
        _add(node, f"{port.path}/counters/port_{way}_packets", moved / BYTES_PER_PACKET)
        _add(node, f"{port.path}/counters/unicast_{way}_packets", moved / BYTES_PER_PACKET)
        _add(node, f"{port.interface_path}/statistics/{'tx' if way == 'xmit' else 'rx'}_bytes", 800 * seconds)
    _add(node, f"{port.path}/counters/port_xmit_wait", load * 1000 * seconds)
    _add(node, f"{port.path}/hw_counters/rx_write_requests", load * 20_000 * seconds)


def _add(node: TwinNode, path: str, amount: float) -> None:
    file = node.sys.root / path
    write_in_place(file, f"{int(file.read_text(encoding='ascii')) + round(amount)}\n")


def _uptime(node: TwinNode) -> float:
    return float((node.proc.root / "uptime").read_text(encoding="ascii").split()[0])
