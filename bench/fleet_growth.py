"""How the controller's cost grows with the fleet: a short run per size, one table, and the plot in docs/scale.svg."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from measure import PYTHON, RESULTS
from plot import Panel, draw

HERE = Path(__file__).parent
PLOT = HERE.parent / "docs" / "scale.svg"
SIZES = (1_000, 2_000, 4_000, 8_000, 12_500)


def measure(nodes: int, seconds: float) -> None:
    sys.stderr.write(f"== {nodes} nodes for {seconds:g} s\n")
    command = [PYTHON, str(HERE / "fleet_scale.py"), "--nodes", str(nodes), "--seconds", str(seconds)]
    subprocess.run([*command, "--saturate", "0", "--name", name(nodes)], check=True, stdout=subprocess.DEVNULL)


def name(nodes: int) -> str:
    return f"growth_{nodes}"


def kept() -> list[dict[str, Any]]:
    files = [RESULTS / f"{name(nodes)}.json" for nodes in SIZES]
    return [json.loads(file.read_text()) for file in files if file.exists()]


def table(rows: list[dict[str, Any]]) -> None:
    print("  nodes  reports/s  CPU s/min  database  peak MB  p50 ms  p99 ms  date")
    for row in rows:
        print(
            f"{row['nodes']:>7} {row['reports_per_second']:>10} {row['controller_cpu_seconds_per_minute']:>10} "
            f"{row['database_cpu_seconds_per_minute']:>9} {row['controller_peak_mb']:>8} "
            f"{row['ingest']['p50_ms']:>7} {row['ingest']['p99_ms']:>7}  {row['date']}"
        )


def plot(rows: list[dict[str, Any]]) -> None:
    nodes = [row["nodes"] for row in rows]
    panels = [
        Panel("CPU seconds a minute, controller", nodes, [row["controller_cpu_seconds_per_minute"] for row in rows]),
        Panel("peak memory, MB", nodes, [row["controller_peak_mb"] for row in rows]),
        Panel("p99 of a report's acknowledgement, ms", nodes, [row["ingest"]["p99_ms"] for row in rows]),
    ]
    PLOT.write_text(draw("The controller's cost against the size of the fleet (nodes)", panels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--only", type=int, choices=SIZES, help="measure this size alone")
    parser.add_argument("--table", action="store_true", help="measure nothing: table and plot from the kept results")
    options = parser.parse_args()
    if not options.table:
        for nodes in [options.only] if options.only else SIZES:
            measure(nodes, options.seconds)
    rows = kept()
    if not rows:
        raise SystemExit("nothing is kept yet: run it without --table first")
    table(rows)
    plot(rows)


if __name__ == "__main__":
    main()
