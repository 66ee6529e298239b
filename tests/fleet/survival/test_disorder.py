"""Duplicate, late, re-ordered and replayed reports, and clocks that are an hour off."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.controller.running import Agent, Controller, running

pytestmark = pytest.mark.slow
HOUR = 3600.0


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    with running(tmp_path_factory.mktemp("disorder")) as one:
        yield one


def event(number: int, at: float) -> dict[str, Any]:
    return {"kind": "xid", "at": at, "text": f"line {number}"}


def change(check: str, after: str, at: float) -> dict[str, Any]:
    return {"at": at, "check": check, "before": "", "after": after, "reason": after}


def lines(controller: Controller, node: str) -> list[str]:
    """The events of a story, oldest first."""
    return [one["detail"] for one in controller.node_history(node) if one["kind"] == "event"][::-1]


def history_of(controller: Controller, node: str) -> list[dict[str, Any]]:
    """All of a story but the actions, which go on by themselves."""
    return [one for one in controller.node_history(node) if one["kind"] != "action"]


def verdicts(controller: Controller, node: str) -> dict[str, str]:
    return {one["check"]: one["health"] for one in controller.get(f"/v1/nodes/{node}")["verdicts"]}


def send_at(agent: Agent, clock: float, *reports: dict[str, Any]) -> list[bool]:
    """As an agent does whose clock shows `clock`."""
    headers = {"Authorization": f"Bearer {agent.credential}", "Holdfast-Clock": f"{clock:.3f}"}
    reply = agent.controller.http.post(f"{agent.controller.url}/v1/reports", json=list(reports), headers=headers)
    assert reply.status_code == 200, reply.text
    agent.orders += reply.json()["orders"]
    accepted: list[bool] = reply.json()["accepted"]
    return accepted


def test_however_reports_are_shuffled_and_repeated_each_is_stored_once_in_its_order(controller: Controller) -> None:
    agent = controller.ready_node("shuffled")
    chance, now = random.Random(5), time.time()
    reports = [agent.next(events=[event(number, now - 100 + number)]) for number in range(40)]
    sent = [*reports, *chance.choices(reports, k=40)]
    chance.shuffle(sent)
    accepted = [agent.send(report)["accepted"] for report in sent]
    assert accepted.count([True]) == len(reports)
    assert lines(controller, "shuffled") == [f"line {number}" for number in range(40)]


def test_a_late_verdict_does_not_undo_a_newer_one(controller: Controller) -> None:
    agent = controller.ready_node("late")
    now = time.time()
    old = agent.next(changes=[change("gpu.power", "degraded", now - 50)])
    new = agent.next(changes=[change("gpu.power", "pass", now)])
    agent.send(new)
    agent.send(old)
    assert verdicts(controller, "late") == {"gpu.power": "pass"}
    assert agent.send(old, new)["accepted"] == [False, False]


def test_a_replayed_request_gives_no_one_anything(controller: Controller) -> None:
    agent = controller.ready_node("replayed")
    failing = agent.next(changes=[change("gpu.power", "degraded", time.time())])
    agent.send(failing)
    agent.verdict("gpu.power", "pass")
    before = history_of(controller, "replayed")
    for _ in range(3):
        reply = agent.send(failing)
        assert (reply["accepted"], reply["orders"]) == ([False], [])
    assert history_of(controller, "replayed") == before


@pytest.mark.parametrize("off", [HOUR, -HOUR], ids=["ahead", "behind"])
def test_an_agent_an_hour_off_is_dated_by_the_controllers_clock(controller: Controller, off: float) -> None:
    name = f"off{off:.0f}".replace("-", "m")
    agent = controller.enrol(name)
    clock = time.time() + off
    assert send_at(agent, clock, agent.next(events=[event(1, clock - 20), event(2, clock - 10)])) == [True]
    result = [one for one in controller.node_history(name) if one["kind"] == "event"]
    assert [one["detail"] for one in result] == ["line 2", "line 1"]
    assert all(0 <= time.time() - one["at"] < 60 for one in result)


def test_a_clock_set_back_an_hour_does_not_hide_what_comes_after(controller: Controller) -> None:
    """The agent restarts with the right time: by its own count its new verdicts are older."""
    agent = controller.ready_node("setback")
    ahead = time.time() + HOUR
    send_at(agent, ahead, agent.next(changes=[change("gpu.lost", "pass", ahead)]))
    agent.session, agent.seq = "s2", 0
    now = time.time()
    send_at(agent, now, agent.next(changes=[change("gpu.lost", "fail", now)]))
    assert verdicts(controller, "setback") == {"gpu.lost": "fail"}
    assert controller.stage("setback") in ("draining", "quarantined", "resetting")


def test_an_agent_an_hour_ahead_cannot_pass_a_test_for_work_that_came_later(controller: Controller) -> None:
    """Its word on when the test began is not taken: by our clock it began when we asked for it."""
    agent = controller.enrol("ahead")
    order = agent.ordered("retest")
    outcome = {"order": order["id"], "verb": "retest", "ok": True, "health": "pass", "suite": order["suite"]}
    send_at(agent, time.time() + HOUR, agent.next(outcomes=[{**outcome, "began": time.time() + HOUR}]))
    assert controller.stage("ahead") == "ready"
    assert controller.get("/v1/nodes/ahead")["tested_at"] <= time.time()


def test_an_outcome_of_an_order_no_one_gave_moves_no_one(controller: Controller) -> None:
    agent, other = controller.enrol("inventor"), controller.enrol("other")
    order, others = agent.ordered("retest"), other.ordered("retest")
    passed = {"verb": "retest", "ok": True, "health": "pass", "suite": order["suite"], "began": time.time()}
    for number in (others["id"], 10**6):
        agent.send(agent.next(outcomes=[{**passed, "order": number}]))
    assert controller.stage("inventor") == "testing"
    assert controller.stage("other") == "testing"
    agent.answer(order, health="fail", cause="gpu.lost")
    agent.send(agent.next(outcomes=[{**passed, "order": order["id"]}]))  # an answer counts once
    assert controller.stage("inventor") != "ready"


def test_an_order_is_ended_by_its_answer_also_after_the_controller_died(tmp_path: Path) -> None:
    with running(tmp_path) as first:
        agent = first.enrol("n1")
        order = agent.ordered("retest")
        first.kill()
        agent.controller = first.restarted()
        try:
            agent.controller.reaches("n1", "testing")
            agent.answer(order, health="pass")
            assert agent.controller.stage("n1") == "ready"
            actions = agent.controller.get("/v1/actions")["actions"]
            assert [one["state"] for one in actions if one["verb"] == "retest"] == ["done"]
        finally:
            agent.controller.kill()
