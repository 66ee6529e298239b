"""The asset record over HTTP: parts from the agent, a swap that is noticed, tickets, and a node that is forgotten."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from holdfast.cli.app import app

from .running import Controller, running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    with running(tmp_path_factory.mktemp("assets")) as made:
        yield made


def parts(**serials: str) -> list[dict[str, str]]:
    return [{"place": place.replace("_", "/"), "serial": serial, "model": "H100"} for place, serial in serials.items()]


def ask(controller: Controller, *command: str) -> Any:
    login = ["--url", controller.url, "--token", controller.admin, "--json"]
    result = CliRunner().invoke(app, [*command, *login])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_swap_is_noticed_audited_and_followed_by_a_test(controller: Controller, tmp_path: Path) -> None:
    agent = controller.ready_node("n1")
    agent.send(agent.next(heartbeat=True, parts=parts(gpu_0="A", gpu_1="B")))
    assert controller.stage("n1") == "ready"
    ask(controller, "node", "ticket", "n1", "RMA-1", "--part", "gpu/1", "--note", "ECC errors")
    ask(controller, "node", "ticket", "n1", "RMA-1", "--state", "sent")

    agent.send(agent.next(heartbeat=True, parts=parts(gpu_0="A", gpu_1="C")))
    assert controller.stage("n1") == "testing"
    record = ask(controller, "node", "assets", "n1")
    assert [one["part"]["serial"] for one in record["parts"]] == ["A", "C"]
    assert [one["part"]["serial"] for one in record["earlier"]] == ["B"]
    [ticket] = record["tickets"]
    assert (ticket["id"], ticket["state"], ticket["serial"], ticket["note"]) == ("RMA-1", "replaced", "B", "ECC errors")
    [entry] = controller.audited(verb="part_replaced", target="n1")
    assert "B was replaced by C" in entry["reason"]
    assert len(controller.audited(verb="ticket", target="n1")) == 2
    assert any("B was replaced by C" in str(line) for line in controller.node_history("n1"))
    agent.pass_test()
    assert controller.stage("n1") == "ready"


def test_two_swaps_in_reports_that_come_together_are_both_noticed(controller: Controller) -> None:
    """A spool is sent whole: the second report is compared with what the first one said."""
    agent = controller.ready_node("n5")
    agent.send(agent.next(heartbeat=True, parts=parts(gpu_0="A")))
    agent.send(agent.next(heartbeat=True, parts=parts(gpu_0="B")), agent.next(heartbeat=True, parts=parts(gpu_0="C")))
    record = ask(controller, "node", "assets", "n5")
    assert [one["part"]["serial"] for one in record["earlier"]] == ["A", "B"]
    assert [one["part"]["serial"] for one in record["parts"]] == ["C"]
    assert len(controller.audited(verb="part_replaced", target="n5")) == 2


def test_the_same_parts_again_change_nothing(controller: Controller) -> None:
    agent = controller.ready_node("n2")
    for _ in range(3):
        agent.send(agent.next(heartbeat=True, parts=parts(gpu_0="X")))
    assert controller.stage("n2") == "ready"
    assert controller.audited(verb="part_replaced", target="n2") == []


def test_a_forgotten_node_has_no_record(controller: Controller) -> None:
    agent = controller.ready_node("n3")
    agent.send(agent.next(heartbeat=True, parts=parts(gpu_0="Y")))
    controller.post("/v1/nodes/n3/remove", {"reason": "sold"})
    assert controller.post("/v1/nodes/n3/forget", {"reason": "sold"}).status_code == 200
    controller.enrol("n3")
    assert controller.get("/v1/nodes/n3/assets")["parts"] == []


@pytest.mark.parametrize(
    "body",
    [{"ticket": ""}, {"ticket": "x" * 256}, {"ticket": "T", "state": "lost"}, {"ticket": "T", "note": "n" * 1001}],
)
def test_a_ticket_that_makes_no_sense_is_refused(controller: Controller, body: dict[str, str]) -> None:
    assert controller.post("/v1/nodes/n1/tickets", body).status_code == 400
    assert controller.post("/v1/nodes/none/tickets", {"ticket": "T"}).status_code == 404
    assert controller.ask("GET", "/v1/nodes/none/assets").status_code == 404


def test_a_report_with_too_many_parts_is_refused(controller: Controller) -> None:
    agent = controller.enrol("n4")
    many = [{"place": f"gpu/{i}", "serial": str(i)} for i in range(257)]
    assert controller.report([agent.next(parts=many)], agent.credential).status_code == 400
