"""All benches of the node agent in one run, as one table: figure, target, and the ratio to peer or floor."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

ROWS = (
    ("agent CPU", "{agent_cpu_ratio:.2%} of a core", "<= 0.5 %", "{agent_to_floor} x bare loop ({floor_cpu_ratio:.2%})"),
    ("  vs. gcm nvml_monitor", "{agent_to_gcm_monitor} x its CPU", "<= 0.5 x", "gcm {gcm_monitor_cpu_ratio:.2%}"),
    ("  vs. gcm once a minute", "{agent_to_gcm_once_a_minute} x its CPU", "<= 0.5 x", "gcm {gcm_once_a_minute_cpu_ratio:.2%}"),
    ("agent RSS", "{agent_rss_mb} MB", "<= 50 MB", "bare loop {floor_rss_mb} MB"),
    ("  vs. gcm nvml_monitor", "{agent_to_gcm_monitor_rss} x its RSS", "", "gcm {gcm_monitor_rss_mb} MB"),
    ("RSS growth, {virtual_hours:g} virtual h", "{growth_ratio:+.1%}", "< 5 %", "{rss_at_end_mb} MB at the end"),
    ("node_exporter, same sysfs", "{node_exporter_scrape_cpu_ms} ms CPU a scrape", "", "InfiniBand collector only"),
    ("kernel line to verdict, p99", "{kernel_line_p99_ms} ms", "<= 100 ms", "p50 {kernel_line_p50_ms} ms"),
    ("port down announced after", "{port_down_announced_seconds} s", "before the deadline", ""),
    ("presumed lost, after deadline", "{presumed_lost_after_deadline_seconds} s", "<= 1.2 s", ""),
    ("gate, wall", "{gate_wall_ms} ms, p95 {gate_wall_p95_ms}", "<= 50 ms", "{gate_to_interpreter} x bare interpreter"),
    ("check --stage passive, cold", "{check_passive_wall_ms} ms", "<= 1000 ms", ""),
)  # fmt: skip


def run(script: str, *arguments: str) -> dict[str, Any]:
    sys.stderr.write(f"== bench/{script} {' '.join(arguments)}\n")
    done = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        raise SystemExit(f"bench/{script} failed")
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def main() -> None:
    peers = ["--peers", sys.argv[1]] if len(sys.argv) > 1 else []
    figures = run("agent_footprint.py", *peers)
    for script in ("agent_growth.py", "reaction.py", "commands.py"):
        figures |= run(script)
    rows = [tuple(cell.format(**figures) for cell in row) for row in ROWS if _known(row, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    steal = ", ".join(f"{share:.1%}" for share in figures["steal_per_round"])
    print(f"steal per round of the footprint run: {steal}")


def _known(row: tuple[str, ...], figures: dict[str, Any]) -> bool:
    """Rows of a peer that is not installed are left out rather than invented."""
    try:
        return all(cell.format(**figures) is not None for cell in row)
    except KeyError:
        return False


if __name__ == "__main__":
    main()
