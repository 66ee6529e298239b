"""Every kind of refusal that changes something, or tries a token, is in the audit log with who, what and why."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.controller.running import Controller, running, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """Its own: what is beyond sixty refusals a minute is counted, not written, and other tests refuse a lot."""
    with running(tmp_path_factory.mktemp("noted")) as one:
        yield one


def noted(controller: Controller, **facts: str) -> None:
    [first, *_] = until(lambda: controller.audited(**facts), f"{facts} is audited")
    assert first["reason"]


def test_malformed_reports(controller: Controller) -> None:
    agent = controller.enrol("noted")
    assert controller.ask("POST", "/v1/reports", agent.credential, content=b"[{]").status_code == 400
    noted(controller, who="noted", verb="report", outcome="refused 400")


def test_an_unknown_credential(controller: Controller) -> None:
    assert controller.report([], "stolen").status_code == 401
    noted(controller, verb="report", outcome="refused 401", who="127.0.0.1")


def test_a_join_token_that_is_not_one(controller: Controller) -> None:
    assert controller.post("/v1/enrol", {"node": "guesser", "join_token": "guess"}, "").status_code == 403
    noted(controller, target="/v1/enrol", outcome="refused 403")
    assert controller.ask("GET", "/v1/nodes/guesser").status_code == 404


def test_an_operator_token_does_not_report_and_an_agent_token_does_not_operate(controller: Controller) -> None:
    agent = controller.enrol("overreacher")
    assert controller.post("/v1/nodes/overreacher/release", {"reason": "x"}, agent.credential).status_code == 403
    noted(controller, who="overreacher", role="agent", outcome="refused 403")
    assert controller.report([agent.next(heartbeat=True)], controller.admin).status_code == 403
    noted(controller, who="admin", verb="report", outcome="refused 403")
    assert controller.post("/v1/credential", None, controller.admin).status_code == 403


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("dry_run = true\nbreaker_shair = 0.5\n", "line 2: breaker_shair: unknown key"),
        ("dry_run = 3\n", "line 1: dry_run"),
    ],
    ids=["a key nobody knows", "a value of another kind"],
)
def test_a_wrong_policy_is_refused_at_start_with_line_and_key(tmp_path: Path, policy: str, expected: str) -> None:
    (tmp_path / "policy.toml").write_text(policy)
    config = tmp_path / "controller.toml"
    config.write_text(
        f'store = "sqlite:///{tmp_path}/h.db"\nlisten = "127.0.0.1:0"\npolicy = "{tmp_path}/policy.toml"\n'
    )
    command = [sys.executable, "-m", "holdfast.fleet.controller", "--config", str(config)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 64
    assert expected in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "h.db").exists(), "nothing was begun"
