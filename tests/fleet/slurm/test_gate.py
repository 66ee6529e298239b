"""The gate in a real Slurm: deploy/slurm's own scripts and slurm.conf lines, with a verdict file per node."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

DEPLOY = Path(__file__).parents[3] / "deploy" / "slurm"
OURS = "holdfast: gpu.xid: gpu 3: Xid 79, 'fallen' off; the bus=gone, 100 % [really]"
WRAPPER = """#!/bin/sh
# slurmd gives its scripts no environment of the site's; this stands for what a site would edit into them.
export SLURM_CONF={root}/slurm.conf HOLDFAST={root}/holdfast
export HOLDFAST_GATE_OPTIONS="--file {root}/$SLURMD_NODENAME.{name}.json"
test -e {root}/$SLURMD_NODENAME.refuse && export HOLDFAST_ON_UNKNOWN=refuse
test -e {root}/$SLURMD_NODENAME.broken && export HOLDFAST=/nonexistent
test -e {root}/$SLURMD_NODENAME.meek && HOLDFAST_GATE_OPTIONS="$HOLDFAST_GATE_OPTIONS --drain never"
test {name} = healthcheck && test ! -e {root}/$SLURMD_NODENAME.{name}.json && exit 0
{deploy}/{name}.sh
code=$?
printf x >> {root}/$SLURMD_NODENAME.{name}.ran
exit $code
"""
HOLDFAST = """#!/bin/sh
test "$1" = gate && shift
exec {python} -m holdfast.cli.gate.gate "$@"
"""


class Site:
    """A cluster as deploy/slurm sets it up, and the verdicts its nodes' agents wrote."""

    def __init__(self, make: Callable[..., Any]) -> None:
        snippet = (DEPLOY / "slurm.conf.snippet").read_text()
        assert "/etc/slurm/holdfast/" in snippet
        # Only sooner than on a site, where a minute does not matter.
        snippet = snippet.replace("HealthCheckInterval=60", "HealthCheckInterval=2")
        snippet = snippet.replace(
            "nohold_on_prolog_fail", "nohold_on_prolog_fail,batch_sched_delay=0,sched_min_interval=0"
        )
        self.slurm = make(nodes=4, extra=snippet.replace("/etc/slurm/holdfast", "{root}"), prepare=install)
        self.root = self.slurm.root

    def verdict(self, node: str, health: str, age: float = 1.0, script: str = "prolog") -> None:
        reason = 'gpu 3: Xid 79, "fallen" off;\nthe bus=gone, 100 % [really]'
        rows = [{"check": "gpu.xid", "health": health, "reason": reason}]
        document = {"format": 1, "node": node, "at": time.time() - age, "health": health, "twin": False}
        file = self.root / f"{node}.{script}.json"
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps({**document, "reason": reason, "verdicts": rows}))
        fresh.rename(file)

    def runs(self, node: str) -> str:
        """Submit a job to the node; its id."""
        return self.slurm.submit(node, "echo ran")

    def ran(self, job: str) -> bool:
        return (self.root / f"out.{job}").exists()


def install(root: Path) -> None:
    for name in ("prolog", "healthcheck"):
        write(root / f"{name}.sh", WRAPPER.format(root=root, name=name, deploy=DEPLOY))
    write(root / "holdfast", HOLDFAST.format(python=sys.executable))


def write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(scope="module")
def shared(slurm_cluster: Callable[..., Any]) -> Site:
    return Site(slurm_cluster)


@pytest.fixture
def site(shared: Site) -> Site:
    for pattern in ("*.json", "*.refuse", "*.broken", "*.meek"):
        for left in shared.root.glob(pattern):
            left.unlink()
    shared.slurm.clear()
    return shared


def test_a_failed_node_runs_nothing_and_carries_our_reason_alone(site: Site) -> None:
    slurm = site.slurm
    site.verdict("node1", "fail")
    job = site.runs("node1")
    slurm.eventually(lambda: "Restarts=1" in slurm.run("scontrol", "show", "job", job))
    assert (slurm.state("node1"), slurm.reason("node1")) == ("drain", OURS)
    assert not site.ran(job)
    assert slurm.job(job) == "PENDING"
    assert "held" not in slurm.run("scontrol", "show", "job", job), "free to start elsewhere without a person"


def test_without_our_drain_slurm_writes_its_own_reason(site: Site) -> None:
    """The control: should Slurm ever stop doing so, the drain before refusing has lost its purpose."""
    site.verdict("node1", "fail")
    (site.root / "node1.meek").touch()
    job = site.runs("node1")
    site.slurm.eventually(lambda: site.slurm.reason("node1") == "Prolog error")
    assert not site.ran(job)


