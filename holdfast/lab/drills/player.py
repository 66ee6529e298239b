"""Plays a shipped drill and prints a JSON line for each step: `python -m holdfast.lab.drills.player NAME [SEED]`.

Lines with a share report progress. The last line is the outcome: the output of `holdfast drill run --json`, and for
each minute the findings, the teams' dashboards and the speed of the jobs.
"""

import json
import resource
import sys
from typing import Any

import numpy as np

from holdfast.lab.drills.dashboards import Shown, dashboards
from holdfast.lab.drills.file import load
from holdfast.lab.drills.score import ScoredMoment
from holdfast.lab.drills.stage import Staged, stage
from holdfast.model.panel import Panel

MOST_SECONDS = 600  # CPU seconds
MOST_BYTES = 8 << 30
MOST_SHOWN = 12
MOST_POINTS = 180
SPEEDS = {"job_throughput_ratio": "of its usual speed", "pool_stall_ratio": "stalled"}


def main(name: str, seed: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    staged = stage(load(name, seed), lambda share: _print({"share": share}))
    _print(
        {
            **staged.document(),
            "about": staged.drill.about,
            "lasts_seconds": staged.drill.lasts,
            "nodes": staged.drill.layout.fleet.nodes,
            "moments": [_moment(staged, judged) for judged in staged.judged],
            "speeds": _speeds(staged),
        }
    )


def _moment(staged: Staged, judged: ScoredMoment) -> dict[str, Any]:
    shown = sorted(dashboards(staged.panel.until(judged.at)), key=lambda one: -one.changed)[:MOST_SHOWN]
    return {
        "at_seconds": judged.at,
        "findings": [
            {"cause": one.cause, "kind": one.kind, "confidence": round(one.confidence, 3)} for one in judged.findings
        ],
        "dashboards": [_shown(one) for one in shown],
    }


def _shown(one: Shown) -> dict[str, Any]:
    return {
        "team": one.team, "label": one.label, "subject": one.subject, "unit": one.unit,
        "now": _number(one.now), "usual": _number(one.usual), "changed": round(one.changed, 4),
    }  # fmt: skip


def _speeds(staged: Staged) -> list[dict[str, Any]]:
    """Speed of each job and stall of each pool, with and without the faults."""
    found = []
    for signal, words in SPEEDS.items():
        for subject in staged.panel.of(signal).subjects:
            for panel, whose in ((staged.panel, ""), (staged.healthy, " without the fault")):
                found.append({"name": f"{subject} {words}{whose}", "points": _points(panel, signal, subject)})
    return found


def _points(panel: Panel, signal: str, subject: str) -> list[tuple[float, float]]:
    row = panel.row(signal, subject)
    if row is None:
        return []
    few = max(1, len(row) // MOST_POINTS)
    return [
        (float(at) / 60, round(float(value), 4))
        for at, value in zip(panel.times[::few], row[::few], strict=True)
        if at >= 0 and np.isfinite(value)
    ]


def _number(value: float) -> float | None:
    return float(f"{value:.5g}") if np.isfinite(value) else None


def _print(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
