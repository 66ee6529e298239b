"""A real Slurm as deploy/slurm sets it up for a controller, the controller, and an agent per node that is tested."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.fleet.store import Store
from holdfast.model.lifecycle import EventKind
from holdfast.node.agent.orders.retest import TestedMark

from ..slurm.conftest import NEEDED, SBIN, boot  # noqa: TID252  tests are no package to name
from .running import Agent, Controller, running, start

DEPLOY = Path(__file__).parents[3] / "deploy" / "slurm"
QUICK = "batch_sched_delay=0,sched_min_interval=0,sched_interval=1"
POLICY = {"dry_run": "false", "breaker_share": "1.0", "breaker_nodes": "100", "repeat_offences": "100"}
SETTINGS = """\
HOLDFAST_REQUIRE_TEST=yes
HOLDFAST_VERDICT={root}/$SLURMD_NODENAME/run/verdict
HOLDFAST={root}/gate
export SLURM_CONF=${{SLURM_CONF:-{root}/slurm.conf}}
"""


class Tester(threading.Thread):
    """A node's agent as far as its controller sees it: beats quickly, and runs a suite that passes."""

    def __init__(self, agent: Agent, home: Path) -> None:
        super().__init__(daemon=True)
        self.agent = agent
        self.mark = TestedMark(str(home / "verdict.json"))
        self.may_test = threading.Event()
        self.may_test.set()
        self.asked = threading.Event()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.1):
            with suppress(httpx.TransportError, AssertionError):  # the controller is away; there is another time
                self.agent.beat()
            while self.agent.orders and not self.over.is_set():
                self._obey(self.agent.orders[0])

    def _obey(self, order: dict[str, Any]) -> None:
        assert order["verb"] == "retest", order
        began = time.time()
        self.mark.begin(f"order {order['id']}")
        self.asked.set()
        while not self.may_test.wait(0.05) and not self.over.is_set():
            pass
        health = "pass" if self.mark.passed() else "unknown"
        outcome = {"order": order["id"], "verb": "retest", "ok": True, "health": health, "cause": ""}
        outcome |= {"reason": "", "began": began, "suite": order["suite"]}
        report = self.agent.next(outcomes=[outcome])
        while not self.over.is_set():
            with suppress(httpx.TransportError, AssertionError):
                self.agent.send(report)
                break
            time.sleep(0.1)
        self.agent.orders = [one for one in self.agent.orders if one["id"] != order["id"]]


class Site:
    def __init__(self, slurm: Any, controller: Controller) -> None:
        self.slurm, self.controller = slurm, controller
        self.testers: dict[str, Tester] = {}
        self._numbers = count()

    def join(self, node: str) -> Tester:
        """Enrol a node and let its agent run."""
        tester = self.testers[node] = Tester(self.controller.enrol(node), self.slurm.root / node / "run")
        tester.start()
        return tester

    def ready(self, *nodes: str) -> None:
        """Tested, and idle: a node that has just enrolled is idle until the controller drains it."""
        self.slurm.eventually(lambda: all(self._is_ready(node) for node in nodes), within=90)

    def _is_ready(self, node: str) -> bool:
        return self.controller.stage(node) == "ready" and self.slurm.state(node) == "idle"

    def script(self, name: str, node: str) -> None:
        """One of deploy/slurm, as slurmd or systemd would run it on a node."""
        environ = f"SLURMD_NODENAME={node}"
        self.slurm.run("env", environ, str(self.slurm.root / "holdfast" / name))

    def restart_controller(self) -> None:
        self.controller = start(self.controller.config, environ=self.slurm.environ)
        for tester in self.testers.values():
            tester.agent.controller = self.controller

    def timed(self, *options: str, seconds: float = 0.0, then: str = "") -> str:
        """A job that notes, on each of its nodes, when it began and ended there."""
        script = self.slurm.root / f"timed.{next(self._numbers)}.sh"
        note = "printf '%s %s %s\\n' $SLURMD_NODENAME $(date +%s.%N)"
        out = f"{self.slurm.root}/times.$SLURM_JOB_ID"
        script.write_text(f"#!/bin/sh\n{note} begin >> {out}\nsleep {seconds}\n{then}\n{note} end >> {out}\n")
        script.chmod(0o755)
        everywhere = f"srun -n $SLURM_NNODES -N $SLURM_NNODES {script}"
        where = ("-o", str(self.slurm.root / "out.%j"))
        return str(self.slurm.run("sbatch", "--parsable", *where, *options, "--wrap", everywhere))

    def times(self, job: str) -> dict[str, dict[str, float]]:
        """node -> begin and end."""
        found: dict[str, dict[str, float]] = {}
        file = self.slurm.root / f"times.{job}"
        for line in file.read_text().splitlines() if file.exists() else ():
            node, at, what = line.split()
            found.setdefault(node, {})[what] = float(at)
        return found

    def tests(self, node: str) -> list[float]:
        """When the tests began that the store counts as passed, oldest first."""
        store = Store.open(f"sqlite:///{self.controller.config.parent}/holdfast.db")
        try:
            found = [one for one in store.transitions(0.0) if one.node == node]
        finally:
            store.close()
        passed = [one.event.began for one in found if one.event.kind is EventKind.TEST_PASSED and one.after == "ready"]
        return [began for began in passed if began is not None]

    def jobs_reported(self, node: str) -> set[str]:
        return {one["id"] for one in self.controller.get("/v1/jobs", node=node)["jobs"]}

    def tested_between(self, node: str, end: float, begin: float) -> bool:
        return any(end < began < begin for began in self.tests(node))

    def close(self) -> None:
        for tester in self.testers.values():
            tester.over.set()
        for tester in self.testers.values():
            tester.join(10)


@contextmanager
def slurm_site(directory: Path, nodes: int, controller: str = "", policy: str = "") -> Iterator[Site]:
    """`controller` is more of its configuration, with {root}."""
    path = f"{os.environ['PATH']}:{SBIN}"
    missing = [name for name in NEEDED if shutil.which(name, path=path) is None]
    if missing:
        pytest.skip(f"a real Slurm needs {', '.join(missing)}")
    root = directory / "slurm"
    root.mkdir()
    snippet = (DEPLOY / "slurm.conf.snippet").read_text().replace("#Epilog=", "Epilog=")
    snippet = snippet.replace("/etc/slurm/holdfast", "{root}/holdfast").replace("nohold_on", f"{QUICK},nohold_on")
    install(root, nodes)
    slurm = boot(root, nodes, snippet)
    try:
        policy = "".join(f"{key} = {value}\n" for key, value in POLICY.items() if f"{key} =" not in policy) + policy
        more = f"observe_seconds = 0.5\n{controller.format(root=root)}\n[slurm]\n"
        with running(directory / "controller", more=more, policy=policy, environ=slurm.environ) as one:
            site = Site(slurm, one)
            try:
                yield site
            finally:
                site.close()
                if site.controller is not one and site.controller.process.poll() is None:
                    site.controller.process.kill()
                    site.controller.process.wait()
    finally:
        slurm.stop()


def install(root: Path, nodes: int) -> None:
    shutil.copytree(DEPLOY, root / "holdfast")
    (root / "holdfast" / "settings.sh").write_text(SETTINGS.format(root=root))
    (root / "gate").write_text("#!/bin/sh\necho pass\n")
    (root / "gate").chmod(0o755)
    for number in range(1, nodes + 1):
        (root / f"node{number}" / "run").mkdir(parents=True)
