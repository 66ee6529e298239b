"""Claim: the agent's memory grows by < 5 % over 24 virtual hours of a living twin node."""

import argparse
import os
import tempfile
from pathlib import Path

from measure import HOLDFAST, one_shot, publish, rss_bytes

from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.virtual import VirtualAgent
from holdfast.lab.twin.life import tick
from holdfast.lab.twin.node import open_node

START = 1_800_000_000.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=float, default=24.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        twin = Path(scratch) / "twin"
        one_shot([HOLDFAST, "twin", "node", str(twin)])
        publish("agent_growth", live(twin, options.hours))


def live(directory: Path, hours: float) -> dict[str, float]:
    twin = open_node(directory)
    agent = VirtualAgent(load_settings(str(directory / "holdfast.toml")), START)

    def pass_time(now: float) -> None:
        if round(now) % 10 == 0:
            tick(twin, 10.0)

    agent.advance(3600.0, pass_time)
    first = rss_bytes(os.getpid())
    agent.advance((hours - 1.0) * 3600.0, pass_time)
    final = rss_bytes(os.getpid())
    return {
        "virtual_hours": hours,
        "verdict_changes": len(agent.changes),
        "rss_after_first_hour_mb": round(first / 1e6, 1),
        "rss_at_end_mb": round(final / 1e6, 1),
        "growth_ratio": round(final / first - 1, 4),
    }


if __name__ == "__main__":
    main()
