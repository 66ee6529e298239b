"""Effects of each domain: signal families, and the topology edges along which they travel."""

WORK = frozenset({"step", "throughput", "collective", "wait", "latency", "stall", "transfer", "checkpoint"})
"""Families that show an effect on a job or a pool, from any cause."""

REASONS = "gpu_clock_event_reasons"
HELD_BACK = "held_back"
"""Clock event reasons that only power causes, as bits of NVML: the power limit (4) and the power brake (128)."""
HELD_BACK_BITS = 4 | 128
FAN_FAILS = "fan_fails"
"""A falling fan speed. It is never an effect of another fault."""
HEAT = frozenset({REASONS, "heat", "clock", "gpu_power", "node_power", "rack_power", "fan", "compute", "utilization"})
COOLING = HEAT | WORK | frozenset({"inlet", "rack_flow", "supply", "return", "flow", "pressure", "pump"})
POWER = WORK | frozenset(
    {
        REASONS,
        HELD_BACK,
        "power_brake",
        "clock",
        "gpu_power",
        "node_power",
        "rack_power",
        "limit",
        "psu",
        "psu_output",
        "feed",
        "compute",
        "utilization",
    }
)
FABRIC = WORK | frozenset(
    {"bandwidth", "congestion", "link_errors", "link_use", "port_wait", "port_bandwidth", "utilization"}
)
POOLS = frozenset({"transfer", "share", "latency", "stall", "congestion", "link_use"})
STORAGE = WORK | frozenset({"storage_write", "storage_latency", "metadata", "storage_used", "data", "rank_checkpoint"})
DEVICE = WORK | frozenset(
    {REASONS, "compute", "clock", "heat", "gpu_power", "node_power", "utilization", "fan", "data"}
)

COOLS = ("cools", "runs_on", "feeds", "blocks")
POWERS = ("powers", "runs_on", "feeds", "blocks")
CONNECTS = ("connects", "runs_on", "feeds", "blocks")
STORES = ("checkpoints_to", "feeds", "blocks")
CARRIES = ("runs_on", "feeds", "blocks")

NEEDING_A_CAUSE = (
    "gpu_temperature_celsius",
    "gpu_clock_sm_hertz",
    "job_step_seconds",
    "job_throughput_ratio",
    "job_collective_seconds",
    "job_checkpoint_seconds",
    "rank_compute_seconds",
    "pool_transfer_seconds",
    "request_latency_seconds",
    "pool_stall_ratio",
)
"""Signals whose changes need a cause."""
