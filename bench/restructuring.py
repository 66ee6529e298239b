"""Cost of agent, controller and diagnose before and after the restructuring of decision 0011, in turns in one run.

Both commits are checked out into temporary worktrees, and each runs its own benches with this Python. `diagnose` of
both reads the same log. The later commit has more checks, rules and formats: the ratio is the price of all changes
since, not of the layout alone."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diagnose import write_log
from measure import HOLDFAST, PYTHON, cpu_times, one_shot, publish, steal_ratio

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "afc8a671"  # the last commit with the old tree
AGENT = ("agent_footprint.py", "--rounds", "1")
PARTS = ("agent", "controller", "diagnose")
CONTROLLER = ("fleet_scale.py", "--engine", "sqlite", "--name", "restructuring")


@contextmanager
def checkout(ref: str, folder: Path) -> Iterator[Path]:
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder, ref], cwd=ROOT, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)


def revision(ref: str) -> str:
    return subprocess.check_output(["git", "rev-parse", "--short", ref], cwd=ROOT, text=True).strip()


def environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree)}


def bench(tree: Path, script: str, *options: str) -> dict[str, Any]:
    """The line of JSON that a bench prints last."""
    command = [PYTHON, str(tree / "bench" / script), *options]
    done = subprocess.run(command, cwd=tree, env=environment(tree), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{script} of {tree.name} ended with {done.returncode}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def agent(tree: Path, seconds: float) -> dict[str, float]:
    figures = bench(tree, *AGENT, "--seconds", str(seconds))
    return {"agent_cpu_to_floor": figures["agent_to_floor"], "agent_rss_mb": figures["agent_rss_mb"]}


def controller(tree: Path, seconds: float, nodes: int) -> dict[str, float]:
    figures = bench(tree, *CONTROLLER, "--nodes", str(nodes), "--seconds", str(seconds), "--saturate", "10")
    return {
        "controller_cpu_seconds_per_minute": figures["controller_cpu_seconds_per_minute"],
        "controller_peak_mb": figures["controller_peak_mb"],
        "controller_most_to_floor": figures["most_to_floor"],
        "controller_ingest_p50_ms": figures["ingest"]["p50_ms"],
    }


def diagnose(tree: Path, log: Path) -> dict[str, float]:
    _, cpu, peak = one_shot([HOLDFAST, "diagnose", "--json", str(log)], env=environment(tree))
    return {"diagnose_cpu_seconds": cpu, "diagnose_peak_mb": peak / 1e6}


def turn(tree: Path, log: Path, options: argparse.Namespace) -> dict[str, float]:
    parts = {
        "agent": lambda: agent(tree, options.seconds),
        "controller": lambda: controller(tree, options.seconds, options.nodes),
        "diagnose": lambda: diagnose(tree, log),
    }
    return {name: value for part in options.only for name, value in parts[part]().items()}


def compare(runs: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name in runs["before"][0]:
        before, after = (sorted(run[name] for run in runs[tree]) for tree in ("before", "after"))
        figures[name] = {
            "before": [round(value, 3) for value in before],
            "after": [round(value, 3) for value in after],
            "ratio": round(statistics.median(after) / statistics.median(before), 2),
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default=BEFORE)
    parser.add_argument("--after", default="HEAD")
    parser.add_argument("--name", default="restructuring", help="name of the file with the results")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each run of agent and controller")
    parser.add_argument("--nodes", type=int, default=300, help="that report to the controller")
    parser.add_argument("--megabytes", type=int, default=100, help="size of the log that diagnose reads")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to measure")
    options = parser.parse_args()
    times, after = cpu_times(), revision(options.after)  # a branch may move while this runs
    runs: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_log(folder / "mixed.log", options.megabytes)
        with checkout(options.before, folder / "before") as old, checkout(after, folder / "after") as new:
            for number in range(options.rounds):
                for tree in (old, new) if number % 2 == 0 else (new, old):
                    runs[tree.name].append(turn(tree, folder / "mixed.log", options))
    publish(
        options.name,
        {
            "before": options.before,
            "after": after,
            "rounds": options.rounds,
            "nodes": options.nodes,
            "log_megabytes": options.megabytes,
            "load_average": round(os.getloadavg()[2], 1),
            "steal": round(steal_ratio(times, cpu_times()), 3),
            **compare(runs),
        },
    )


if __name__ == "__main__":
    main()
