"""The numbers of a running demo agree wherever they are shown: list, page, inbox, home and terminal."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from holdfast.config.quantities import lasting
from tests.waiting import until

from .demo import HOLDFAST, Demo, demo

pytestmark = pytest.mark.slow
TIMEOUT_SECONDS = 400.0
SAME = ("began", "owner", "currency")
GROWING = ("lasted_seconds", "gpu_hours", "cost")


@dataclass(frozen=True)
class Site:
    demo: Demo
    state: Path

    def incidents(self) -> dict[str, dict[str, Any]]:
        return {one["id"]: one for one in self.demo.get("/v1/incidents?limit=1000")["incidents"]}

    def cli(self, *command: str) -> str:
        address = ("--url", self.demo.address, "--token", self.demo.token)
        environment = {**os.environ, "HOLDFAST_STATE": str(self.state), "COLUMNS": "100"}
        return subprocess.run(
            [HOLDFAST, *command, *address], env=environment, check=True, capture_output=True
        ).stdout.decode()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The demo after a fault of the building that is priced and a leaf that came and went."""
    pytest.importorskip("litestar", reason="the controller's libraries are not installed")
    state = tmp_path_factory.mktemp("numbers")
    with demo(state, "--speed", "40") as running:
        found = Site(running, state)
        until(lambda: _has_both(found.incidents().values()), "a leaf that is back and a price", TIMEOUT_SECONDS)
        yield found


def _has_both(incidents: Any) -> bool:
    closed = [one for one in incidents if one["closed"]]
    return any(one["subject"].startswith("leaf/") for one in closed) and any(
        one["account"] and one["account"]["bill"]["gpu_hours"] for one in incidents
    )


def compare(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    """Equal if it is over; an open one may have grown between two answers, and never shrinks."""
    before, after = earlier["figures"], later["figures"]
    assert [before[name] for name in SAME] == [after[name] for name in SAME], earlier["id"]
    for name in GROWING:
        if earlier["closed"]:
            assert before[name] == after[name], (earlier["id"], name)
        elif before[name] is not None and after[name] is not None:
            assert before[name] <= after[name], (earlier["id"], name)


def test_the_list_the_page_of_an_incident_and_the_terminal_say_the_same(site: Site) -> None:
    listed = site.incidents()
    shown = {key: site.demo.get(f"/v1/incidents/{key}") for key in listed}
    terminal = {one["id"]: one for one in json.loads(site.cli("incident", "list", "--all", "--json"))["incidents"]}
    for key, one in listed.items():
        compare(one, shown[key])
        compare(shown[key], terminal[key])
        if one["closed"]:
            text = site.cli("incident", "show", key)
            assert lasting(one["figures"]["lasted_seconds"]) in text
            assert one["figures"]["cost"] is None or f"{one['figures']['cost']:,.0f}" in text


def test_the_inbox_has_every_open_incident_with_the_same_price_age_and_owner(site: Site) -> None:
    before = {key: one for key, one in site.incidents().items() if not one["closed"]}
    items = {one["key"]: one for one in site.demo.get("/v1/inbox")["items"]}
    terminal = {one["key"]: one for one in json.loads(site.cli("inbox", "list", "--all", "--json"))["items"]}
    after = site.incidents()
    grouped = {key for one in items.values() for key in one["grouped"]}
    for key, one in before.items():
        if key in grouped or after[key]["closed"]:
            continue
        for item in (items[f"incident/{key}"], terminal.get(f"incident/{key}")):
            if item is None:  # it ended while the terminal asked
                continue
            assert (item["since"], item["owner"]) == (one["figures"]["began"], one["figures"]["owner"])
            assert item["lasted_seconds"] <= after[key]["figures"]["lasted_seconds"] + 1e-6
            assert (item["cost_so_far"] is None) == (one["figures"]["cost"] is None)
            if item["cost_so_far"] is not None:
                # The inbox keeps an answer for two seconds.
                assert item["cost_so_far"] <= after[key]["figures"]["cost"] + 1e-6


def test_a_closed_incident_lasted_as_long_and_cost_as_much_in_every_view(site: Site) -> None:
    """The API's list and page, the history of the inbox, its own page, the terminal's list, page and post-mortem."""
    closed = {key: one for key, one in site.incidents().items() if one["closed"]}

    def past() -> dict[str, dict[str, Any]]:
        found = site.demo.get("/v1/inbox?past_hours=24")["past"]
        return {one["key"]: one for one in found if one["key"].removeprefix("incident/") in closed}

    items = until(past, "the history of the inbox has a closed incident")
    listed = " ".join(site.cli("incident", "list", "--all").split())
    for key, item in items.items():
        figures = closed[key.removeprefix("incident/")]["figures"]
        shown = lasting(figures["lasted_seconds"])
        assert (item["lasted_seconds"], item["since"]) == (figures["lasted_seconds"], figures["began"])
        assert item["cost_so_far"] == figures["cost"]
        assert site.demo.get(f"/v1/inbox/{quote(key, safe='/@+')}")["item"] == item
        assert shown in listed and shown in site.cli("incident", "show", key.removeprefix("incident/"))
        assert f"It lasted {shown};" in site.cli("inbox", "show", key)


def test_money_adds_up_everywhere(site: Site) -> None:
    """Layers to the total; the GPU-hours lost, down or done again, at the home page's price of a GPU-hour."""
    figures = site.demo.get("/v1/home")["figures"]
    price = figures["lost_cost"] / figures["lost_gpu_hours"]
    for one in site.incidents().values():
        if (account := one["account"]) is None:
            if one["figures"]["gpu_hours"]:
                assert one["figures"]["cost"] == pytest.approx(one["figures"]["gpu_hours"] * price)
            continue
        bill = account["bill"]
        layers = {layer["name"]: layer["so_far"] for layer in bill["layers"]}
        assert sum(cost for cost in layers.values() if cost is not None) == pytest.approx(bill["total_so_far"])
        if bill["measured"]:
            assert layers["direct compute"] + layers["rollback"] == pytest.approx(bill["gpu_hours"] * price)
        else:
            assert {cost for name, cost in layers.items() if name != "labour"} == {None}, "not known, not nothing"
        assert bill["hours"] == pytest.approx(account["lasted_seconds"] / 3600)


def test_no_incident_repeats_another_and_no_node_left_service_for_a_shared_cause(site: Site) -> None:
    incidents = sorted(site.incidents().values(), key=lambda one: one["opened"])
    lasted = [one["closed"] - one["opened"] for one in incidents if one["closed"]]
    assert min(lasted) > 0, "none opens and closes at once"
    moves = site.demo.get("/v1/transitions?limit=10000")["transitions"]
    behind = {node for one in incidents if one["subject"].startswith("leaf/") for node in one["evidence"]}
    left = [move for move in moves if move["after"] == "draining" and move["node"] in behind]
    assert [move for move in left if move["cause"] in ("fabric.port_down", "probe.fabric")] == []
