"""Claim: the agent's memory grows by < 5 % over 24 virtual hours of a living twin node with faults coming and going."""

import argparse
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from measure import HOLDFAST, one_shot, publish, rss_bytes

from holdfast.agent.assemble import census, load_settings, questions, sources
from holdfast.agent.node import Node
from holdfast.agent.once import prepare
from holdfast.agent.runner import read_guarded
from holdfast.twin.live import tick

START = 1_800_000_000.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=float, default=24.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        twin = Path(scratch) / "twin"
        one_shot([HOLDFAST, "twin", "node", str(twin)])
        publish("agent_growth", live(twin, options.hours))


def live(twin: Path, hours: float) -> dict[str, float]:
    settings = load_settings(str(twin / "holdfast.toml"))
    settings = replace(settings, agent=replace(settings.agent, state_dir=str(twin / "state")))
    node = Node(census(settings), questions(settings, "passive"))
    chosen = sources(settings, "passive")
    prepare(node, chosen)
    due = {source.name: START for source in chosen}
    after_first_hour = 0
    judged = 0
    for second in range(int(hours * 3600)):
        now = START + second
        if second % 10 == 0:
            tick(twin, 10.0)
        for source in chosen:
            if due[source.name] <= now:
                due[source.name] = now + source.every
                node.take(read_guarded(source, now))
        judged += len(node.judge(now))
        if second == 3600:
            after_first_hour = rss_bytes(os.getpid())
    final = rss_bytes(os.getpid())
    return {
        "virtual_hours": hours,
        "verdict_changes": judged,
        "rss_after_first_hour_mb": round(after_first_hour / 1e6, 1),
        "rss_at_end_mb": round(final / 1e6, 1),
        "growth_ratio": round(final / after_first_hour - 1, 4) if after_first_hour else 0.0,
    }


if __name__ == "__main__":
    main()
