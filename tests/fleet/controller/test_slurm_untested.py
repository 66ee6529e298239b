"""The invariant in a real Slurm: nothing starts on a node whose last test is older than its last job."""

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from .running import until
from .slurm_site import Site, slurm_site

pytestmark = pytest.mark.slow
NODES = ("node1", "node2", "node3")


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster for each: what one leaves in the middle of its end is not the next one's."""
    with slurm_site(tmp_path_factory.mktemp("untested"), len(NODES)) as made:
        for node in NODES:
            made.join(node)
        made.ready(*NODES)
        yield made


def test_job_b_behind_job_a_never_starts_before_a_test_newer_than_the_end_of_a(site: Site) -> None:
    """The same node, then jobs of several nodes of which each shares some with the one before."""
    chain = [("-w", "node1"), ("-N2", "-w", "node1,node2"), ("-N3",)]
    jobs = [site.timed("--exclusive", *where) for where in chain]
    site.slurm.eventually(lambda: site.slurm.run("squeue", "-h") == "", within=60)
    uses: dict[str, list[tuple[float, float, str]]] = {}
    for job in jobs:
        assert site.slurm.job(job) == "COMPLETED"
        for node, at in site.times(job).items():
            uses.setdefault(node, []).append((at["begin"], at["end"], job))
    assert sorted(len(used) for used in uses.values()) == [1, 2, 3]
    for node, used in uses.items():
        used.sort()
        for (_, end, a), (begin, _, b) in pairwise(used):
            assert site.tested_between(node, end, begin), f"{b} after {a} on {node}: {site.tests(node)}"
    site.ready(*NODES)
    stored = {one["id"]: one for one in site.controller.get("/v1/jobs")["jobs"]}
    assert {stored[job]["state"] for job in jobs} == {"completed"}
    assert {stored[job]["exit_code"] for job in jobs} == {"0:0"}


def test_a_shared_node_is_tested_when_empty_and_nothing_new_starts_meanwhile(site: Site) -> None:
    finish = site.slurm.root / "finish-long"
    long = site.timed("-w", "node1", "-n1", then=f"while test ! -e {finish}; do sleep 0.1; done")
    short = site.timed("-w", "node1", "-n1", seconds=0.5)
    site.slurm.eventually(lambda: site.slurm.job(short) == "COMPLETED")
    site.slurm.eventually(lambda: site.slurm.state("node1") == "drng")
    assert site.slurm.job(long) == "RUNNING"
    after = site.timed("-w", "node1", "-n1")
    site.slurm.eventually(lambda: "holdfast: untested" in site.slurm.reason("node1"))
    finish.touch()
    site.slurm.eventually(lambda: site.slurm.job(after) == "COMPLETED", within=90)
    ends = [site.times(job)["node1"]["end"] for job in (long, short)]
    assert site.tested_between("node1", max(ends), site.times(after)["node1"]["begin"])


def test_a_fresh_slurmd_runs_nothing_until_tested(site: Site) -> None:
    tester = site.testers["node3"]
    tester.may_test.clear()
    tester.asked.clear()
    before = len(site.tests("node3"))
    stop_slurmd(site, "node3")
    site.script("slurmd-start.sh", "node3")  # as systemd does before it starts slurmd
    site.slurm.start("slurmd", "-D", "-N", "node3")
    site.slurm.eventually(lambda: site.slurm.state("node3") == "drain")
    assert site.slurm.reason("node3") == "holdfast: untested: slurmd starts"
    job = site.timed("-w", "node3")
    until(tester.asked.is_set, "node3 is asked to test itself")
    assert site.slurm.job(job) == "PENDING"
    tester.may_test.set()
    site.slurm.eventually(lambda: site.slurm.job(job) == "COMPLETED", within=90)
    assert site.tests("node3")[before] < site.times(job)["node3"]["begin"]


def test_a_slurmd_that_restarts_without_the_hook_is_seen_by_the_controller(site: Site) -> None:
    before = len(site.tests("node3"))
    stop_slurmd(site, "node3")
    site.slurm.start("slurmd", "-D", "-N", "node3")
    until(lambda: len(site.tests("node3")) > before, "node3 is tested again")


