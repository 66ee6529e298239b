"""Signals of a plant and their subjects, with the names of real sources."""

from holdfast.lab.twin.plant.layout import Layout

OF = {
    "rooms": ("ambient_celsius",),
    "cdus": ("cdu_flow_litres_per_minute", "cdu_supply_celsius", "cdu_return_celsius", "cdu_pump_speed_ratio",
             "cdu_differential_pressure_pascals"),
    "racks": ("rack_inlet_celsius", "rack_flow_litres_per_minute", "rack_power_watts", "rack_power_limit_watts"),
    "feeds": ("feed_voltage_volts", "feed_power_limit_watts"),
    "psus": ("psu_healthy", "psu_output_watts"),
    "nodes": ("node_power_watts", "node_inlet_celsius", "fan_speed_ratio"),
    "gpus": ("gpu_temperature_celsius", "gpu_clock_sm_hertz", "gpu_clock_event_reasons", "gpu_power_watts",
             "gpu_power_limit_watts", "gpu_utilization_ratio"),
    "ports": ("port_xmit_wait_ratio", "port_bandwidth_bytes_per_second"),
    "links": ("link_bandwidth_bytes_per_second", "link_utilization_ratio", "link_congestion_ratio",
              "link_errors_per_second"),
    "storages": ("storage_latency_seconds", "storage_metadata_seconds", "storage_write_bytes_per_second",
                 "storage_used_ratio"),
    "jobs": ("job_step_seconds", "job_throughput_ratio", "job_collective_seconds", "job_checkpoint_seconds",
             "job_checkpoint_interval_seconds", "job_restart_seconds"),
    "ranks": ("rank_compute_seconds", "rank_data_seconds", "rank_wait_seconds", "rank_checkpoint_seconds"),
    "paths": ("pool_transfer_seconds", "pool_routing_share", "pool_stall_ratio", "request_latency_seconds"),
}  # fmt: skip


def subjects(layout: Layout) -> dict[str, tuple[str, ...]]:
    """Subjects by signal; signals without a subject in this layout are left out."""
    who = {
        **{name: getattr(layout, name) for name in OF if name not in ("storages", "jobs", "ranks", "paths")},
        "storages": tuple(f"storage/{name}" for name in layout.storages),
        "jobs": tuple(f"job/{spec.name}" for spec in layout.jobs),
        "ranks": tuple(
            f"job/{spec.name}/rank/{rank}"
            for spec in layout.jobs
            for rank in range(len(spec.nodes) * layout.fleet.gpus_per_node)
        ),
        "paths": layout.serving.paths if layout.serving else (),
    }
    return {signal: who[name] for name, signals in OF.items() for signal in signals if who[name]}
