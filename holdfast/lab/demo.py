"""Files of a demo: policy, topology, prices and milestones."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.fleet.controller import bootstrap
from holdfast.fleet.controller.seams.settings import SeamSettings
from holdfast.lab.twin.fleet.kinds import scenario
from holdfast.lab.twin.fleet.site import topology

SCENARIO = "demo"
POLICY = """# The demo's policy: actions are carried out, on simulated nodes.
dry_run = false
breaker_share = 0.15
automatic_repair_steps = 3  # the third is a simulated technician, who takes an hour of the demo's time
shared_first_seconds = 5  # the demo's time runs faster than these
shared_wait_seconds = 10
[probes]
enabled = true
period_hours = 0.1
minutes_per_day = 1000.0
timeout_seconds = 600.0
"""
BUSINESS_CONTEXT = """# Prices, dates and on-call names of the demo's incidents; all of it is made up.
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
storage = "Margo, pager 31"
"""
DAYS_TO_RELEASE = 45
LARGE_FLEET_NODES = 500
EVALUATE_SECONDS, CLOSE_SECONDS = 30.0, 300.0


def write(state: Path, nodes: int) -> SeamSettings:
    """Writes the files and returns the settings that name them.

    A policy that the user changed is kept. Evaluating findings over thousands of nodes takes seconds, and the demo's
    time runs faster than the clock, so a larger fleet is evaluated less often.
    """
    due = datetime.fromtimestamp(time.time(), UTC) + timedelta(days=DAYS_TO_RELEASE)
    if not (state / "policy.toml").exists():
        bootstrap.write_private(state / "policy.toml", POLICY)
    bootstrap.write_private(state / "topology.toml", topology(scenario(SCENARIO), nodes))
    bootstrap.write_private(state / "business.toml", BUSINESS_CONTEXT.format(due=due))
    every = EVALUATE_SECONDS * max(1.0, nodes / LARGE_FLEET_NODES)
    return SeamSettings(
        topology=str(state / "topology.toml"),
        business_context=str(state / "business.toml"),
        evaluate_seconds=every,
        close_seconds=max(CLOSE_SECONDS, every),
    )
