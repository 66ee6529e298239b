"""Every question Holdfast asks. To add one: its file, one line here, one test."""

from holdfast.checks.agent_state import CHECK as _agent_state
from holdfast.checks.check import Check
from holdfast.checks.dcgm_diag import CHECK as _dcgm_diag
from holdfast.checks.fabric_driver import CHECK as _fabric_driver
from holdfast.checks.fabric_errors import CHECK as _fabric_errors
from holdfast.checks.fabric_port_down import CHECK as _fabric_port_down
from holdfast.checks.fabric_port_rate import CHECK as _fabric_port_rate
from holdfast.checks.fabric_ports import CHECK as _fabric_ports
from holdfast.checks.gpu_clocks import CHECK as _gpu_clocks
from holdfast.checks.gpu_ecc import CHECK as _gpu_ecc
from holdfast.checks.gpu_fabric_manager import CHECK as _gpu_fabric_manager
from holdfast.checks.gpu_fabric_state import CHECK as _gpu_fabric_state
from holdfast.checks.gpu_lost import CHECK as _gpu_lost
from holdfast.checks.gpu_memory_headroom import CHECK as _gpu_memory_headroom
from holdfast.checks.gpu_persistence import CHECK as _gpu_persistence
from holdfast.checks.gpu_power import CHECK as _gpu_power
from holdfast.checks.gpu_recovery_action import CHECK as _gpu_recovery_action
from holdfast.checks.gpu_rows import CHECK as _gpu_rows
from holdfast.checks.gpu_temperature import CHECK as _gpu_temperature
from holdfast.checks.gpu_thermal_gradient import CHECK as _gpu_thermal_gradient
from holdfast.checks.gpu_throttle import CHECK as _gpu_throttle
from holdfast.checks.gpu_xid import CHECK as _gpu_xid
from holdfast.checks.host_clock import CHECK as _host_clock
from holdfast.checks.host_cpu_governor import CHECK as _host_cpu_governor
from holdfast.checks.host_cpu_heat import CHECK as _host_cpu_heat
from holdfast.checks.host_disk_errors import CHECK as _host_disk_errors
from holdfast.checks.host_edac import CHECK as _host_edac
from holdfast.checks.host_filesystem import CHECK as _host_filesystem
from holdfast.checks.host_lockup import CHECK as _host_lockup
from holdfast.checks.host_memory import CHECK as _host_memory
from holdfast.checks.host_memory_errors import CHECK as _host_memory_errors
from holdfast.checks.host_modules import CHECK as _host_modules
from holdfast.checks.host_oom import CHECK as _host_oom
from holdfast.checks.host_processes import CHECK as _host_processes
from holdfast.checks.host_shared_storage import CHECK as _host_shared_storage
from holdfast.checks.host_storage_events import CHECK as _host_storage_events
from holdfast.checks.job_nccl_settings import CHECK as _job_nccl_settings
from holdfast.checks.job_pace import CHECK as _job_pace
from holdfast.checks.job_passive import CHECK as _job_passive
from holdfast.checks.job_slow_links import CHECK as _job_slow_links
from holdfast.checks.job_slow_ranks import CHECK as _job_slow_ranks
from holdfast.checks.node_firmware import CHECK as _node_firmware
from holdfast.checks.node_inventory import CHECK as _node_inventory
from holdfast.checks.node_topology import CHECK as _node_topology
from holdfast.checks.nvlink_errors import CHECK as _nvlink_errors
from holdfast.checks.nvlink_lanes import CHECK as _nvlink_lanes
from holdfast.checks.nvswitch_sxid import CHECK as _nvswitch_sxid
from holdfast.checks.pcie_aer import CHECK as _pcie_aer
from holdfast.checks.pcie_link import CHECK as _pcie_link
from holdfast.checks.pcie_replay import CHECK as _pcie_replay
from holdfast.checks.probe_burn_in import CHECK as _probe_burn_in
from holdfast.checks.probe_fingerprint import CHECK as _probe_fingerprint
from holdfast.checks.probe_host_copy import CHECK as _probe_host_copy
from holdfast.checks.probe_memory import CHECK as _probe_memory
from holdfast.checks.probe_node_collective import CHECK as _probe_node_collective
from holdfast.checks.probe_peer_copy import CHECK as _probe_peer_copy
from holdfast.checks.probe_rdma_loopback import CHECK as _probe_rdma_loopback
from holdfast.checks.sweep_bandwidth import CHECK as _sweep_bandwidth
from holdfast.checks.sweep_baseline import CHECK as _sweep_baseline
from holdfast.checks.sweep_latency import CHECK as _sweep_latency
from holdfast.checks.sweep_steps import CHECK as _sweep_steps

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
