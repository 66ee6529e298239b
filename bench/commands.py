"""Claims: the gate answers in <= 50 ms wall; `holdfast check --stage passive` cold takes <= 1 s.

Floors measured in the same run: an interpreter that does nothing, and one that starts NVML.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import HOLDFAST, PYTHON, one_shot, publish, quantile


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        publish("commands", measure(Path(scratch), options.runs))


def measure(scratch: Path, runs: int) -> dict[str, Any]:
    twin = scratch / "twin"
    one_shot([HOLDFAST, "twin", "node", str(twin)])
    verdict = scratch / "verdict.json"
    document = {
        "format": 1,
        "node": "n",
        "at": time.time() + 1,
        "stage": "passive",
        "health": "pass",
        "reason": "",
        "twin": False,
        "verdicts": [],
    }
    verdict.write_text(json.dumps(document))
    commands = {
        "gate": [HOLDFAST, "gate", "--max-age", "3600", "--file", str(verdict)],
        "interpreter": [PYTHON, "-c", "pass"],
        "check_passive": [HOLDFAST, "check", "--stage", "passive", "--json", "--config", str(twin / "holdfast.toml")],
    }
    walls: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(runs):
        for name, command in commands.items():
            if name != "check_passive" or number < max(5, runs // 3):
                walls[name].append(one_shot(command)[0])
    figures: dict[str, Any] = {"runs": runs}
    for name, seen in walls.items():
        figures[f"{name}_wall_ms"] = round(1000 * statistics.median(seen), 1)
        figures[f"{name}_wall_p95_ms"] = round(1000 * quantile(seen, 0.95), 1)
    figures["gate_to_interpreter"] = round(figures["gate_wall_ms"] / figures["interpreter_wall_ms"], 2)
    return figures


if __name__ == "__main__":
    main()
