"""Plan inputs from the fleet's own history in the controller."""

import time
from typing import Any

from holdfast.client import history
from holdfast.client.client import Client, connect
from holdfast.economics.costs.history import FleetHistory, NodeStageChange, read
from holdfast.economics.costs.survival import YEAR_SECONDS
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.model.lifecycle import EventKind, Stage
from holdfast.model.refusal import Refusal


def inputs(url: str, token: str, gpus_per_node: str | None) -> PlanInputs:
    """Counts and repair times as defaults of options. Raises Refusal if the history is empty."""
    client = connect(url, token)
    per_node = PlanInputs().number("gpus-per-node", gpus_per_node, "GPUs per node", "8", "an HGX node")
    seen, days = _history(client)
    if seen.service_seconds <= 0:
        raise Refusal(f"the controller at {client.url} has seen no node in service yet: nothing to plan from", 1)
    who = f"the controller at {client.url}, {days:.3g} days"
    given = {
        "events": (str(seen.failures), f"{who}: nodes that failed in service or its test"),
        "gpu-years": (
            f"{seen.service_seconds * per_node / YEAR_SECONDS:.6g}",
            f"{who}: {per_node:g} GPUs to a node",
        ),
    }
    if seen.mean_repair_seconds:
        back = f"mean of {len(seen.repairs)} that came back, {seen.still_out} are still out"
        given["repair"] = (f"{seen.mean_repair_seconds:.6g}s", f"{who}: {back}")
    return PlanInputs(known=given)


def _history(client: Client) -> tuple[FleetHistory, float]:
    found = [_change(row) for row in history.transitions(client)]
    now = max([time.time(), *(change.at for change in found)])
    first = min((change.at for change in found), default=now)
    return read(found, now), (now - first) / 86_400


def _change(row: dict[str, Any]) -> NodeStageChange:
    return NodeStageChange(
        node=row["node"],
        at=row["at"],
        before=Stage(row["before"]),
        after=Stage(row["after"]),
        event=EventKind(row["event"]),
    )
