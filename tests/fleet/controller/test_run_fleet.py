"""`holdfast run` with a real controller: leaves out who is unfit, hears what agents told, says who is to blame."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.client.client import Client
from holdfast.supervisor.nodes.controller import ControllerFleet
from tests.supervisor.stage import supervise

from .running import Controller, running

pytestmark = pytest.mark.slow
XID = {
    "kind": "xid", "text": "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.", "device": "0000:9b:00",
    "code": 79, "severity": "fatal", "action": "restart_node",
}  # fmt: skip


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    policy = "dry_run = false\nbreaker_share = 1.0\n"
    with running(tmp_path_factory.mktemp("run_fleet"), policy=policy) as one:
        yield one


def test_who_is_to_blame_leaves_service_and_is_unfit_from_then_on(controller: Controller) -> None:
    controller.ready_node("f1")
    controller.ready_node("f2")
    message: list[str] = []
    fleet = ControllerFleet(Client(controller.url, controller.admin), message.append)
    assert "f1" not in fleet.unfit()
    fleet.report_failed_nodes(["f1", "nobody"], "gpu.fell_off_bus")
    controller.reaches("f1", "quarantined")
    assert "gpu.fell_off_bus" in fleet.unfit()["f1"]
    assert "f2" not in fleet.unfit()
    assert any("did not quarantine nobody" in line for line in message)


def test_without_a_controller_the_run_goes_on() -> None:
    message: list[str] = []
    fleet = ControllerFleet(Client("http://127.0.0.1:9", ""), message.append)
    assert fleet.unfit() == {}
    assert fleet.evidence(["n1"], 0.0) == []
    fleet.request_test(["n1"], "lost")
    assert len(message) == 3


def test_what_the_agent_reported_explains_a_death_without_a_word(controller: Controller, tmp_path: Path) -> None:
    agent = controller.ready_node("e1")
    result = tmp_path / "result"
    wait = f"if a == '1':\n  while not os.path.exists({str(result)!r}): time.sleep(0.05)\n  os.kill(os.getpid(), 9)"
    program = f"import os, time\na = os.environ['HOLDFAST_ATTEMPT']\nprint('step 1 loss 1.0', flush=True)\n{wait}"
    options = ("--url", controller.url, "--token", controller.admin)
    job = supervise(tmp_path / "e1", [sys.executable, "-c", program], *options)
    job.until(lambda: "step 1" in job.output)
    agent.send(agent.next(events=[{**XID, "at": time.time()}]))
    result.touch()
    assert job.end() == 0, job.log
    first = job.run["attempts"][0]
    assert (first["cause"], first["subject"]) == ("gpu.fell_off_bus", "node/e1/pci/0000:9b:00")
    assert "controller/e1" in first["evidence"][0]


@pytest.mark.soak
def test_a_node_that_is_out_of_service_is_replaced_by_a_spare(controller: Controller, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the training extra is not installed")
    for name in ("s1", "s2", "s3"):
        controller.ready_node(name)
    store = f"127.0.0.1:{20000 + os.getpid() % 9000 + 200}"
    program = "import os; print('step', 1, 'loss 1.0', flush=True)"
    ControllerFleet(Client(controller.url, controller.admin), [].append).report_failed_nodes(
        ["s2"], "an operator's doubt"
    )
    controller.reaches("s2", "quarantined")
    jobs = {}
    for name in ("s2", "s3", "s1"):  # the leader last, so that the others wait for its store and join together
        lead = ("--lead", "--url", controller.url, "--token", controller.admin) if name == "s1" else ()
        options = ("--nodes", "2", "--store", store, *lead)
        jobs[name] = supervise(tmp_path / name, [sys.executable, "-c", program], *options)
    assert jobs["s1"].end() == 0, jobs["s1"].log
    assert jobs["s1"].run["attempts"][0]["nodes"] == ["s1", "s3"], jobs["s1"].log
    assert jobs["s2"].end() == jobs["s3"].end() == 0
