"""From a report to a story, over HTTP and on a real store: a node enrols, fails, is mended and returns."""

import re
from pathlib import Path

from .running import Controller, running, until


def test_a_node_that_fails_is_quarantined_reset_tested_and_returned(controller: Controller) -> None:
    agent = controller.ready_node("n1")
    agent.verdict("gpu.ecc", "fail", "GPU 3: 2 uncorrectable errors")
    reset = agent.ordered("reset_gpu")
    assert controller.stage("n1") == "resetting"
    agent.verdict("gpu.ecc", "pass")
    agent.answer(reset)
    agent.pass_test()
    assert controller.stage("n1") == "ready"
    result = [entry["title"] for entry in reversed(controller.node_history("n1")) if entry["kind"] == "transition"]
    assert result == [
        "provisioning -> testing",
        "testing -> ready",
        "ready -> draining",
        "draining -> quarantined",
        "quarantined -> resetting",
        "resetting -> testing",
        "testing -> ready",
    ]
    why = next(entry for entry in controller.node_history("n1") if entry["title"] == "ready -> draining")
    assert "2 uncorrectable errors" in why["detail"]


def test_a_node_is_released_when_what_its_memory_held_is_in_storage(controller: Controller) -> None:
    agent = controller.ready_node("n8")
    assert agent.send(agent.next(unsaved=["llama"]))["flush_seconds"] == 0
    operator = controller.token(name="olga", role="operator")
    assert controller.post("/v1/nodes/n8/quarantine", {"reason": "a fan"}, operator).json()["stage"] == "draining"
    assert agent.send(agent.next(unsaved=["llama"]))["flush_seconds"] == 120
    assert controller.stage("n8") == "draining"
    agent.send(agent.next())
    controller.reaches("n8", "quarantined")


def test_a_report_sent_twice_is_stored_once_and_reported_so(controller: Controller) -> None:
    agent = controller.enrol("n2")
    change = {"at": 1.0, "check": "gpu.power", "before": "", "after": "degraded", "reason": "only once"}
    report = agent.next(changes=[change])
    assert agent.send(report)["accepted"] == [True]
    assert agent.send(report)["accepted"] == [False]
    assert (
        len([one for one in controller.node_history("n2") if one["detail"] == "only once" and one["kind"] == "verdict"])
        == 1
    )


def test_an_operator_quarantines_and_releases_and_the_history_names_them(controller: Controller) -> None:
    agent = controller.ready_node("n3")
    anna = controller.token(name="anna", role="operator")
    view = controller.post("/v1/nodes/n3/quarantine", {"reason": "a loud fan"}, anna).json()
    assert view["stage"] == "draining"
    controller.reaches("n3", "quarantined")
    assert controller.post("/v1/nodes/n3/release", {"reason": "a new fan"}, anna).json()["stage"] == "testing"
    agent.pass_test()
    assert controller.stage("n3") == "ready"
    assert {one["verb"] for one in controller.audited(who="anna")} == {"quarantine", "release"}


def test_a_request_that_changes_nothing_is_refused_with_the_stage(controller: Controller) -> None:
    controller.enrol("n4")
    reply = controller.post("/v1/nodes/n4/release", {"reason": "why not"})
    assert (reply.status_code, reply.json()["code"]) == (409, "no_change")
    assert "testing" in reply.json()["error"]


def test_one_nodes_order_cannot_be_answered_by_another(controller: Controller) -> None:
    victim, other = controller.enrol("n5"), controller.enrol("n6")
    order = victim.ordered("retest")
    other.answer({**order, "id": order["id"]}, health="pass")
    assert controller.stage("n5") == "testing"
    victim.answer(order, health="pass")
    assert controller.stage("n5") == "ready"


def test_actions_are_listed_with_how_they_ended(controller: Controller) -> None:
    controller.ready_node("n7")
    until(lambda: _states(controller, "n7") == {"cordon": "done", "retest": "done", "uncordon": "done"}, "all done")


def _states(controller: Controller, node: str) -> dict[str, str]:
    return {one["verb"]: one["state"] for one in controller.get("/v1/actions", node=node)["actions"]}


def test_fifty_nodes_behind_one_leaf_are_one_incident_and_no_quarantine(tmp_path: Path) -> None:
    with running(tmp_path) as controller:
        agents = [controller.ready_node(f"m{number}", place={"leaf": "l1"}) for number in range(6)]
        controller.ready_node("other", place={"leaf": "l2"})
        for agent in agents:
            agent.verdict("fabric.port_down", "fail", "port 1 is down")
        incidents = controller.get("/v1/incidents")["incidents"]
        stages = [controller.stage(agent.name) for agent in agents]
        post_mortem = controller.ask("GET", "/v1/post-mortems/leaf/l1")
        unknown = controller.ask("GET", "/v1/post-mortems/leaf/none")
    assert [one["subject"] for one in incidents if one["cause"] != "breaker"] == ["leaf/l1"]
    assert post_mortem.headers["content-type"].startswith("text/markdown") and unknown.status_code == 404
    assert re.match(r"# leaf/l1: [2-6] nodes behind it fail together\n", post_mortem.text), post_mortem.text
    assert "owner: network" in post_mortem.text and "m0, m1, m2" in post_mortem.text
    assert stages.count("ready") >= 5  # one may leave before a second failure shows that it is not alone


def test_an_answer_to_an_order_of_a_lost_store_is_no_pass(controller: Controller) -> None:
    agent = controller.enrol("n9")
    order = agent.ordered("retest")
    stale = {"order": order["id"], "verb": "retest", "ok": True, "health": "pass", "key": "n9:retest:1.000"}
    agent.send(agent.next(outcomes=[{**stale, "began": 1.0, "suite": order["suite"]}]))
    assert controller.stage("n9") == "testing"
    agent.answer(order, health="pass")
    controller.reaches("n9", "ready")
