"""Roles, tokens that end, and what of all this is written down."""

import json
import time
from typing import TYPE_CHECKING

import pytest

from holdfast.fleet.controller import own_subjects
from holdfast.model.wire.report import Report, VerdictChange

from .conftest import until

if TYPE_CHECKING:
    from .conftest import Controller


@pytest.mark.parametrize(
    ("role", "reads", "operates", "administers"),
    [("viewer", 200, 403, 403), ("operator", 200, 404, 403), ("admin", 200, 404, 200)],
)
def test_each_role_may_what_it_may(
    controller: "Controller", role: str, reads: int, operates: int, administers: int
) -> None:
    token = controller.token(name=f"a-{role}", role=role)
    assert controller.ask("GET", "/v1/fleet", token).status_code == reads
    assert controller.post("/v1/nodes/nobody/retest", {"reason": "x"}, token).status_code == operates
    assert controller.ask("GET", "/v1/audit", token).status_code == administers


def test_an_agents_credential_reports_and_does_nothing_else(controller: "Controller") -> None:
    agent = controller.enrol("only-reports")
    assert controller.ask("GET", "/v1/nodes", agent.credential).status_code == 403
    assert controller.post("/v1/nodes/only-reports/remove", {"reason": "x"}, agent.credential).status_code == 403


def test_a_viewer_cannot_report(controller: "Controller") -> None:
    viewer = controller.token(name="v", role="viewer")
    assert controller.report([], viewer).status_code == 403


def test_a_revoked_token_is_refused_at_once(controller: "Controller") -> None:
    token = controller.token(name="leaver", role="viewer")
    assert controller.ask("GET", "/v1/fleet", token).status_code == 200
    assert controller.post("/v1/tokens/revoke", {"target": "leaver"}).json() == {"revoked": 1}
    assert controller.ask("GET", "/v1/fleet", token).status_code == 401


def test_a_revoked_node_cannot_report_but_can_enrol_again(controller: "Controller") -> None:
    agent = controller.enrol("returner")
    agent.beat()
    controller.post("/v1/tokens/revoke", {"target": "returner"})
    assert controller.report([agent.next()], agent.credential).status_code == 401
    controller.enrol("returner").beat()


def test_an_expired_token_is_refused(controller: "Controller") -> None:
    token = controller.token(name="brief", role="viewer", hours=1e-9)
    assert controller.ask("GET", "/v1/fleet", token).status_code == 401


def test_refused_requests_are_audited_with_who_asked(controller: "Controller") -> None:
    token = controller.token(name="curious", role="viewer")
    controller.post("/v1/nodes/nobody/remove", {"reason": "x"}, token)
    facts = {"who": "curious", "role": "viewer", "outcome": "refused 403", "target": "/v1/nodes/nobody/remove"}
    found = until(lambda: controller.audited(**facts), "it is audited")
    assert found[0]["reason"]


def test_a_node_that_reports_is_not_given_away_for_any_join_token(controller: "Controller") -> None:
    agent = controller.enrol("n020")
    agent.beat()
    taking = {"node": "n020", "join_token": controller.token()}
    refused = controller.post("/v1/enrol", taking, token="")
    assert refused.status_code == 403
    assert "--node n020" in refused.json()["error"]
    agent.beat()


def test_a_join_token_of_one_node_lets_it_enrol_again_and_no_other(controller: "Controller") -> None:
    controller.enrol("n021").beat()
    bound = controller.token(node="n021")
    other = {"node": "n022", "join_token": bound}
    assert controller.post("/v1/enrol", other, token="").status_code == 403
    forged = {"node": "n022", "join_token": f"n021:{bound}"}  # what a bound token is hashed as
    assert controller.post("/v1/enrol", forged, token="").status_code == 403
    again = {"node": "n021", "join_token": bound}
    assert controller.post("/v1/enrol", again, token="").status_code == 200


def test_a_join_token_of_one_node_is_for_its_network_alone(controller: "Controller") -> None:
    elsewhere = controller.token(node="n024", network="10.9.0.0/16")
    asked = controller.post("/v1/enrol", {"node": "n024", "join_token": elsewhere}, token="")
    assert asked.status_code == 403 and "10.9.0.0/16" in asked.json()["error"]


def test_an_enrolment_whose_answer_was_lost_is_simply_asked_for_again(controller: "Controller") -> None:
    controller.enrol("n023")
    controller.enrol("n023").beat()


