"""Every query of the dashboards and rules is run by a real Prometheus that reads a real controller and a real agent."""

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from holdfast.model.account import Account, Bill, LayerCost
from holdfast.model.incident import Incident
from holdfast.twin.node import make_node

pytest.importorskip("litestar", reason="needs the extra [controller]")

from holdfast.store import Store

from ..controller.running import Agent, Controller, running, until  # noqa: TID252  tests are no package to name

ROOT = Path(__file__).resolve().parents[2]
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed"),
]
# What is right to be empty: nothing is wrong with these nodes, and nobody is blind.
MAY_BE_EMPTY = {"Checks that do not pass", "Sources that see nothing", "Slower than its peers"}
RANKS, WINDOWS, WINDOW_SECONDS = 4, 40, 10.0
LAYERS = ("direct compute", "reserved capacity", "rollback", "labour", "schedule slip")


def panels() -> Iterator[tuple[str, str, str]]:
    for file in sorted((ROOT / "deploy" / "grafana").glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel["targets"]:
                yield file.stem, panel["title"], re.sub(r"\$[a-z]+", ".*", target["expr"])


def rules() -> list[str]:
    told = yaml.safe_load((ROOT / "deploy" / "prometheus" / "holdfast.rules.yml").read_text())
    return [rule["expr"] for group in told["groups"] for rule in group["rules"]]


@contextmanager
def agent(home: Path) -> Iterator[str]:
    make_node(home)
    log = home / "agent.log"
    with log.open("wb") as file:
        process = subprocess.Popen([HOLDFAST, "agent", "--config", str(home / "holdfast.toml")], stderr=file)
    try:
        line = until(lambda: next((one for one in log.read_text().splitlines() if "listening on " in one), ""), "it")
        yield line.rsplit("//", 1)[1].strip("/")
    finally:
        process.kill()
        process.wait()


@contextmanager
def prometheus(home: Path, controller: Controller, agent_at: str) -> Iterator[httpx.Client]:
    (home / "token").write_text(controller.admin)
    config = {
        "global": {"scrape_interval": "1s"},
        "rule_files": [str(ROOT / "deploy" / "prometheus" / "holdfast.rules.yml")],
        "scrape_configs": [
            {
                "job_name": "holdfast-controller",
                "authorization": {"credentials_file": str(home / "token")},
                "static_configs": [{"targets": [controller.url.rpartition("//")[2]]}],
            },
            {"job_name": "holdfast-agent", "static_configs": [{"targets": [agent_at]}]},
        ],
    }
    (home / "prometheus.yml").write_text(yaml.safe_dump(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["prometheus", f"--config.file={home}/prometheus.yml", f"--storage.tsdb.path={home}/data"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    with (home / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as http:
            yield http
    finally:
        process.kill()
        process.wait()


def tell_training(agent: Agent) -> None:
    """Minutes of steps, as the ranks of a job on this node would have told them."""
    now = time.time()
    for number in range(WINDOWS):
        at = now - (WINDOWS - number - 1) * WINDOW_SECONDS
        common = {
            "job": "llama",
            "owner": "uid-1000",
            "world": RANKS,
            "began": now - WINDOWS * WINDOW_SECONDS,
            "at": at,
        }
        steps = {"step": 8 * number + 8, "steps": 8, "seconds": WINDOW_SECONDS, "compute_seconds": 8.0}
        more = {"own_seconds": 1.0, "wait_seconds": 2.0, "split": True, "tokens": 8192.0, "saved_step": 0}
        told = [{**common, **steps, **more, "rank": rank, "session": f"s{rank}", "gpu": rank} for rank in range(RANKS)]
        agent.send(agent.next(progress=told))


def open_incident(controller: Controller) -> None:
    """One with a price, as the seams would have found it."""
    layers = tuple(
        LayerCost(name=name, so_far=100.0, if_it_goes_on=2400.0, formula="as priced", inputs="") for name in LAYERS[:-1]
    )
    unpriced = LayerCost(name=LAYERS[-1], so_far=None, if_it_goes_on=None, formula="", inputs="")
    bill = Bill(layers=(*layers, unpriced), gpu_hours=41.0, gpu_hours_per_hour=41.0, finish_shift_hours=0.5)
    account = Account(kind="cooling.flow_low", confidence=0.9, since=time.time(), lasted_seconds=60.0, bill=bill)
    incident = Incident(
        id="i1", opened=time.time(), subject="cdu/c2", cause="cooling.flow_low", reason="the flow fell", account=account
    )
    store = Store.open(f"sqlite:///{controller.config.parent}/holdfast.db")
    try:
        leader = store.current_leader()
        assert leader is not None
        store.save_incidents([incident], leader.epoch)
    finally:
        store.close()


def asked(http: httpx.Client, query: str) -> Any:
    try:
        return http.get("/api/v1/query", params={"query": query}).json()
    except (httpx.TransportError, ValueError):  # not up yet
        return {"status": "", "data": {"result": []}}


def test_the_dashboards_are_made_from_their_data() -> None:
    script = str(ROOT / "scripts" / "generate_dashboards.py")
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


def test_every_query_is_answered_by_a_real_prometheus(tmp_path: Path) -> None:
    with running(tmp_path / "controller") as controller, agent(tmp_path / "n01") as agent_at:
        one = controller.ready_node("shown")
        controller.ready_node("outgoing")
        controller.ask("POST", "/v1/nodes/outgoing/quarantine", json={"reason": "a look at its fans"})
        tell_training(one)
        open_incident(controller)
        with prometheus(tmp_path, controller, agent_at) as http:
            until(
                lambda: one.beat() and asked(http, "rate(holdfast_reports_total[1m]) > 0")["data"]["result"], "reports"
            )
            until(lambda: asked(http, "rate(holdfast_gpu_pcie_replay_total[5m])")["data"]["result"], "two looks")
            for board, title, query in panels():
                told = asked(http, query)
                assert told["status"] == "success", (board, title, told)
                assert told["data"]["result"] or title in MAY_BE_EMPTY, f"{board}: {title}: nothing for {query}"
            assert {asked(http, query)["status"] for query in rules()} == {"success"}
            priced = asked(http, "holdfast_incident_cost")["data"]["result"]
            assert {one["metric"]["layer"] for one in priced} == set(LAYERS[:-1])  # no price is not a price of nothing
