"""What `node show` and `job show` say that the page says too."""

from typing import Any

import pytest

from holdfast.cli.job.command import _restarts
from holdfast.cli.node import _concerns, show_node
from holdfast.cli.shared.fleet_clock import FleetClock
from holdfast.cli.shared.table import console

NODE = {
    "name": "n1", "stage": "ready", "since": 0.0, "reason": "tested", "place": {}, "tested_at": None, "pool": "main",
    "repair_step": 0, "verdicts": [], "health": "pass",
}  # fmt: skip
INCIDENT = {"subject": "node/n1/gpu/0", "reason": "node/n1/gpu/0: a GPU is slow; it costs", "evidence": []}


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def test_a_node_with_an_open_incident_on_its_gpu_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show_node(FleetClock(), NODE, [INCIDENT])
    output = capsys.readouterr().out
    assert "open incident on node/n1/gpu/0: a GPU is slow; it costs" in output
    assert "every check passes" in output and "what was seen" not in output
    show_node(FleetClock(), {**NODE, "health": "unknown"}, [])
    assert "no check has reported yet" in capsys.readouterr().out


def test_which_nodes_an_incident_concerns() -> None:
    shared: dict[str, Any] = {"subject": "cdu/c2", "evidence": ["n1"]}
    assert _concerns(INCIDENT, "n1") and _concerns({**INCIDENT, "subject": "node/n1"}, "n1") and _concerns(shared, "n1")
    assert not _concerns(INCIDENT, "n10") and not _concerns(INCIDENT, "n") and not _concerns(shared, "n2")


def test_a_restart_is_reported_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    restart = {
        "at": 0.0,
        "gpu_hours": 1.0,
        "down_seconds": 60.0,
        "lost_steps": 4,
        "from_step": -1,
        "notes": ["n1: Xid"],
    }
    _restarts([restart, {**restart, "from_step": 9, "notes": []}], FleetClock(), console())
    output = capsys.readouterr().out
    assert "4 steps repeated from the beginning\n  n1: Xid\n" in output
    assert "from step 9\n  none of its nodes left service before" in output
