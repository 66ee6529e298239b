"""The active probes of a node in run order, and the signals of each. Importable without torch."""

PROBES: dict[str, tuple[str, ...]] = {
    "burn_in": (
        "probe_burn_in_fp32_flops_per_second",
        "probe_burn_in_fp16_flops_per_second",
        "probe_burn_in_bf16_flops_per_second",
        "probe_burn_in_wrong_steps",
    ),
    "memory": ("probe_memory_bytes_per_second", "probe_memory_tested_bytes", "probe_memory_wrong_words"),
    "host_copy": (
        "probe_host_copy_to_device_bytes_per_second",
        "probe_host_copy_from_device_bytes_per_second",
        "probe_host_copy_wrong",
    ),
    "fingerprint": (
        "probe_fingerprint",
        "probe_fingerprint_key",
        "probe_fingerprint_repeats",
        "probe_fingerprint_unstable",
    ),
    "peer_copy": (
        "probe_peer_copy_bytes_per_second",
        "probe_peer_copy_latency_seconds",
        "probe_peer_copy_wrong",
    ),
    "node_collective": (
        "probe_collective_busbw_bytes_per_second",
        "probe_collective_ranks",
        "probe_collective_wrong_sizes",
        "probe_collective_wrong_from",
    ),
    "rdma_loopback": ("probe_rdma_loopback_bytes_per_second",),
}

DEVICE = "probe_device"
"""Signal with the devices that the probes used: cuda, cpu, or cpu in place of simulated GPUs."""

STAND_IN = "cpu in place of simulated GPUs"


def seconds_name(probe: str) -> str:
    """Name of the signal with a probe's duration, set-up included."""
    return f"probe_{probe}_seconds"
