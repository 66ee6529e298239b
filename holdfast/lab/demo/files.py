"""The files of a demo: its policy, what its building consists of, its prices and dates."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.fleet.controller import bootstrap
from holdfast.fleet.controller.seam_settings import SeamSettings
from holdfast.lab.twin.fleet.kinds import scenario
from holdfast.lab.twin.fleet.site import topology

SCENARIO = "demo"
POLICY = """# The demo's policy: actions are carried out, on simulated nodes.
dry_run = false
breaker_share = 0.15
[probes]
enabled = true
period_hours = 0.1
minutes_per_day = 1000.0
patience_seconds = 600.0
"""
PROGRAMME = """# What the demo's incidents are priced with; all of it is made up.
horizon_hours = 24
[prices]
gpu_hour = 2.35
alternative_gpu_hour = 3.10
queued_chance = 0.6
wage = 140.0
people = 2.0
people_hours = 2.0
[[milestone]]
name = "release"
due = {due:%Y-%m-%dT00:00:00Z}
value_per_day = 180000
critical_chance = 0.8
[[job]]
name = "llama-70b"
milestone = "release"
tokens_per_second = 890000
[on_call]
facilities = "Ada, pager 41"
training = "Grace, pager 17"
network = "Radia, pager 23"
hardware = "Lynn, pager 8"
"""
DAYS_TO_THE_DATE = 45
SEVERAL_NODES = 500
LOOK_SECONDS, CLOSE_SECONDS = 30.0, 300.0


def write(state: Path, nodes: int) -> None:
    """A policy that somebody changed stays; the rest belongs to this fleet."""
    due = datetime.fromtimestamp(time.time(), UTC) + timedelta(days=DAYS_TO_THE_DATE)
    if not (state / "policy.toml").exists():
        bootstrap.write_private(state / "policy.toml", POLICY)
    bootstrap.write_private(state / "topology.toml", topology(scenario(SCENARIO), nodes))
    bootstrap.write_private(state / "programme.toml", PROGRAMME.format(due=due))


def seams(state: Path, nodes: int) -> SeamSettings:
    """Of thousands of nodes a look takes seconds, and the demo's time runs faster than the clock: fewer looks then."""
    look = LOOK_SECONDS * max(1.0, nodes / SEVERAL_NODES)
    return SeamSettings(
        topology=str(state / "topology.toml"),
        programme=str(state / "programme.toml"),
        look_seconds=look,
        close_seconds=max(CLOSE_SECONDS, look),
    )
