"""Every query of the dashboards and rules is run by a real Prometheus that reads a demo and a real agent."""

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

from holdfast.lab.twin.node import make_node

pytest.importorskip("litestar", reason="needs the extra [controller]")

from ..console.demo import Demo, demo  # noqa: TID252  tests are no package to name
from ..fleet.controller.running import until  # noqa: TID252

ROOT = Path(__file__).resolve().parents[2]
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed"),
]
# What is right to be empty: nothing is wrong with this node, nobody is blind, and no rank is slow for long.
MAY_BE_EMPTY = {"Checks that do not pass", "Sources that see nothing", "Slower than its peers"}
TIMEOUT_SECONDS = 240.0


def panels() -> Iterator[tuple[str, str, str]]:
    for file in sorted((ROOT / "deploy" / "grafana").glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel["targets"]:
                yield file.stem, panel["title"], re.sub(r"\$[a-z]+", ".*", target["expr"])


def rules() -> list[str]:
    output = yaml.safe_load((ROOT / "deploy" / "prometheus" / "holdfast.rules.yml").read_text())
    return [rule["expr"] for group in output["groups"] for rule in group["rules"]]


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
def prometheus(home: Path, fleet: Demo, agent_at: str) -> Iterator[httpx.Client]:
    (home / "token").write_text(fleet.token)
    config = {
        "global": {"scrape_interval": "1s"},
        "rule_files": [str(ROOT / "deploy" / "prometheus" / "holdfast.rules.yml")],
        "scrape_configs": [
            {
                "job_name": "holdfast-controller",
                "authorization": {"credentials_file": str(home / "token")},
                "static_configs": [{"targets": [fleet.address.rpartition("//")[2]]}],
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


def asked(http: httpx.Client, query: str) -> Any:
    try:
        return http.get("/api/v1/query", params={"query": query}).json()
    except (httpx.TransportError, ValueError):  # not up yet
        return {"status": "", "data": {"result": []}}


def test_the_dashboards_are_made_from_their_data() -> None:
    script = str(ROOT / "scripts" / "generate_dashboards.py")
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


def unanswered(http: httpx.Client, left: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Panels of these for which there is nothing to show yet. A query that Prometheus refuses fails at once."""
    still = []
    for board, title, query in left:
        output = asked(http, query)
        assert output["status"] in ("success", ""), (board, title, output)
        if not output["data"]["result"]:
            still.append((board, title, query))
    return still


def test_every_query_is_answered_of_the_demo_by_a_real_prometheus(tmp_path: Path) -> None:
    """Fleet, jobs and priced incidents are the demo's, at sixty times the pace. The node has an agent of its own: the
    demo's nodes are one process without /metrics."""
    (tmp_path / "demo").mkdir()
    with (
        demo(tmp_path / "demo", "--nodes", "16", "--speed", "60") as fleet,
        agent(tmp_path / "n01") as agent_at,
        prometheus(tmp_path, fleet, agent_at) as http,
    ):
        left = [one for one in panels() if one[1] not in MAY_BE_EMPTY]
        end = time.monotonic() + TIMEOUT_SECONDS
        while left := unanswered(http, left):  # an incident comes and goes: each is asked until it had something once
            assert time.monotonic() < end, f"nothing for {left}"
            time.sleep(0.5)  # another process
        assert {asked(http, query)["status"] for query in rules()} == {"success"}
        output = [asked(http, query)["status"] for _, title, query in panels() if title in MAY_BE_EMPTY]
        assert set(output) == {"success"}
