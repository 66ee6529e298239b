"""A plan from a real controller's history."""

from pathlib import Path

import pytest

from holdfast.cli.app import run
from holdfast.client.client import Client
from holdfast.economics.studies import history as plan_history

from .running import running

pytestmark = pytest.mark.slow
POLICY = "dry_run = false\nbreaker_share = 1.0\n"


def test_the_fleets_own_failures_service_and_repairs_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ["plan", "risk", "--gpus", "8", "--days", "1", "--from-controller"]
    monkeypatch.setenv("HOLDFAST_STATE", str(tmp_path / "state"))
    with running(tmp_path, policy=POLICY) as controller:
        monkeypatch.setenv("HOLDFAST_URL", controller.url)
        monkeypatch.setenv("HOLDFAST_TOKEN", controller.admin)
        assert run(plan) == 1
        assert "no node in service yet" in capsys.readouterr().err
        controller.ready_node("n1")
        failing = controller.ready_node("n2")
        failing.verdict("gpu.ecc", "fail", "2 uncorrectable errors")
        controller.reaches("n2", "resetting")
        failing.answer(failing.ordered("reset_gpu"))
        failing.verdict("gpu.ecc", "pass", "8 of 8 pass")
        failing.pass_test()
        controller.reaches("n2", "ready")
        history, days = plan_history._history(Client(controller.url, controller.admin))
        assert history.failures == 1 and len(history.repairs) == 1 and history.still_out == 0
        assert history.service_seconds > 0 and 0 < days < 1
        result = plan_history.inputs(controller.url, controller.admin, None).known
        assert result["events"][0] == "1" and controller.url in result["repair"][1]
        assert run(plan) == 64  # seconds of service are no ground for a plan, and that is said
        assert "say nothing yet" in capsys.readouterr().err
