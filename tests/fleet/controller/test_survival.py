"""What a controller survives: kill -9, a back end that hangs, a bad policy, two at once."""

import signal
import threading
from pathlib import Path

import httpx
import pytest

from .running import Agent, Controller, running, start, until

pytestmark = pytest.mark.slow


def send_until_killed(agent: Agent, acknowledged: list[int], sent: list[int]) -> None:
    """Verdict by verdict, as fast as it is acknowledged; the first that is not is the last."""
    while True:
        change = {"at": 1.0, "check": f"c{agent.seq + 1}", "before": "", "after": "pass", "reason": "counted"}
        report = agent.next(changes=[change])
        sent.append(report["seq"])
        try:
            agent.send(report)
        except (httpx.HTTPError, AssertionError):
            return
        acknowledged.append(report["seq"])


def kill_in_the_middle(controller: Controller, agent: Agent) -> tuple[list[int], list[int]]:
    acknowledged: list[int] = []
    sent: list[int] = []
    sender = threading.Thread(target=send_until_killed, args=(agent, acknowledged, sent))
    sender.start()
    until(lambda: len(acknowledged) >= 10, "ten are acknowledged")
    controller.kill()
    sender.join()
    return acknowledged, sent


def test_what_was_acknowledged_before_kill_9_is_there_once(tmp_path: Path) -> None:
    with running(tmp_path) as first:
        agent = first.enrol("n1")
        acknowledged, sent = kill_in_the_middle(first, agent)
        second = start(first.config)
        try:
            until(lambda: second.get("/healthz")["leading"], "it leads again")
            agent.controller = second
            last = {"at": 1.0, "check": f"c{sent[-1]}", "before": "", "after": "pass", "reason": "counted"}
            agent.seq = sent[-1] - 1
            agent.send(agent.next(changes=[last]))  # sent again, as an agent does whose last was not acknowledged
            found = second.get("/v1/nodes/n1/history", limit=1000)["entries"]
            counted = [one["title"] for one in found if one["kind"] == "verdict"]
            assert sorted(counted) == sorted(f"c{seq}: first verdict -> pass" for seq in sent)
            assert len(acknowledged) in (len(sent), len(sent) - 1)
            assert agent.ordered("retest")  # given again by the one that came after
        finally:
            second.kill()


def test_a_back_end_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    more = '[actions]\ncordon = "command"\n[command]\ntimeout = 20\ncommands = { cordon = ["sleep", "60"] }\n'
    with running(tmp_path, more=more) as controller:
        agent = controller.enrol("n1")
        agent.pass_test()
        assert controller.stage("n1") == "ready"
        controller.ready_node("n2")


def test_a_back_end_that_fails_for_good_is_reported_in_the_history(tmp_path: Path) -> None:
    more = '[actions]\ncordon = "command"\n[command]\ncommands = { cordon = ["false"] }\n'
    with running(tmp_path, more=more) as controller:
        controller.enrol("n1")
        failed = until(
            lambda: [one for one in controller.node_history("n1") if one["title"] == "cordon failed"], "it failed"
        )
        assert "exit code 1" in failed[0]["detail"]


def test_nothing_is_carried_out_in_a_dry_run_but_all_is_reported(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    more = f'[actions]\ncordon = "command"\n[command]\ncommands = {{ cordon = ["touch", "{touched}"] }}\n'
    with running(tmp_path, more=more, policy="") as controller:
        controller.enrol("n1")
        result = until(
            lambda: [one for one in controller.node_history("n1") if one["title"] == "cordon dry_run"], "it is told"
        )
        assert f"touch {touched}" in result[0]["detail"]
        assert controller.get("/v1/fleet")["dry_run"]
    assert not touched.exists()


def test_a_bad_policy_is_refused_on_reload_and_the_old_one_stays(tmp_path: Path) -> None:
    with running(tmp_path) as controller:
        policy = tmp_path / "policy.toml"
        log = controller.config.with_suffix(".log")
        policy.write_text("dry_run = true\nbreaker_shair = 0.5\n")
        controller.process.send_signal(signal.SIGHUP)
        until(lambda: "the old one stays" in log.read_text(), "it says so")
        assert "line 2: breaker_shair: unknown key" in log.read_text()
        assert not controller.get("/v1/fleet")["dry_run"]
        policy.write_text("dry_run = true\n")
        controller.process.send_signal(signal.SIGHUP)
        until(lambda: controller.get("/v1/fleet")["dry_run"], "the good one is taken")
        (entry,) = until(lambda: controller.audited(verb="policy reload"), "who changed what is noted")
        assert entry["reason"] == "dry_run False -> True"


def test_a_second_controller_of_one_sqlite_file_does_not_start(tmp_path: Path) -> None:
    with running(tmp_path) as controller:
        with pytest.raises(AssertionError):
            start(controller.config)
        assert "SQLite serves one" in controller.config.with_suffix(".log").read_text()


def test_it_ends_when_reported_even_with_an_open_stream(tmp_path: Path) -> None:
    with running(tmp_path) as controller:
        headers = {"Authorization": f"Bearer {controller.admin}"}
        with controller.http.stream("GET", f"{controller.url}/v1/stream", headers=headers) as reply:
            assert next(reply.iter_lines()) == "event: fleet"
            assert controller.stop() == 0
