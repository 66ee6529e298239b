"""In a demo the fleet lives faster than the clock: what a terminal prints of a node is in the fleet's time."""

from typing import Any

import pytest

from holdfast.cli.node import print_nodes, show_node
from holdfast.cli.shared.fleet_clock import FleetClock, clock_of
from holdfast.cli.top import rows as top_rows

NOW, BEGAN = 10_000.0, 9_000.0
TIMES = {1.0: ("10 min", "1 min"), 20.0: ("3 h 20 min", "30 min")}
NODE: dict[str, Any] = {
    "name": "n001",
    "pool": "p",
    "stage": "quarantined",
    "since": NOW - 600,
    "tested_at": NOW - 600,
    "last_report_at": NOW - 90,
    "read_at": NOW,
    "reason": "Xid 79",
    "cause": "gpu.xid",
    "degraded_by": "",
    "health": "fail",
    "place": {},
    "jobs": [],
    "held": "",
    "repair_step": 1,
    "verdicts": [{"check": "gpu.xid", "health": "fail", "since": NOW - 600, "reason": "Xid 79"}],
}


def times_of(factor: float) -> FleetClock:
    return FleetClock(BEGAN, factor, lambda: NOW)


@pytest.mark.parametrize("factor", TIMES)
def test_ages_in_node_list_are_of_the_fleets_clock(
    factor: float, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.cli.node.time.time", lambda: NOW)
    print_nodes([NODE], times_of(factor))
    shown = capsys.readouterr().out
    age, silence = TIMES[factor]
    assert f"quarantined  {age} " in shown and f"no report for {silence}" in shown


@pytest.mark.parametrize("factor", TIMES)
def test_ages_in_node_show_are_of_the_fleets_clock(factor: float, capsys: pytest.CaptureFixture[str]) -> None:
    show_node(times_of(factor), NODE, [])
    shown = capsys.readouterr().out
    age, _ = TIMES[factor]
    assert f"quarantined for {age}:" in shown and f"tested {age} ago" in shown and f"fail    {age} ago" in shown


@pytest.mark.parametrize("factor", TIMES)
def test_ages_in_top_are_of_the_fleets_clock(factor: float) -> None:
    cells = [cell.plain for cell in top_rows.row(NODE, times_of(factor))]
    age, silence = TIMES[factor]
    assert cells[3] == age and cells[5].endswith(f"no report for {silence}")


def test_the_clock_comes_from_the_fleet_and_is_the_usual_one_before_it_is_known() -> None:
    assert clock_of({}).at(NOW) == NOW
    assert clock_of({"clock_began": BEGAN, "time_factor": 20.0}).at(NOW) == BEGAN + 20 * (NOW - BEGAN)
    assert times_of(20.0).now() == BEGAN + 20 * (NOW - BEGAN) and times_of(20.0).ago(None) == "never"
