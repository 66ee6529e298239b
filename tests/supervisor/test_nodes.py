"""One supervisor per node: a link that goes down, a node that dies; a spare is taken and the training ends."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.node.probes.fabric import Fabric, address, fabric, run
from tests.ports import free_port
from tests.supervisor.stage import BIN, EXAMPLE, Supervised, supervise

pytest.importorskip("torch", reason="the training extra is not installed")
TOGETHER = ("--lost-seconds", "4", "--hang-floor-seconds", "60")


def training(folder: Path, processes: int) -> list[str | Path]:
    options = ["--steps", "60", "--timeout-seconds", "600", "--checkpoints", str(folder / "checkpoints")]
    return [BIN / "torchrun", "--nproc-per-node", str(processes), EXAMPLE, *options]


def on(made: Fabric, name: str, folder: Path) -> Supervised:
    lead = ("--lead",) if name == "h1" else ()
    options = ("--nodes", "2", "--store", f"{address('h1')}:29500", *lead, *TOGETHER)
    inside = ("ip", "netns", "exec", made.space(name), "env", "GLOO_SOCKET_IFNAME=eth0")
    return supervise(folder / name, training(folder, 2), *options, wrap=inside)


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and ip to make namespaces")
def test_a_link_that_goes_down(tmp_path: Path) -> None:
    with fabric(tmp_path) as made:
        jobs = {name: on(made, name, tmp_path) for name in ("h1", "h2", "h3")}
        lead = jobs["h1"]
        lead.until(lambda: "step 25 " in lead.output)
        spare = next(name for name in ("h2", "h3") if "waits as a spare" in jobs[name].log)
        hit = "h2" if spare == "h3" else "h3"
        run("ip", "-n", made.space("sw"), "link", "set", f"p{hit}", "down")
        down = time.time()
        assert lead.end() == 0, lead.log
        assert jobs[spare].end() == 0
        assert jobs[hit].end() == 1  # it cannot reach the leader
    first, second = lead.run["attempts"]
    assert first["cause"].startswith("fabric."), first
    assert hit in first["says"]
    assert first["nodes"] == ["h1", hit] and second["nodes"] == ["h1", spare]
    assert lead.run["excluded"] == [hit]
    assert second["first_step"] == 21
    assert first["ended"] - down < 60.0  # the collective itself would have waited for ten minutes


@pytest.mark.soak
def test_a_node_that_dies(tmp_path: Path) -> None:
    store = f"127.0.0.1:{free_port()}"
    command = ["env", "GLOO_SOCKET_IFNAME=lo", *training(tmp_path, 1)]
    jobs = {}
    for name in ("n1", "n2", "n3"):
        lead = ("--lead",) if name == "n1" else ()
        jobs[name] = supervise(tmp_path / name, command, "--nodes", "2", "--store", store, *lead, *TOGETHER)
    first = jobs["n1"]
    first.until(lambda: "step 25 " in first.output)
    hit = next(name for name in ("n2", "n3") if "waits as a spare" not in jobs[name].log)
    os.kill(jobs[hit].worker(1), signal.SIGSTOP)  # as a host without power, it does not say goodbye
    jobs[hit].process.kill()
    assert first.end() == 0, first.log
    assert first.run["excluded"] == [hit]
    assert first.run["attempts"][0]["subject"] in (f"node/{hit}", "job/this")


@pytest.mark.soak
def test_a_job_goes_on_with_fewer_nodes_when_no_spare_is_left(tmp_path: Path) -> None:
    store = f"127.0.0.1:{free_port()}"
    command = ["env", "GLOO_SOCKET_IFNAME=lo", *training(tmp_path, 1)]
    size = ("--min-nodes", "1", "--max-nodes", "2")
    first = supervise(tmp_path / "n1", command, *size, "--store", store, "--lead", *TOGETHER)
    second = supervise(tmp_path / "n2", command, *size, "--store", store, *TOGETHER)
    first.until(lambda: "step 25 " in first.output)
    os.kill(second.worker(1), signal.SIGSTOP)
    second.process.kill()
    assert first.end() == 0, first.log
    assert [one["nodes"] for one in first.run["attempts"]] == [["n1", "n2"], ["n1"]]
    assert first.run["attempts"][1]["first_step"] == 21  # from the checkpoint, with another world size
