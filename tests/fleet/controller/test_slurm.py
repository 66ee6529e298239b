"""A controller on a real Slurm: drains with our reason, work that finishes first, and others' drains left alone."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.lab.twin.inject import inject

from .running import Controller, until
from .slurm_site import Site
from .slurm_twin import agent_on_twin, twin_site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with twin_site(tmp_path_factory.mktemp("slurm"), 2) as one:
        yield one


def test_a_broken_twin_is_drained_finishes_its_job_and_is_idle_again_after_the_test(site: Site) -> None:
    """From the driver's library to sinfo: a real agent on the twin, a real controller, a real Slurm."""
    slurm, node = site.slurm, "node1"
    finish = slurm.root / "finish"
    with agent_on_twin(site, node) as twin:
        slurm.eventually(lambda: slurm.state(node).startswith("dr"), within=60)
        assert slurm.reason(node).startswith("holdfast: untested")
        slurm.eventually(lambda: slurm.state(node) == "idle", within=60)
        job = slurm.submit(node, f"while test ! -e {finish}; do sleep 0.1; done")
        slurm.eventually(lambda: slurm.job(job) == "RUNNING")
        until(lambda: site.controller.stage(node) == "allocated", "the job is seen")
        inject(twin, "gpu_off_bus", gpu=3)
        slurm.eventually(lambda: slurm.state(node) == "drng")
        assert slurm.reason(node).startswith(("holdfast: gpu.xid", "holdfast: gpu.lost"))
        assert slurm.job(job) == "RUNNING"
        assert site.controller.stage(node) == "draining"
        ended = time.time()
        finish.touch()
        slurm.eventually(lambda: slurm.job(job) == "COMPLETED")
        slurm.eventually(lambda: slurm.state(node) == "idle", within=90)
        assert site.controller.get(f"/v1/nodes/{node}")["tested_at"] > ended
    [stored] = site.controller.get("/v1/jobs", node=node)["jobs"]
    assert (stored["id"], stored["state"], stored["exit_code"]) == (job, "completed", "0:0")


NOTES = pytest.mark.parametrize("note", ["ana: swapping the fan tray", "NHC: check_hw_ib:  No IB port 1"])


@NOTES
def test_a_drain_made_before_ours_is_never_touched(site: Site, note: str) -> None:
    slurm, node = site.slurm, "node2"
    agent = ready(site, node)
    slurm.update(node, "drain", note)
    cause = f"gpu.before{len(note)}"  # another one each time: the same again would climb the ladder
    agent.verdict(cause, "fail", "Xid 79 on GPU 3")
    assert "whose reason stays" in ended(site.controller, node, "drain")["detail"]
    agent.verdict(cause, "pass")
    agent.pass_test()
    assert "not by us" in ended(site.controller, node, "uncordon")["detail"]
    slurm.eventually(lambda: (slurm.state(node), slurm.reason(node)) == ("drain", note))  # our reservation is over
    slurm.update(node, "resume")


@NOTES
def test_who_takes_our_drain_over_keeps_it(site: Site, note: str) -> None:
    slurm, node = site.slurm, "node2"
    agent = ready(site, node)
    cause = f"gpu.during{len(note)}"
    agent.verdict(cause, "fail", "Xid 79 on GPU 3")
    slurm.eventually(lambda: slurm.reason(node).startswith(f"holdfast: {cause}"))
    slurm.update(node, "drain", note)
    agent.verdict(cause, "pass")
    agent.pass_test()
    assert "not by us" in ended(site.controller, node, "uncordon")["detail"]
    slurm.eventually(lambda: (slurm.state(node), slurm.reason(node)) == ("drain", note))  # our reservation is over
    slurm.update(node, "resume")


@NOTES
def test_a_drain_made_after_ours_outlives_a_job_and_a_test(site: Site, note: str) -> None:
    slurm, node = site.slurm, "node2"
    agent = ready(site, node)
    finish = slurm.root / f"finish.{len(note)}"
    job = slurm.submit(node, f"while test ! -e {finish}; do sleep 0.1; done")
    slurm.eventually(lambda: slurm.job(job) == "RUNNING")
    slurm.update(node, "drain", note)
    finish.touch()
    agent.pass_test()
    assert "not by us" in ended(site.controller, node, "uncordon")["detail"]
    slurm.eventually(lambda: (slurm.state(node), slurm.reason(node)) == ("drain", note))  # our reservation is over
    assert site.controller.stage(node) == "ready"
    slurm.update(node, "resume")


def ready(site: Site, node: str) -> Any:
    """A node in service, with the fake agent that speaks for it."""
    known = _agents.get(node)
    if known is None:
        known = _agents[node] = site.controller.enrol(node)
        known.pass_test()
        assert ended(site.controller, node, "uncordon")["state"] == "done"
    site.ready(node)
    (site.slurm.root / node / "run" / "verdict.tested").touch()
    return known


_agents: dict[str, Any] = {}


def ended(controller: Controller, node: str, verb: str) -> dict[str, Any]:
    """The newest action of the kind, once it has ended."""

    def found() -> dict[str, Any] | None:
        actions = [one for one in controller.get("/v1/actions", node=node)["actions"] if one["verb"] == verb]
        newest: dict[str, Any] | None = max(actions, key=lambda one: one["id"], default=None)
        return newest if newest and newest["state"] in ("done", "failed") else None

    one: dict[str, Any] = until(found, f"{verb} ended")
    return one
