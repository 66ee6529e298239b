"""Admission in a real Slurm, with the real gate: what the controller closed starts nothing."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .slurm_site import Site, Tester, slurm_site

pytestmark = pytest.mark.slow
NODES = ("node1", "node2", "node3", "node4")
GATE = """\
#!/bin/sh
test "$1" = gate && shift
exec {python} -m holdfast.cli.gate.gate --node "$SLURMD_NODENAME" "$@"
"""
SETTINGS = """\
HOLDFAST_CONFIG={root}/$SLURMD_NODENAME/holdfast.toml
HOLDFAST_GATE_OPTIONS="--max-age 600 --file {root}/$SLURMD_NODENAME/run/verdict.json"
"""
# What Slurm itself shows of the node at the moment of a reset.
RESET = """\
#!/bin/sh
export SLURM_CONF={root}/slurm.conf PATH=/usr/sbin:/usr/bin:/bin
scontrol -o show node "$1" >> {root}/resets
while test -e {root}/slow; do sleep 0.1; done
"""
CONTROLLER = """\
[actions]
reset_gpu = "command"
reboot = "command"
[command.commands]
reset_gpu = ["{root}/reset", "{{node}}"]
reboot = ["{root}/reset", "{{node}}"]
"""


SHORT_WAIT = "shared_first_seconds = 2\nshared_wait_seconds = 4\n"  # for the node's neighbours; the default is a minute


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Site]:
    """All nodes behind one leaf, so that a failure of one is held for a moment."""
    policy = getattr(request, "param", "")
    with slurm_site(tmp_path_factory.mktemp("admission"), len(NODES), CONTROLLER, policy) as made:
        root = made.slurm.root
        for name, text in (("gate", GATE.format(python=sys.executable)), ("reset", RESET.format(root=root))):
            (root / name).write_text(text)
            (root / name).chmod(0o755)
        with (root / "holdfast" / "settings.sh").open("a") as settings:
            settings.write(SETTINGS.format(root=root))
        for node in NODES:
            join(made, node)
        made.ready(*NODES)
        yield made


def join(site: Site, node: str) -> None:
    home = site.slurm.root / node
    agent = site.controller.enrol(node, place={"leaf": "l1"})
    (home / "credential").write_text(agent.credential)
    config = f'[controller]\nurl = "{site.controller.url}"\ncredential_file = "{home}/credential"\n'
    (home / "holdfast.toml").write_text(config)
    document = {"format": 1, "node": node, "at": time.time(), "health": "pass", "twin": False, "verdicts": []}
    (home / "run" / "verdict.json").write_text(json.dumps(document))
    tester = site.testers[node] = Tester(agent, home / "run")
    tester.start()


def test_a_quarantined_node_that_an_admin_resumes_starts_nothing_and_is_drained_again(site: Site) -> None:
    site.controller.post("/v1/nodes/node1/quarantine", {"reason": "smells of smoke"})
    site.controller.reaches("node1", "quarantined")
    site.slurm.eventually(lambda: "smells of smoke" in site.slurm.reason("node1"))
    for _ in range(3):
        site.slurm.update("node1", "resume")
        job = site.timed("-w", "node1")
        site.slurm.eventually(lambda: site.slurm.state("node1").startswith("dr"))
        site.slurm.run("scancel", job)
        assert site.times(job) == {}
    assert site.controller.stage("node1") == "quarantined"
    assert (site.slurm.root / "resets").exists() is False


def test_a_node_that_failed_and_is_well_again_starts_nothing_before_a_new_test(site: Site) -> None:
    tester = site.testers["node1"]
    tester.may_test.clear()
    failed_at = time.time()
    tester.agent.verdict("gpu.lost", "fail", "GPU 3 is gone")
    site.slurm.eventually(lambda: site.slurm.state("node1").startswith("dr"))
    assert site.controller.stage("node1") == "ready", "held for a moment: others behind its leaf may fail too"
    tester.agent.verdict("gpu.lost", "pass")
    job = site.timed("-w", "node1")
    site.controller.reaches("node1", "testing")
    assert site.times(job) == {}
    tester.may_test.set()
    site.slurm.eventually(lambda: site.slurm.job(job) == "COMPLETED", within=90)
    assert site.tested_between("node1", failed_at, site.times(job)["node1"]["begin"])


@pytest.mark.parametrize("site", [SHORT_WAIT], indirect=True, ids=["short wait"])
def test_with_slurmctld_away_nothing_is_reset_before_slurm_shows_the_node_drained_and_empty(site: Site) -> None:
    """One node runs a job while it fails. The controller cannot drain it for a while."""
    finish = site.slurm.root / "finish"
    job = site.timed("-w", "node1", then=f"while test ! -e {finish}; do sleep 0.1; done")
    site.slurm.eventually(lambda: "node1" in site.times(job))
    control = next(one for one in site.slurm.daemons if "slurmctld" in str(one.args))
    control.send_signal(signal.SIGTERM)  # it saves its state: a job that it forgot would be killed at its return
    control.wait()
    site.slurm.daemons.remove(control)
    site.testers["node1"].agent.verdict("gpu.lost", "fail", "GPU 3 is gone")
    site.controller.post("/v1/nodes/node1/quarantine", {"reason": "it is gone", "force": True})
    site.testers["node2"].agent.verdict("gpu.lost", "fail", "GPU 3 is gone")
    site.controller.reaches("node2", "draining")  # after the wait for its neighbours
    assert not (site.slurm.root / "resets").exists()
    site.slurm.start("slurmctld", "-D")
    site.slurm.eventually(lambda: site.slurm.state("node1") == "drng", within=90)
    assert site.controller.stage("node1") == "draining"
    finish.touch()
    site.controller.reaches("node1", "quarantined")
    site.slurm.eventually(lambda: resets(site, "node2"), within=90)
    for line in resets(site, "node1") + resets(site, "node2"):
        assert "State=IDLE+DRAIN" in line, line


@pytest.mark.parametrize("site", [SHORT_WAIT], indirect=True, ids=["short wait"])
def test_a_node_resumed_by_hand_during_its_reset_is_given_to_no_job_before_it_is_tested(site: Site) -> None:
    slow = site.slurm.root / "slow"
    slow.touch()
    site.testers["node1"].agent.verdict("gpu.lost", "fail", "GPU 3 is gone")
    site.slurm.eventually(lambda: resets(site, "node1"), within=90)
    began = time.time()
    site.slurm.update("node1", "resume")
    job = site.timed("-w", "node1")
    site.slurm.eventually(lambda: "ReqNodeNotAvail" in site.slurm.run("squeue", "-h", "-j", job, "-o", "%r"))
    assert "holdfast_node1_" in site.slurm.run("scontrol", "-o", "show", "reservation")
    site.testers["node1"].agent.verdict("gpu.lost", "pass")
    slow.unlink()
    site.slurm.eventually(lambda: site.slurm.job(job) == "COMPLETED", within=90)
    assert site.tested_between("node1", began, site.times(job)["node1"]["begin"])
    site.slurm.eventually(lambda: "No reservations" in site.slurm.run("scontrol", "show", "reservation"))
    assert len(resets(site, "node1")) == 1


def resets(site: Site, node: str) -> list[str]:
    file: Path = site.slurm.root / "resets"
    lines = file.read_text().splitlines() if file.exists() else []
    return [line for line in lines if line.startswith(f"NodeName={node} ")]


def test_a_held_node_stays_closed_and_no_one_drains_and_undrains_it(site: Site) -> None:
    """Three of four behind one leaf: no shared cause, no room in the pool. The health check runs all the while."""
    began = time.time()
    for node in NODES[:3]:
        document = json.loads((site.slurm.root / node / "run" / "verdict.json").read_text())
        (site.slurm.root / node / "run" / "verdict.json").write_text(json.dumps({**document, "health": "fail"}))
        site.testers[node].agent.verdict("gpu.lost", "fail", "GPU 3 is gone")
    site.slurm.eventually(lambda: all(site.slurm.state(node).startswith("dr") for node in NODES[:3]))
    drained = [site.slurm.reason(node) for node in NODES[:3]]
    for node in NODES[:3]:
        site.script("healthcheck.sh", node)
    assert [site.slurm.reason(node) for node in NODES[:3]] == drained
    actions = site.controller.get("/v1/actions")["actions"]
    lifted = [one for one in actions if one["verb"] == "uncordon" and one["at"] > began]
    assert not [one for one in lifted if one["node"] in NODES[:3]]
