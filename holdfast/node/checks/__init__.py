"""All checks. To add one: its file, one line here, one test."""

from holdfast.node.checks.check import Check
from holdfast.node.checks.fabric.driver import CHECK as _fabric_driver
from holdfast.node.checks.fabric.errors import CHECK as _fabric_errors
from holdfast.node.checks.fabric.port_down import CHECK as _fabric_port_down
from holdfast.node.checks.fabric.port_rate import CHECK as _fabric_port_rate
from holdfast.node.checks.fabric.ports import CHECK as _fabric_ports
from holdfast.node.checks.gpu.clocks import CHECK as _gpu_clocks
from holdfast.node.checks.gpu.dcgm_diag import CHECK as _dcgm_diag
from holdfast.node.checks.gpu.ecc import CHECK as _gpu_ecc
from holdfast.node.checks.gpu.fabric_manager import CHECK as _gpu_fabric_manager
from holdfast.node.checks.gpu.fabric_state import CHECK as _gpu_fabric_state
from holdfast.node.checks.gpu.lost import CHECK as _gpu_lost
from holdfast.node.checks.gpu.memory_headroom import CHECK as _gpu_memory_headroom
from holdfast.node.checks.gpu.nvlink_errors import CHECK as _nvlink_errors
from holdfast.node.checks.gpu.nvlink_lanes import CHECK as _nvlink_lanes
from holdfast.node.checks.gpu.nvswitch_sxid import CHECK as _nvswitch_sxid
from holdfast.node.checks.gpu.persistence import CHECK as _gpu_persistence
from holdfast.node.checks.gpu.power import CHECK as _gpu_power
from holdfast.node.checks.gpu.recovery_action import CHECK as _gpu_recovery_action
from holdfast.node.checks.gpu.responding import CHECK as _gpu_responding
from holdfast.node.checks.gpu.rows import CHECK as _gpu_rows
from holdfast.node.checks.gpu.temperature import CHECK as _gpu_temperature
from holdfast.node.checks.gpu.thermal_gradient import CHECK as _gpu_thermal_gradient
from holdfast.node.checks.gpu.throttle import CHECK as _gpu_throttle
from holdfast.node.checks.gpu.xid import CHECK as _gpu_xid
from holdfast.node.checks.host.agent_state import CHECK as _agent_state
from holdfast.node.checks.host.clock import CHECK as _host_clock
from holdfast.node.checks.host.cpu_governor import CHECK as _host_cpu_governor
from holdfast.node.checks.host.cpu_heat import CHECK as _host_cpu_heat
from holdfast.node.checks.host.disk_errors import CHECK as _host_disk_errors
from holdfast.node.checks.host.edac import CHECK as _host_edac
from holdfast.node.checks.host.filesystem import CHECK as _host_filesystem
from holdfast.node.checks.host.lockup import CHECK as _host_lockup
from holdfast.node.checks.host.memory import CHECK as _host_memory
from holdfast.node.checks.host.memory_errors import CHECK as _host_memory_errors
from holdfast.node.checks.host.modules import CHECK as _host_modules
from holdfast.node.checks.host.oom import CHECK as _host_oom
from holdfast.node.checks.host.processes import CHECK as _host_processes
from holdfast.node.checks.host.shared_storage import CHECK as _host_shared_storage
from holdfast.node.checks.host.storage_events import CHECK as _host_storage_events
from holdfast.node.checks.job.nccl_settings import CHECK as _job_nccl_settings
from holdfast.node.checks.job.passive import CHECK as _job_passive
from holdfast.node.checks.job.slow_links import CHECK as _job_slow_links
from holdfast.node.checks.job.slow_ranks import CHECK as _job_slow_ranks
from holdfast.node.checks.job.step_time import CHECK as _job_step_time
from holdfast.node.checks.node.firmware import CHECK as _node_firmware
from holdfast.node.checks.node.inventory import CHECK as _node_inventory
from holdfast.node.checks.node.topology import CHECK as _node_topology
from holdfast.node.checks.pcie.aer import CHECK as _pcie_aer
from holdfast.node.checks.pcie.link import CHECK as _pcie_link
from holdfast.node.checks.pcie.replay import CHECK as _pcie_replay
from holdfast.node.checks.probe.burn_in import CHECK as _probe_burn_in
from holdfast.node.checks.probe.fingerprint import CHECK as _probe_fingerprint
from holdfast.node.checks.probe.host_copy import CHECK as _probe_host_copy
from holdfast.node.checks.probe.memory import CHECK as _probe_memory
from holdfast.node.checks.probe.node_collective import CHECK as _probe_node_collective
from holdfast.node.checks.probe.peer_copy import CHECK as _probe_peer_copy
from holdfast.node.checks.probe.rdma_loopback import CHECK as _probe_rdma_loopback
from holdfast.node.checks.sweep.bandwidth import CHECK as _sweep_bandwidth
from holdfast.node.checks.sweep.baseline import CHECK as _sweep_baseline
from holdfast.node.checks.sweep.latency import CHECK as _sweep_latency
from holdfast.node.checks.sweep.steps import CHECK as _sweep_steps

ALL: tuple[Check, ...] = tuple(found for found in list(globals().values()) if isinstance(found, Check))
"""The checks imported above: the import is the one line that adds a check."""

BY_NAME = {check.name: check for check in ALL}

PARTS = frozenset(check.part for check in ALL)
"""The hardware parts checks ask about: what a manifest may say that a node lacks."""

OF_THE_AGENT = ("agent.state",)
"""Asked by a running agent of itself, in every stage."""

_BOOTSTRAP_ONLY = (
    *(check.name for check in ALL if check.part == "probes"),
    "probe.rdma_loopback",
    "dcgm.diag",
    "fabric.ports",
    "gpu.memory_headroom",
    "node.firmware",
    "node.inventory",
    "node.topology",
)
_PASSIVE_ONLY = (
    "fabric.errors",
    "fabric.port_down",
    "host.lockup",
    "host.oom",
    "host.storage_events",
    "job.nccl_settings",
    "pcie.replay",
)

OF_A_SWEEP = tuple(check.name for check in ALL if check.part == "sweep")
"""Asked of what several nodes measured together, by `holdfast probe run`."""

OF_A_JOB = tuple(check.name for check in ALL if check.scope == "job")
"""Asked by the controller of what the ranks of a training tell, or the GPUs under them."""

_NOT_OF_A_NODE = (*OF_THE_AGENT, *OF_A_SWEEP, *OF_A_JOB)

STAGES: dict[str, tuple[str, ...]] = {
    "passive": tuple(check.name for check in ALL if check.name not in (*_BOOTSTRAP_ONLY, *_NOT_OF_A_NODE)),
    "bootstrap": tuple(check.name for check in ALL if check.name not in (*_PASSIVE_ONLY, *_NOT_OF_A_NODE)),
}
"""Which checks a stage asks by default; `[stages]` in the configuration says otherwise."""