def test_an_interactive_job_is_refused_with_our_reason(site: Site) -> None:
    site.verdict("node1", "fail")
    command = ["srun", "-w", "node1", "hostname"]
    done = subprocess.run(command, env=site.slurm.environ, capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert done.stdout == ""
    assert site.slurm.reason("node1") == OURS


@pytest.mark.parametrize("health", ["pass", "degraded"])
def test_a_working_node_runs_the_job(site: Site, health: str) -> None:
    site.verdict("node2", health)
    job = site.runs("node2")
    site.slurm.eventually(lambda: site.slurm.job(job) == "COMPLETED")
    assert site.ran(job)
    assert site.slurm.reason("node2") == "none"


@pytest.mark.parametrize("trouble", ["stale", "missing", "broken"])
def test_unknown_is_allowed_by_default(site: Site, trouble: str) -> None:
    make_trouble(site, "node3", trouble)
    job = site.runs("node3")
    site.slurm.eventually(lambda: site.slurm.job(job) == "COMPLETED")
    assert site.slurm.reason("node3") == "none"


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [("stale", "verdict is 50"), ("missing", "no verdict file"), ("broken", "could not run (exit code 127)")],
)
def test_unknown_is_refused_with_our_reason_where_the_site_wants_it(site: Site, trouble: str, reason: str) -> None:
    make_trouble(site, "node3", trouble)
    (site.root / "node3.refuse").touch()
    job = site.runs("node3")
    site.slurm.eventually(lambda: site.slurm.state("node3") == "drain" and site.slurm.job(job) == "PENDING")
    assert site.slurm.reason("node3").startswith("holdfast: gate: ")
    assert reason in site.slurm.reason("node3")
    assert not site.ran(job)


def make_trouble(site: Site, node: str, trouble: str) -> None:
    if trouble == "stale":
        site.verdict(node, "pass", age=500)
    elif trouble == "broken":
        (site.root / f"{node}.broken").touch()


def test_the_health_check_drains_a_failed_node_and_never_resumes_it(site: Site) -> None:
    slurm = site.slurm
    site.verdict("node4", "fail", script="healthcheck")
    slurm.eventually(lambda: slurm.state("node4") == "drain")
    assert slurm.reason("node4") == OURS
    site.verdict("node4", "pass", script="healthcheck")
    wait_for_health_checks(site, "node4")
    assert (slurm.state("node4"), slurm.reason("node4")) == ("drain", OURS)


def test_the_health_check_lets_a_running_job_finish(site: Site) -> None:
    slurm = site.slurm
    site.verdict("node4", "pass")
    job = slurm.submit("node4", f"while test ! -e {site.root}/finish; do sleep 0.1; done; echo ran")
    slurm.eventually(lambda: slurm.job(job) == "RUNNING")
    site.verdict("node4", "fail", script="healthcheck")
    slurm.eventually(lambda: slurm.state("node4") == "drng")
    (site.root / "finish").touch()
    slurm.eventually(lambda: slurm.job(job) == "COMPLETED")


def test_the_health_check_leaves_an_unknown_node_in_service(site: Site) -> None:
    site.verdict("node4", "unknown", script="healthcheck")
    wait_for_health_checks(site, "node4")
    assert site.slurm.state("node4") == "idle"


def test_a_drain_made_by_hand_is_never_overwritten_nor_cleared(site: Site) -> None:
    slurm = site.slurm
    slurm.update("node4", "drain", "ana: swapping the fan tray")
    for health in ("fail", "pass"):
        site.verdict("node4", health, script="healthcheck")
        wait_for_health_checks(site, "node4")
        assert (slurm.state("node4"), slurm.reason("node4")) == ("drain", "ana: swapping the fan tray")


def test_inside_a_job_the_gate_answers_but_does_not_drain(site: Site) -> None:
    slurm = site.slurm
    site.verdict("node2", "pass")
    site.verdict("node2", "fail", script="task")
    job = slurm.submit("node2", f"{site.root}/holdfast gate --file {site.root}/node2.task.json; echo code $?")
    slurm.eventually(lambda: slurm.job(job) == "COMPLETED")
    assert (site.root / f"out.{job}").read_text().splitlines()[-1] == "code 2"
    assert slurm.state("node2") == "idle"


def wait_for_health_checks(site: Site, node: str, count: int = 2) -> None:
    """Until the node's health check has run `count` times more."""
    log = site.root / f"{node}.healthcheck.ran"
    before = log.stat().st_size if log.exists() else 0
    site.slurm.eventually(lambda: log.exists() and log.stat().st_size >= before + count)