@pytest.mark.parametrize(
    ("node", "path"),
    [
        ("slash-1", "/v1/reports/"),
        ("slash-2", "//v1/reports"),
        ("slash-3", "/v1//reports"),
        ("slash-4", "/v1/reports//"),
    ],
)
def test_reports_have_one_way_in_however_it_is_written(controller: "Controller", node: str, path: str) -> None:
    """The framework takes these for the same address. It must not take the reports itself, past their quota."""
    agent = controller.enrol(node)
    many = json.dumps([agent.next(heartbeat=True) for _ in range(501)])
    reply = controller.ask("POST", path, agent.credential, content=many)
    assert (reply.status_code, "expected 1 to 500 reports" in reply.text) == (400, True)
    one = json.dumps([agent.next(heartbeat=True)])
    assert controller.ask("POST", path, agent.credential, content=one).json()["accepted"] == [True]


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded"])
def test_who_enrols_does_not_choose_its_address(controller: "Controller", header: str) -> None:
    token = controller.token(uses=5, network="10.9.0.0/16")
    forged = {header: "for=10.9.1.2" if header == "Forwarded" else "10.9.1.2"}
    ask = {"node": "elsewhere", "join_token": token}
    reply = controller.http.post(f"{controller.url}/v1/enrol", json=ask, headers=forged)
    assert (reply.status_code, "not for 127.0.0.1" in reply.text) == (403, True)


def test_a_report_speaks_for_its_own_node_alone(controller: "Controller") -> None:
    """The attack: a stolen node reports events of a switch and of other nodes, and names them in a verdict."""
    agent = controller.enrol("speaks")
    before = metric(controller, "holdfast_report_subjects_dropped_total")
    named = [
        "",
        "node/speaks",
        "node/speaks/gpu/0",
        "node/speaks2",
        "node/victim/gpu/0",
        "switch/leaf3",
        "job/llama",
        "x",
    ]
    reported = [{"kind": "xid", "at": time.time(), "text": one, "subject": one} for one in named]
    subjects = ["node/speaks/gpu/1", "node/victim/gpu/1", "switch/leaf3", "job/llama"]
    change = {"at": time.time(), "check": "gpu.xid", "before": "", "after": "degraded", "subjects": subjects}
    ack = agent.send(agent.next(events=reported, changes=[change]))
    assert (ack["accepted"], ack["dropped"]) == ([True], 7)
    stored = [one["title"] for one in controller.node_history("speaks") if one["kind"] == "event"]
    assert sorted(stored) and not [one for one in stored if "victim" in one or "leaf3" in one]
    assert metric(controller, "holdfast_report_subjects_dropped_total") == before + 7
    assert agent.send(agent.next(events=reported[:3]))["dropped"] == 0


def test_what_a_verdict_says_of_others_is_left_out() -> None:
    change = VerdictChange(at=1.0, check="a", before="", after="fail", subjects=("node/n1/gpu/0", "node/n2", "job/x"))
    report = Report(node="n1", session="s", seq=1, at=1.0, changes=(change,))
    [kept], dropped = own_subjects.only([report])
    assert (kept.changes[0].subjects, dropped) == (("node/n1/gpu/0", "job/x"), 1)
    assert own_subjects.only([kept]) == ([kept], 0)


def test_a_node_with_the_name_of_a_user_does_not_share_its_fate(controller: "Controller") -> None:
    """The attack: a node enrols as 'carol', an operator forgets it, and the admin carol is locked out."""
    carol = controller.token(role="admin", name="carol")
    agent = controller.enrol("carol")
    both = controller.post("/v1/tokens/revoke", {"target": "carol"})
    assert (both.status_code, both.json()["code"]) == (409, "both")
    assert controller.post("/v1/tokens/revoke", {"target": "carol", "kind": "rank"}).status_code == 400
    operator = controller.token(role="operator", name="oscar")
    assert controller.post("/v1/nodes/carol/remove", {"reason": "x", "force": True}, operator).status_code == 200
    until(lambda: controller.stage("carol") == "removed", "it is removed")
    assert controller.post("/v1/nodes/carol/forget", {"reason": "x"}, operator).status_code in (200, 204)
    assert controller.report([agent.next(heartbeat=True)], agent.credential).status_code == 401
    assert controller.ask("GET", "/v1/tokens", carol).status_code == 200, "the user's token holds"
    again = controller.enrol("carol")
    assert controller.post("/v1/tokens/revoke", {"target": "carol", "kind": "user"}).json() == {"revoked": 1}
    assert controller.ask("GET", "/v1/tokens", carol).status_code == 401
    assert again.beat()["accepted"] == [True], "and the node's credential holds when the user's end"
    assert controller.post("/v1/tokens/revoke", {"target": "carol"}).json()["revoked"] >= 1, "one kind is left"


def metric(controller: "Controller", name: str) -> float:
    text = controller.ask("GET", "/metrics").text
    return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(f"{name} "))
