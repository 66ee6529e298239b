"""Claim: the agent at default cadence costs <= 0.5 % of a core and <= 50 MB, at most half of gcm.

The daemons run at the same time on the same living twin, so that noise and steal hit them alike; node_exporter's
scrapes and gcm's one-shots follow in the same run.
"""

import argparse
import os
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from measure import HOLDFAST, PYTHON, cpu_seconds, cpu_times, one_shot, publish, rss_bytes, running, steal_ratio

WARM_UP_SECONDS = 20.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--nvml-microseconds", type=int, default=0, help="how long every NVML call takes")
    parser.add_argument("--peers", default="", help="bin directory of a venv with gpucm installed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        name = "agent_footprint_slow_nvml" if options.nvml_microseconds else "agent_footprint"
        publish(name, measure(Path(scratch), options))


def measure(scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    twin = scratch / "twin"
    one_shot([HOLDFAST, "twin", "node", str(twin)])
    if options.nvml_microseconds:
        one_shot([HOLDFAST, "twin", "inject", str(twin), "slow_driver", "--value", str(options.nvml_microseconds)])
    library = next(twin.glob("**/libnvidia-ml.so.1"))
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
    port = 19177
    commands: dict[str, list[str]] = {
        "agent": [HOLDFAST, "agent", "--config", str(twin / "holdfast.toml")],
        "floor": [PYTHON, str(Path(__file__).with_name("floor.py")), str(library), str(twin / "sys")],
    }
    if options.peers:
        commands["gcm_monitor"] = [
            f"{options.peers}/gcm", "nvml_monitor", "--cluster", "base", "--sink", "do_nothing",
            "--collect-interval", "1", "--push-interval", "10", "--interval", "10", "--log-folder", str(scratch),
        ]  # fmt: skip
    exporter = [
        "prometheus-node-exporter", "--collector.disable-defaults", "--collector.infiniband",
        f"--path.sysfs={twin / 'sys'}", f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    figures: dict[str, Any] = {"rounds": options.rounds, "seconds": options.seconds}
    # A frozen twin would flatter the agent: it judges again only what changed.
    living = running([HOLDFAST, "twin", "tick", str(twin), "--live"])
    with living, running(commands["agent"]) as agent, running(commands["floor"]) as floor:
        others = {"agent": agent.pid, "floor": floor.pid}
        if "gcm_monitor" in commands:
            with running(commands["gcm_monitor"], env=environment) as gcm:
                watch({**others, "gcm_monitor": gcm.pid}, options, figures)
        else:
            watch(others, options, figures)
    figures["node_exporter_scrape_cpu_ms"] = scrape_cost(exporter, port)
    if options.peers:
        figures |= gcm_once(options.peers, scratch, environment)
    agent_ratio = figures["agent_cpu_ratio"]
    figures["agent_to_floor"] = round(agent_ratio / figures["floor_cpu_ratio"], 2)
    for peer in ("gcm_monitor", "gcm_once_a_minute"):
        if f"{peer}_cpu_ratio" in figures:
            figures[f"agent_to_{peer}"] = round(agent_ratio / figures[f"{peer}_cpu_ratio"], 2)
    if "gcm_monitor_rss_mb" in figures:
        figures["agent_to_gcm_monitor_rss"] = round(figures["agent_rss_mb"] / figures["gcm_monitor_rss_mb"], 2)
    return figures


def watch(pids: dict[str, int], options: argparse.Namespace, figures: dict[str, Any]) -> None:
    time.sleep(WARM_UP_SECONDS)
    shares: dict[str, list[float]] = {name: [] for name in pids}
    steal = []
    for _ in range(options.rounds):
        times, before, started = cpu_times(), {n: cpu_seconds(p) for n, p in pids.items()}, time.monotonic()
        time.sleep(options.seconds)
        passed = time.monotonic() - started
        for name, pid in pids.items():
            shares[name].append((cpu_seconds(pid) - before[name]) / passed)
        steal.append(round(steal_ratio(times, cpu_times()), 3))
    for name, pid in pids.items():
        figures[f"{name}_cpu_ratio"] = round(statistics.median(shares[name]), 5)
        figures[f"{name}_rss_mb"] = round(rss_bytes(pid) / 1e6, 1)
    figures["steal_per_round"] = steal


def scrape_cost(command: list[str], port: int, scrapes: int = 50) -> float | None:
    try:
        with running(command) as exporter:
            for _ in range(50):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2).read()
                    break
                except OSError:
                    time.sleep(0.1)
            before = cpu_seconds(exporter.pid)
            for _ in range(scrapes):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2).read()
            return round(1000 * (cpu_seconds(exporter.pid) - before) / scrapes, 2)
    except FileNotFoundError:
        return None


def gcm_once(peers: str, scratch: Path, environment: dict[str, str], runs: int = 5) -> dict[str, Any]:
    command = [
        f"{peers}/health_checks", "check-nvidia-smi", "--log-folder", str(scratch), "--sink", "stdout",
        "-c", "gpu_num", "--gpu_num", "8", "base", "nagios",
    ]  # fmt: skip
    cpu = statistics.median(one_shot(command, env=environment)[1] for _ in range(runs))
    return {"gcm_once_cpu_seconds": round(cpu, 3), "gcm_once_a_minute_cpu_ratio": round(cpu / 60, 5)}


if __name__ == "__main__":
    main()