def test_with_the_controller_away_a_used_node_stays_out_and_returns_with_it(site: Site) -> None:
    """On node2 the epilog drains. On node1 it cannot reach Slurm, which gives the node away: there the prolog refuses,
    and drains. Both jobs wait for the controller, and for a test."""
    (site.slurm.root / "away").mkdir()
    (site.slurm.root / "away" / "scontrol").symlink_to("/bin/false")
    away = f"test $SLURMD_NODENAME = node1 && export PATH={site.slurm.root}/away:/usr/bin:/bin"
    mark = f'exec {site.slurm.root}/holdfast/untested.sh "job $SLURM_JOB_ID ended here"'
    site.controller.kill()
    with replaced(site, "epilog.sh", f"#!/bin/sh\n{away}\n{mark}\n"):
        first = {node: site.timed("-w", node) for node in ("node1", "node2")}
        site.slurm.eventually(lambda: site.slurm.run("squeue", "-h") == "", within=120)
        site.slurm.eventually(lambda: [site.slurm.state(node) for node in first] == ["idle", "drain"])
        assert site.slurm.reason("node2") == f"holdfast: untested: job {first['node2']} ended here"
        second = {node: site.timed("-w", node) for node in first}
        site.slurm.eventually(lambda: "Restarts=1" in site.slurm.run("scontrol", "show", "job", second["node1"]))
        site.slurm.eventually(lambda: site.slurm.state("node1") == "drain")
    assert site.slurm.reason("node1") == f"holdfast: untested: job {second['node1']} came before a test"
    site.slurm.run("scontrol", "update", f"jobid={second['node1']}", "StartTime=now")  # not in two minutes
    site.restart_controller()
    site.slurm.eventually(lambda: all(site.slurm.job(job) == "COMPLETED" for job in second.values()), within=90)
    for node in first:
        end, begin = site.times(first[node])[node]["end"], site.times(second[node])[node]["begin"]
        assert site.tested_between(node, end, begin)
        both = {first[node], second[node]}
        site.slurm.eventually(lambda node=node, both=both: both <= site.jobs_reported(node))


def test_an_epilog_that_is_killed_leaves_a_node_that_slurm_itself_drained(site: Site) -> None:
    with replaced(site, "epilog.sh", "#!/bin/sh\nkill -9 $$\n"):
        a = site.timed("-w", "node2")
        site.slurm.eventually(lambda: site.slurm.job(a) == "COMPLETED")
        site.slurm.eventually(lambda: site.slurm.state("node2") == "drain")
        b = site.timed("-w", "node2")
        assert site.slurm.reason("node2") == "Epilog error"
    until(lambda: site.controller.stage("node2") == "ready", "node2 is tested")
    assert (site.slurm.state("node2"), site.slurm.job(b)) == ("drain", "PENDING"), "Slurm's own drain is not ours"
    site.slurm.update("node2", "resume")
    site.slurm.eventually(lambda: site.slurm.job(b) == "COMPLETED", within=90)


def test_many_very_short_jobs_in_a_row_end_with_every_node_tested_and_idle(site: Site) -> None:
    """Jobs of some milliseconds: an epilog often marks the node while our own undrain is still being looked at."""
    jobs = [site.timed("--exclusive", "-N1") for _ in range(15)]
    site.slurm.eventually(lambda: site.slurm.run("squeue", "-h") == "", within=120)
    site.ready(*NODES)
    uses: dict[str, list[tuple[float, float]]] = {}
    for job in jobs:
        [(node, at)] = site.times(job).items()
        uses.setdefault(node, []).append((at["begin"], at["end"]))
    for node, used in uses.items():
        used.sort()
        for (_, end), (begin, _) in pairwise(used):
            assert site.tested_between(node, end, begin), f"{node}: {used}, tested {site.tests(node)}"
        assert site.tested_between(node, used[-1][1], time.time())
    refused = (site.slurm.root / "slurmctld.log").read_text().count("came before")
    assert refused == 0, "the drain held; the prolog had nothing to refuse"


def stop_slurmd(site: Site, node: str) -> None:
    for daemon in [one for one in site.slurm.daemons if node in one.args and one.poll() is None]:
        daemon.terminate()
        daemon.wait()


class replaced:
    """A script of the site, for a while."""

    def __init__(self, site: Site, name: str, text: str) -> None:
        self.path: Path = site.slurm.root / "holdfast" / name
        self.text, self.kept = text, ""

    def __enter__(self) -> None:
        self.kept = self.path.read_text()
        self.path.write_text(self.text)

    def __exit__(self, *_: object) -> None:
        self.path.write_text(self.kept)
