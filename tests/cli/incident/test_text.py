"""A post-mortem as files: the text beside drawings that are well-formed whatever a name contains."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.incident.svg import drawing
from holdfast.cli.incident.text import as_text, none_open, write_post_mortem
from holdfast.cli.shared.fleet_clock import FleetClock
from holdfast.cli.shared.table import clock
from holdfast.fleet.api.post_mortem.text import as_markdown
from holdfast.model.refusal import Refusal

SVG = "{http://www.w3.org/2000/svg}"


def chart(*values: float | None, subject: str = "cdu/c2") -> dict[str, Any]:
    return {"subject": subject, "signal": "cdu_flow_litres_per_minute", "start": 0.0, "step": 10.0, "values": values}


def incident(*charts: dict[str, Any]) -> dict[str, Any]:
    layer = {"name": "direct compute", "so_far": 10.0, "if_it_goes_on": None}
    bill = {
        "currency": "USD", "horizon_hours": 24.0, "layers": [layer], "gpu_hours": 4.0, "gpu_hours_per_hour": 1.0,
        "finish_shift_hours": 0.0, "finish_shift_hours_if_it_goes_on": 0.0, "tokens": None, "unpriced": [],
    }  # fmt: skip
    account = {
        "since": 20.0, "lasted_seconds": 60.0, "confidence": 0.9, "path": ["cdu/c2 > job/llama"], "evidence": [],
        "rivals": [], "unknown": [], "bill": bill, "on_call": {}, "timeline": [], "runbook": "cooling.flow_low",
        "charts": list(charts), "victims": [], "losses": [], "kind": "cooling.flow_low", "symptoms": [], "owners": [],
    }  # fmt: skip
    return {
        "id": "cdu/c2@1", "subject": "cdu/c2", "cause": "cooling.flow_low", "reason": "flow fell", "state": "open",
        "opened": 20.0, "closed": None, "evidence": [], "account": account,
    }  # fmt: skip


def test_the_drawings_stand_beside_the_text(tmp_path: Path) -> None:
    files = write_post_mortem(incident(chart(480.0, 300.0), chart(None, None)), tmp_path / "new")
    assert [file.name for file in files] == ["post-mortem.md", "chart-1.svg", "chart-2.svg"]
    text = files[0].read_text()
    assert "(chart-1.svg)" in text and "(chart-2.svg)" in text and "▁" not in text
    assert "no readings" in files[2].read_text()
    with pytest.raises(Refusal, match="there already"):
        write_post_mortem(incident(), tmp_path / "new")


def test_without_files_the_charts_are_text() -> None:
    assert "▁" in as_markdown(incident(chart(480.0, 300.0)))


def test_gaps_are_not_joined_and_the_beginning_is_marked() -> None:
    root = ElementTree.fromstring(drawing(chart(1.0, 2.0, None, 3.0, 4.0, None, 5.0), since=30.0))
    assert len(root.findall(f"{SVG}polyline")) == 2 and len(root.findall(f"{SVG}circle")) == 1
    assert "it began" in [one.text for one in root.findall(f"{SVG}text")]


@given(
    st.text(max_size=20),
    st.lists(st.none() | st.floats(-1e30, 1e30), max_size=20),
    st.floats(-1e6, 1e6),
)
def test_any_chart_is_a_drawing(name: str, values: list[float | None], since: float) -> None:
    ElementTree.fromstring(drawing(chart(*values, subject=f"cdu/{name}"), since))


def test_no_open_incident_is_reported_with_since_when():
    assert none_open([], FleetClock()) == "No incident, open or past."
    assert none_open([{"closed": 50.0}, {"closed": 90.0}], FleetClock(10.0, 20.0)).startswith(
        f"No incident is open, since {clock(10.0 + 80.0 * 20.0)};"
    )


def test_one_that_is_over_is_reported_in_the_past_and_projects_nothing() -> None:
    open_, over = incident(), {**incident(), "state": "closed", "closed": 90.0}
    assert "more an hour" in as_text(open_) and "in 24 h more" in as_text(open_)
    assert "for 1 min" in as_text(open_)
    message = as_text(over)
    assert "it lasted 1 min" in message and "it cost" in message and "the finish moved by" in message
    assert "goes on" not in message and "more" not in message
