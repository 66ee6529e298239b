"""Jobs that agents see move a node: allocated, cleaned, tested, ready; late and lost words change nothing for long."""

import time
from pathlib import Path
from typing import Any

import pytest

from .running import Agent, Controller, running, until


def holds(agent: Agent, *jobs: str, **more: Any) -> None:
    seen = [{"id": job, "gpus": 8, "start": time.time(), **more} for job in jobs]
    agent.send(agent.next(jobs=seen))


def job(controller: Controller, name: str) -> dict[str, Any]:
    return next(one for one in controller.get("/v1/jobs")["jobs"] if one["id"] == name)


def test_a_job_takes_its_nodes_through_a_round(controller: Controller) -> None:
    agents = [controller.ready_node(name) for name in ("a1", "a2")]
    for agent in agents:
        holds(agent, "train")
    assert [controller.stage(agent.name) for agent in agents] == ["allocated", "allocated"]
    assert (job(controller, "train")["nodes"], job(controller, "train")["gpus"]) == (["a1", "a2"], 16)
    holds(agents[0], "train", state="completed")
    assert job(controller, "train")["state"] == "running", "the other node still holds it"
    holds(agents[1], "train", state="completed")
    ended = job(controller, "train")
    assert ended["state"] == "completed"
    assert ended["end"] is not None
    agents[0].pass_test()
    controller.reaches("a1", "ready")


def test_an_agent_that_cannot_report_changes_nothing(controller: Controller) -> None:
    agent = controller.ready_node("b1")
    holds(agent, "j1")
    agent.beat()
    assert controller.stage("b1") == "allocated"
    holds(agent)
    assert controller.stage("b1") in ("cleaning", "testing")
    assert job(controller, "j1")["state"] == "unknown", "nobody said how it ended"


def test_a_late_report_brings_no_job_back(controller: Controller) -> None:
    agent = controller.ready_node("c1")
    late = agent.next(jobs=[{"id": "old"}])
    holds(agent)
    agent.send(late)
    assert controller.stage("c1") == "ready"


def test_a_draining_node_is_quarantined_when_its_job_is_gone(controller: Controller) -> None:
    agent = controller.ready_node("d1")
    holds(agent, "last")
    agent.verdict("gpu.ecc", "fail", "2 errors")
    assert controller.stage("d1") == "draining"
    holds(agent)
    controller.reaches("d1", "resetting")


def test_what_runs_is_known_to_a_controller_that_was_restarted(tmp_path: Path) -> None:
    """Its nodes, its start and its end; and a report from before it began, which comes late, empties no node.
    A twin is known as one, too."""
    with running(tmp_path, policy="dry_run = false\nbreaker_share = 1.0\n", more="demo = true\n") as controller:
        controller.enrol("t1", twin=True)
        agents = [controller.ready_node(name) for name in ("f1", "f2")]
        late = agents[0].next(jobs=[])
        for agent in agents:
            holds(agent, "long")
        before = job(controller, "long")
        controller.kill()
        again = controller.restarted()
        try:
            for agent in agents:
                agent.controller = again
            until(lambda: again.get("/healthz")["leading"], "it leads")
            assert again.get("/v1/nodes/t1")["twin"] and not again.get("/v1/nodes/f1")["twin"]
            agents[0].send(late)
            assert [again.stage(agent.name) for agent in agents] == ["allocated", "allocated"]
            assert job(again, "long") == before
            holds(agents[0], "long", state="completed")
            assert (job(again, "long")["state"], again.stage("f2")) == ("running", "allocated")
            holds(agents[1], "long", state="completed")
            ended = job(again, "long")
            assert (ended["state"], ended["nodes"], ended["gpus"]) == ("completed", ["f1", "f2"], 16)
            assert ended["start"] == before["start"]
        finally:
            again.kill()


@pytest.mark.parametrize(
    "jobs", [[{"id": ""}], [{"id": "x" * 300}], [{"id": "a", "state": "dancing"}], [{"id": "a"}] * 300, "all of them"]
)
def test_jobs_that_make_no_sense_are_refused(controller: Controller, jobs: Any) -> None:
    agent = controller.enrol("e1")
    reply = controller.report([agent.next(jobs=jobs)], agent.credential)
    assert reply.status_code == 400
    assert "jobs" in reply.json()["error"]
