"""Claim: `sinfo` shows the drain with our reason within 2 s of the verdict. A fault in a twin's driver, a real agent, a
real controller and a real Slurm; beside it the floor: how long Slurm itself needs to show a drain asked for by hand."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import publish, quantile

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.waiting import until
from tests.fleet.controller.slurm_site import Site
from tests.fleet.controller.slurm_twin import agent_on_twin, twin_site

from holdfast.model.lifecycle import Stage
from holdfast.fleet.store import Store
from holdfast.lab.twin.inject import inject

NODE, OTHER = "node1", "node2"
TIMEOUT_SECONDS = 120.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--injections", type=int, default=8)
    options = parser.parse_args()
    policy = "offence_seconds = 1\n"  # each injection is a new cause: a reset is enough
    with tempfile.TemporaryDirectory() as scratch, twin_site(Path(scratch), 2, policy) as site:
        floor = [by_hand(site) for _ in range(3 * options.injections)]
        with agent_on_twin(site, NODE) as twin:
            until(lambda: site.tests(NODE), "the new node is tested")
            broken, shown = [], []
            for _ in range(options.injections):
                seen_until(site, NODE, lambda state, reason: state == "idle")
                broken.append(time.time())
                inject(twin, "gpu_off_bus", gpu=3)
                shown.append(seen_until(site, NODE, lambda state, reason: reason.startswith("holdfast: gpu.")))
        arrived = arrivals(site)
    publish("slurm_drain", figures(broken, arrived, shown, floor))


def by_hand(site: Site) -> float:
    seen_until(site, OTHER, lambda state, reason: state == "idle")
    begun = time.time()
    site.slurm.update(OTHER, "drain", "by hand")
    seconds = seen_until(site, OTHER, lambda state, reason: reason == "by hand") - begun
    site.slurm.update(OTHER, "resume")
    return seconds


def seen_until(site: Site, node: str, wanted: Any) -> float:
    """When sinfo first shows it."""
    deadline = time.time() + TIMEOUT_SECONDS
    command = ["sinfo", "-h", "-n", node, "-o", "%t|%E"]
    while time.time() < deadline:
        state, _, reason = subprocess.check_output(command, env=site.slurm.environ, text=True).strip().partition("|")
        if wanted(state, reason):
            return time.time()
    raise SystemExit(f"Slurm did not show what was expected of {node}; no figure")


def arrivals(site: Site) -> list[float]:
    """When the verdicts were committed that took the node out of service."""
    store = Store.open(f"sqlite:///{site.controller.config.parent}/holdfast.db")
    try:
        found = [one for one in store.transitions(0.0) if one.node == NODE]
    finally:
        store.close()
    return [one.at for one in found if one.after is Stage.DRAINING and one.before is not Stage.DRAINING]


def figures(broken: list[float], arrived: list[float], shown: list[float], floor: list[float]) -> dict[str, Any]:
    if not len(broken) == len(arrived) == len(shown):
        raise SystemExit(f"{len(broken)} injections, {len(arrived)} drains; no figure")
    whole = [end - begin for begin, end in zip(broken, shown, strict=True)]
    ours = [end - begin for begin, end in zip(arrived, shown, strict=True)]
    return {
        "injections": len(whole),
        "verdict_to_sinfo_p50_seconds": round(quantile(ours, 0.5), 3),
        "verdict_to_sinfo_p99_seconds": round(quantile(ours, 0.99), 3),
        "fault_to_sinfo_p50_seconds": round(quantile(whole, 0.5), 3),
        "fault_to_sinfo_p99_seconds": round(quantile(whole, 0.99), 3),
        "by_hand_p50_seconds": round(quantile(floor, 0.5), 3),
        "verdict_to_by_hand": round(quantile(ours, 0.5) / quantile(floor, 0.5), 1),
    }


if __name__ == "__main__":
    main()
