"""Actuators that fail, hang or succeed by half: asked again under the same key, the action is done once."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.controller.running import Controller, running, until

pytestmark = pytest.mark.slow

# Acts once per key, as an actuator must; the first time it then misbehaves by the name of its node.
HALF = """#!/bin/sh
mkdir {home}/actions/"$2" 2>/dev/null
echo "$2" >> {home}/asked
[ $(grep -c "^$1:" {home}/asked) -gt 1 ] && exit 0
case $1 in
fails) exit 75 ;;
hangs) sleep 100 ;;
hangs-with-child) sleep 100 & sleep 100 ;;
dies) kill -9 $$ ;;
refuses) exit 1 ;;
esac
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "actions").mkdir()
    tool = tmp_path / "cordon"
    tool.write_text(HALF.format(home=tmp_path))
    tool.chmod(0o755)
    return tmp_path


def ended(controller: Controller, node: str) -> dict[str, Any]:
    """The one cordon of a node, when it is over."""

    def look() -> Any:
        found = [one for one in controller.get("/v1/actions", node=node)["actions"] if one["verb"] == "cordon"]
        return next((one for one in found if one["state"] in ("done", "failed")), None)

    action: dict[str, Any] = until(look, f"the cordon of {node} came to its end")
    return action


def failures(controller: Controller, node: str) -> list[str]:
    return [one["detail"] for one in controller.node_history(node) if one["title"] == "cordon failed"]


AGAIN = {"fails": "exit code 75"}
FOR_GOOD = {"dies": "exit code -9", "refuses": "exit code 1"}
LATE = {"hangs": "did not end within 2 s", "hangs-with-child": "did not end within 2 s"}


@pytest.mark.parametrize(
    "again, for_good, timeout",
    [
        pytest.param(AGAIN, FOR_GOOD, 60, id="by-exit-code"),  # no busy machine makes these late
        pytest.param(LATE, {}, 2, id="by-time"),
    ],
)
def test_half_a_success_is_asked_for_again_and_done_once(
    home: Path, again: dict[str, str], for_good: dict[str, str], timeout: int
) -> None:
    commands = f'{{ cordon = ["{home}/cordon", "{{node}}", "{{key}}"] }}'
    more = f'[actions]\ncordon = "command"\n[command]\nidempotent = true\ntimeout = {timeout}\ncommands = {commands}\n'
    with running(home / "c", more=more) as controller:
        for node in (*again, *for_good):
            controller.enrol(node)
        controller.ready_node("well")  # nobody else is held up
        for node, message in again.items():
            action = ended(controller, node)
            assert action["state"] == "done"
            assert message in failures(controller, node)[0]
        for node, message in for_good.items():
            assert ended(controller, node)["state"] == "failed"
            assert message in failures(controller, node)[0]
        assert controller.get("/healthz")["leading"]
    asked = Counter(key.split(":")[0] for key in (home / "asked").read_text().split())
    assert all(asked[node] >= 2 for node in again)  # one more where a busy machine was late once
    assert {node: asked[node] for node in for_good} == dict.fromkeys(for_good, 1)
    done = [one.name.split(":")[0] for one in (home / "actions").iterdir()]
    assert sorted(done) == sorted({*again, *for_good, "well"})
