"""Lists on narrow terminals: what is copied, an incident's id or an item's name, is never cut."""

import pytest

from holdfast.cli.incident.text import as_table
from holdfast.cli.shared.table import print_list

ID = "switch/leaf-3-of-hall-2/port/17@1794832975.428"
INCIDENT = {
    "id": ID,
    "state": "open",
    "opened": 0.0,
    "closed": None,
    "cause": "fabric.uplink",
    "reason": "an uplink is bad " * 8,
    "figures": {"lasted_seconds": 60.0, "gpu_hours": 16.5, "cost": 116.0, "currency": "USD", "owner": "network"},
}


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 120, 300])
def test_the_id_is_whole_at_every_width(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    as_table([INCIDENT, INCIDENT])
    shown = capsys.readouterr().out
    assert sum(ID in line for line in shown.splitlines()) == 2
    assert "…" not in shown and "fabric.uplink" in shown


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_what_belongs_to_a_name_is_indented_below_it(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without it one cannot see where the next record begins."""
    monkeypatch.setenv("COLUMNS", str(columns))
    as_table([INCIDENT, INCIDENT])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("  ")] == [ID, ID]
    assert len(lines) > 4 and all(len(line) <= columns for line in lines if line != ID)


@pytest.mark.parametrize("columns", [60, 200])
def test_a_list_says_everything_in_both_forms(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_list(
        ("#", "what", "owner", "why"), [["1", "n017 waits for an operator", "hardware", "because " * 12]], title=1
    )
    shown = capsys.readouterr().out
    assert "n017 waits for an operator" in shown and "hardware" in shown and "because" in shown
