"""What `holdfast top` shows of a fleet, without a terminal: chosen, ordered, cut, and never taken for markup."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.shared.fleet_clock import FleetClock
from holdfast.cli.top import rows as top_rows
from holdfast.client.client import events
from holdfast.client.watch import LiveFleet

NOW = 10_000.0
CLOCK = FleetClock(read=lambda: NOW)


def node(name: str, **facts: Any) -> dict[str, Any]:
    plain = {"pool": "p", "stage": "ready", "since": NOW - 90, "reason": "passed", "cause": "", "health": "pass"}
    more = {"degraded_by": "", "held": "", "place": {"rack": "r1"}, "jobs": [], "last_report_at": NOW, "read_at": NOW}
    return {"name": name, **plain, **more, **facts}


FLEET = [
    node("n01"),
    node("n02", stage="quarantined", cause="gpu.xid", reason="Xid 79", health="fail", since=NOW - 10),
    node("n03", health="degraded", place={"rack": "r2"}),
    node("n04", stage="allocated", jobs=["llama"], since=NOW - 5000),
]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("", ["n02", "n03", "n01", "n04"]),
        ("n[01-02,04]", ["n02", "n01", "n04"]),
        ("n[01-", []),
        ("RACK/R2", ["n03"]),
        ("xid fail", ["n02"]),
        ("xid ready", []),
        ("llama", ["n04"]),
    ],
)
def test_every_word_of_a_filter_must_be_found(wanted: str, names: list[str]) -> None:
    assert [one["name"] for one in top_rows.chosen(FLEET, wanted, "worst first")] == names


@pytest.mark.parametrize(
    ("order", "first"), [("by name", "n01"), ("newest change first", "n02"), ("oldest change first", "n04")]
)
def test_orders(order: str, first: str) -> None:
    assert top_rows.chosen(FLEET, "", order)[0]["name"] == first


def test_a_row_says_why_and_takes_no_name_for_markup() -> None:
    cells = [cell.plain for cell in top_rows.row(node("[red]x[/]\x1b[2J", stage="testing", cause="gpu.ecc"), CLOCK)]
    assert cells == ["[red]x[/]\\x1b[2J", "p", "testing", "1 min", "pass", "gpu.ecc: passed"]


def test_the_top_lines_count_stages_and_report_breakers_and_incidents() -> None:
    pool = {"pool": "p", "nodes": 4, "out": 2, "cap": 1, "breaker_open": True, "reason": "too many", "spares_short": 1}
    fleet = {"nodes": 4, "stages": {"ready": 2, "quarantined": 1, "allocated": 1}, "pools": [pool], "dry_run": True}
    view = LiveFleet(fleet, {one["name"]: one for one in FLEET}, (), NOW)
    assert top_rows.stages(view).plain == "4 nodes   2 ready   1 allocated   1 quarantined"
    assert top_rows.pools(view).plain == (
        "pool p: 2 of 4 out, at most 1; breaker OPEN, it only observes: too many; 1 spare short"
    )
    pool["testing"] = 3
    assert "2 of 4 out, at most 1; 3 in a test; breaker OPEN" in top_rows.pools(view).plain
    assert top_rows.connection(view, NOW).plain == "live, dry run: actions are only recorded"
    result = {"subject": "cdu/c2", "cause": "coolant.flow", "opened": NOW - 60, "reason": "flow fell"}
    output = top_rows.incidents([result] * 6, CLOCK).plain.splitlines()
    assert output[:2] == ["6 open incidents", "  cdu/c2: coolant.flow for 1 min: flow fell"]
    assert output[-1] == "  and 2 more: holdfast incident list"


def test_a_controller_that_is_away_is_reported_with_the_time_since() -> None:
    output = top_rows.connection(LiveFleet({}, {}, (), NOW - 90, error="connection refused"), NOW).plain
    assert output.startswith("NOT LIVE since ") and "(1 min): connection refused" in output and "last view" in output


def test_a_cut_is_reported() -> None:
    assert "the first 500 are shown" in top_rows.shown_text(500, 12_500, "worst first", "").plain
    assert top_rows.shown_text(3, 3, "by name", "x").plain == "3 nodes, by name, with 'x'"


def test_events_are_read_from_their_lines() -> None:
    lines = ["event: fleet", 'data: {"a":1}', "", ": still here", "", "event: node", "data: 1", "data: 2", ""]
    assert list(events(lines)) == [("fleet", '{"a":1}'), ("", ""), ("node", "1\n2")]


@given(st.lists(st.text(max_size=40)))
def test_no_stream_breaks_the_reader(lines: list[str]) -> None:
    for name, data in events(lines):
        assert name or not data
