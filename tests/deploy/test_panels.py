"""Every panel says what it shows; colours change where its data says."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from generate_dashboards import thresholds  # noqa: E402

BOARDS = {file.stem: json.loads(file.read_text()) for file in sorted((ROOT / "deploy" / "grafana").glob("*.json"))}


def _panels() -> list[tuple[str, dict[str, Any]]]:
    return [(name, panel) for name, board in BOARDS.items() for panel in board["panels"]]


def test_every_panel_has_a_description_and_every_dashboard_links_to_the_console() -> None:
    assert [(name, one["title"]) for name, one in _panels() if len(one.get("description", "")) < 20] == []
    for board in BOARDS.values():
        assert next(link["url"] for link in board["links"] if link["type"] == "link").startswith("${console}/#/")


def test_a_health_is_shown_as_a_word() -> None:
    shown = [one for _, one in _panels() if one["title"].startswith("Health")]
    assert shown
    for one in shown:
        words = one["fieldConfig"]["defaults"]["mappings"][0]["options"]
        assert {code: message["text"] for code, message in words.items()} == {
            "0": "pass",
            "1": "degraded",
            "2": "fail",
            "3": "unknown",
        }


@pytest.mark.parametrize(
    ("limits", "steps"),
    [
        ("high 1 5", [(None, "green"), (1.0, "orange"), (5.0, "red")]),
        ("high 1 1", [(None, "green"), (1.0, "red")]),
        ("low 0.9 0.95", [(None, "red"), (0.9, "orange"), (0.95, "green")]),
    ],
)
def test_limits_become_colours(limits: str, steps: list[tuple[float | None, str]]) -> None:
    assert [(one["value"], one["color"]) for one in thresholds(limits)["steps"]] == steps
