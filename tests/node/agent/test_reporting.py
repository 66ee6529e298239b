"""The agent as a process, on a twin, reporting to a controller: through kill -9, and obeying what it may."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.lab.twin.inject import clear, inject
from holdfast.lab.twin.node import make_node
from tests.node.agent.service import FakeController, service

pytestmark = pytest.mark.slow

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
TIMEOUT_SECONDS = 60.0


class Running:
    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        make_node(home)
        (home / "token").write_text("let-me-in")
        with (home / "holdfast.toml").open("a") as file:
            file.write(f'\n[controller]\nurl = "{url}"\njoin_token_file = "{home}/token"\npool = "twins"\n')
            file.write(
                "".join(f"\n[sources.{name}]\nevery_seconds = 1\n" for name in ("nvml", "nvml_slow", "host", "jobs"))
            )
        self.start()

    def start(self) -> None:
        with (self.home / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(
                [HOLDFAST, "agent", "--config", str(self.home / "holdfast.toml")], stderr=log, stdin=subprocess.DEVNULL
            )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def at() -> Iterator[FakeController]:
    with service() as it:
        yield it


@pytest.fixture
def agent(tmp_path: Path, at: FakeController) -> Iterator[Running]:
    running = Running(tmp_path / "n01", at.url)
    yield running
    if running.process.poll() is None:
        running.kill()


def until(at: FakeController, agent: Running, reached: Callable[[], Any]) -> Any:
    end = time.monotonic() + TIMEOUT_SECONDS
    with at.changed:
        while not (found := reached()):
            assert time.monotonic() < end, (agent.home / "agent.log").read_text()[-2000:]
            at.changed.wait(1.0)
    return found


def changes(at: FakeController) -> list[dict[str, Any]]:
    return [change for report in at.received for change in report["changes"]]


def test_verdicts_events_and_digests_arrive_marked_as_a_twins(agent: Running, at: FakeController) -> None:
    until(at, agent, lambda: {c["check"] for c in changes(at)} >= {"gpu.temperature", "host.filesystem"})
    inject(agent.home, "xid", gpu=4, value="79")
    until(at, agent, lambda: [c for c in changes(at) if (c["check"], c["after"]) == ("gpu.xid", "fail")])
    [event] = [e for report in at.received for e in report["events"] if e["kind"] == "xid"]
    assert event["subject"] == "node/n01/gpu/4"
    assert all(report["twin"] for report in at.received)
    assert any(report["digest"] for report in at.received)


def test_what_was_seen_while_the_controller_refused_survives_kill_9_and_arrives_once(
    agent: Running, at: FakeController
) -> None:
    until(at, agent, lambda: changes(at))
    at.refuse_with = 503
    inject(agent.home, "xid", gpu=4, value="79")
    spool = agent.home / "state" / "spool.jsonl"
    until(at, agent, lambda: b'"xid"' in spool.read_bytes())
    agent.kill()
    at.refuse_with = 0
    agent.start()
    until(at, agent, lambda: len({report["session"] for report in at.received if report["changes"]}) == 2)
    names = [(report["session"], report["seq"]) for report in at.received]
    assert len(names) == len(set(names))
    assert sum(e["kind"] == "xid" for report in at.received for e in report["events"]) == 1, (
        "old kernel lines are not news"
    )


def test_a_retest_is_run_and_a_reset_no_one_allowed_is_refused(agent: Running, at: FakeController) -> None:
    at.orders = [{"id": 1, "verb": "retest", "suite": "1", "reason": "x"}, {"id": 2, "verb": "reset_gpu"}]
    until(at, agent, lambda: {o["order"] for report in at.received for o in report["outcomes"]} == {1, 2})
    outcomes = {o["order"]: o for report in at.received for o in report["outcomes"]}
    assert outcomes[1]["ok"]
    assert outcomes[1]["health"] in ("pass", "unknown")  # a twin without dcgmi cannot run every check
    assert not outcomes[2]["ok"]
    assert agent.process.poll() is None


def test_a_job_on_the_gpus_is_reported_and_so_is_its_end(agent: Running, at: FakeController) -> None:
    until(at, agent, lambda: [report for report in at.received if report["jobs"] == []])
    inject(agent.home, "gpu_process", gpu=0)
    [job] = until(at, agent, lambda: next((report["jobs"] for report in at.received if report["jobs"]), None))
    assert job["gpus"] == 1
    count = len(at.received)
    clear(agent.home, "gpu_process", gpu=0)
    until(at, agent, lambda: [report for report in at.received[count:] if report["jobs"] == []])
