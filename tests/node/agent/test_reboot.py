"""A restart of the node: off unless its own configuration says how, and answered by the agent of the next boot."""

import subprocess
import sys
import time
from pathlib import Path

from holdfast.model.settings import ControllerSettings, Roots, Settings
from holdfast.model.wire.report import OrderOutcome
from holdfast.node.agent.orders.handler import Order, OrderHandler
from holdfast.node.agent.orders.reboot import BOOT_ID, reboot

ORDER = Order(id=7, verb="reboot", reason="rung 2")

# The agent that is reported to restart the machine; its command ends the agent, as the machine's going down would.
AGENT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.node.agent.test_reboot import ORDER, orders
orders(Path(sys.argv[1]), ("sh", "-c", "kill -9 $PPID"), []).carry_out(ORDER)
"""


def orders(home: Path, command: tuple[str, ...], answers: list[OrderOutcome], obeys: str = "reboot") -> OrderHandler:
    controller = ControllerSettings(obeys=(obeys,), reboot_command=command)
    settings = Settings(roots=Roots(proc=str(home)), controller=controller)
    actions = {"reboot": reboot(settings, goes_down_seconds=0.01)}
    return OrderHandler(actions, (obeys,), home / "orders.jsonl", time.time, answers.append)


def boot(home: Path, name: str) -> None:
    (home / BOOT_ID).parent.mkdir(parents=True, exist_ok=True)
    (home / BOOT_ID).write_text(f"{name}\n")


def ended_by_its_own_command(home: Path) -> None:
    root = str(Path(__file__).parents[3])
    ended = subprocess.run([sys.executable, "-c", AGENT, str(home), root], cwd=root, capture_output=True, text=True)
    assert ended.returncode == -9, ended.stderr


def test_the_agent_of_the_next_boot_says_that_the_node_was_restarted(tmp_path: Path) -> None:
    boot(tmp_path, "first")
    ended_by_its_own_command(tmp_path)
    boot(tmp_path, "second")
    answers: list[OrderOutcome] = []
    orders(tmp_path, ("touch", str(tmp_path / "again")), answers).carry_out(ORDER)
    assert [(one.order, one.ok) for one in answers] == [(7, True)]
    assert not (tmp_path / "again").exists(), "it is not restarted twice"


def test_in_the_same_boot_no_one_knows_what_came_of_it(tmp_path: Path) -> None:
    boot(tmp_path, "first")
    ended_by_its_own_command(tmp_path)
    answers: list[OrderOutcome] = []
    orders(tmp_path, ("touch", str(tmp_path / "again")), answers).carry_out(ORDER)
    assert not answers[0].ok
    assert "not known" in answers[0].reason
    assert not (tmp_path / "again").exists()


def test_a_node_that_stays_up_was_not_restarted(tmp_path: Path) -> None:
    answers: list[OrderOutcome] = []
    orders(tmp_path, ("true",), answers).carry_out(ORDER)
    assert not answers[0].ok
    assert "still up" in answers[0].reason


def test_a_command_that_fails_is_reported(tmp_path: Path) -> None:
    answers: list[OrderOutcome] = []
    orders(tmp_path, ("sh", "-c", "echo no such luck >&2; exit 3"), answers).carry_out(ORDER)
    assert "exit code 3: no such luck" in answers[0].reason


def test_without_a_word_in_its_own_policy_it_is_refused(tmp_path: Path) -> None:
    assert "reboot" not in ControllerSettings().obeys
    answers: list[OrderOutcome] = []
    orders(tmp_path, ("touch", str(tmp_path / "done")), answers, obeys="retest").carry_out(ORDER)
    assert "own policy does not list reboot" in answers[0].reason
    assert not (tmp_path / "done").exists()
