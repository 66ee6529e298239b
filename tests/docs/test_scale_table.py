"""The table of docs/scale.md: written from bench/results, and a figure that was not taken is named as such."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import fleet_table  # noqa: E402


def stored() -> str:
    killed = json.loads((fleet_table.RESULTS / "failover_load.json").read_text())
    return fleet_table.tables(fleet_table.kept(), killed)


def test_the_page_has_the_stored_results() -> None:
    assert stored() in fleet_table.PAGE.read_text()


def test_a_figure_that_was_not_taken_is_named_so() -> None:
    [row, *_] = fleet_table.kept()
    before = {name: value for name, value in row.items() if name != "first_report"}
    assert fleet_table.first_reports(before) == ("first reports", "not measured", "<= 60 s")
    taken = row | {"first_reports_seconds": 7.3, "first_report": {"p50_ms": 1.0}, "verdicts_per_node": 44}
    taken.pop("first_reports_controller_cpu_seconds", None)
    assert fleet_table.first_reports(taken)[:2] == ("first reports, 44 verdicts each", "7.3 s")
    assert "?" not in stored()
