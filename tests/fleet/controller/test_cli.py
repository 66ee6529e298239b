"""The command line against a real controller: tables and JSON for people and scripts, one sentence for mistakes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.cli.app import run
from tests.waiting import until

from .running import Controller, running

POLICY = "dry_run = false\nbreaker_share = 1.0\n[pool.tight]\nbreaker_nodes = 1\n"


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    with running(tmp_path_factory.mktemp("cli"), policy=POLICY) as one:
        one.ready_node("n01")
        one.ready_node("n02")
        yield one


@pytest.fixture(autouse=True)
def at_home(controller: Controller, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("HOLDFAST_STATE", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setenv("HOLDFAST_URL", controller.url)
    monkeypatch.setenv("HOLDFAST_TOKEN", controller.admin)
    monkeypatch.setenv("COLUMNS", "200")


def test_nodes_are_listed_as_a_table_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["node", "list"]) == 0
    assert "n01" in capsys.readouterr().out
    assert run(["node", "list", "n[01-09]", "--json"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["nodes"]]
    assert {"n01", "n02"} <= set(names)


def test_a_history_is_reported_from_the_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["node", "history", "n01"]) == 0
    output = capsys.readouterr().out
    assert output.index("provisioning -> testing") < output.index("testing -> ready")
    assert run(["node", "history", "n01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"]


def test_the_audit_log_is_reported_and_given_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit"]) == 0
    assert "enrol" in capsys.readouterr().out
    assert run(["audit", "--since", "1h", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert {"n01", "n02"} <= {entry["target"] for entry in entries if entry["verb"] == "enrol"}


def test_orders_that_wait_for_an_agent_are_listed(controller: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    """The agent of a new node is asked to test it: first it waits for a report, then for the answer."""
    agent = controller.enrol("asked1")
    until(lambda: listed("asked1", capsys), "the order is laid ready", 30)
    [order] = listed("asked1", capsys)
    assert (order["verb"], order["handed_over_at"], order["again_at"]) == ("retest", None, None)
    agent.ordered("retest")
    [order] = listed("asked1", capsys)
    assert order["handed_over_at"] < order["again_at"]
    assert run(["order", "list"]) == 0
    assert "retest" in capsys.readouterr().out
    assert listed("nobody", capsys) == []


def listed(node: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert run(["order", "list", "--node", node, "--json"]) == 0
    orders: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["orders"]
    return orders


def test_more_than_the_policy_allows_is_taken_out_only_with_force(
    controller: Controller, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pool of two of which one may be out, by its own cap."""
    for name in ("tight1", "tight2"):
        controller.ready_node(name, pool="tight")
    assert run(["node", "quarantine", "tight[1-2]", "--reason", "the wrong list"]) == 1
    output = capsys.readouterr().err
    assert "1 of 2 nodes of pool tight are out of service, 1 may be" in output and "repeat with --force" in output
    assert "done before: tight1" in output
    assert (controller.stage("tight2"), len(controller.audited(target="tight2", verb="quarantine"))) == ("ready", 0)
    assert run(["node", "remove", "tight2", "--reason", "x"]) == 1
    assert run(["node", "quarantine", "tight2", "--reason", "the whole rack", "--force"]) == 0
    [entry] = controller.audited(target="tight2", verb="quarantine")
    assert "with force" in entry["reason"]
    assert run(["node", "remove", "tight1", "--reason", "it is out already"]) == 0


def test_tokens_are_listed_without_being_reported(controller: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    join = ["token", "create", "--join", "--uses", "7", "--nodes", "n[1-7]"]
    for made in (["token", "create", "lister", "--for", "2h"], join):
        assert run(made) == 0
    secret, joined = capsys.readouterr().out.split()
    assert run(["token", "list"]) == 0
    output = capsys.readouterr().out
    assert "lister" in output and "7 uses left" in output and secret not in output and joined not in output
    assert run(["token", "list", "--role", "viewer", "--json"]) == 0
    [one] = [one for one in json.loads(capsys.readouterr().out)["tokens"] if one["name"] == "lister"]
    assert (one["valid"], one["uses_left"]) == (True, None)
    assert one["expires"] - one["created"] == pytest.approx(7200, abs=1)
    assert run(["token", "create", "lister", "--for", "soon"]) == 64
    assert "--for: expected a duration such as 90s, 10m, 2h or 30d, found 'soon'" in capsys.readouterr().err
    assert run(["token", "revoke", one["hash"]]) == 0
    capsys.readouterr()
    assert run(["token", "list", "--role", "viewer"]) == 0
    assert "lister" not in capsys.readouterr().out
    assert run(["token", "list", "--ended"]) == 0
    assert "revoked" in capsys.readouterr().out
    assert run(["token", "list", "--role", "king"]) == 64
    assert run(["token", "list", "--token", secret]) == 1


def test_requests_take_lists_of_nodes(controller: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    controller.ready_node("w1")
    controller.ready_node("w2")
    assert run(["node", "quarantine", "w[1-2]", "--reason", "both loud"]) == 0
    controller.reaches("w1", "quarantined")
    controller.reaches("w2", "quarantined")
    capsys.readouterr()
    assert run(["node", "retest", "w1", "--reason", "again"]) == 1, "an operator's quarantine is released by operators"
    assert capsys.readouterr().err.endswith("while w1 is quarantined by an operator: release it\n")
    assert run(["node", "show", "w1"]) == 0
    assert "; no valid test; " in capsys.readouterr().out
    assert run(["node", "release", "w1", "--reason", "quiet now"]) == 0
    assert run(["node", "remove", "w2", "--reason", "sold"]) == 0
    assert controller.stage("w2") == "removed"
    assert run(["node", "show", "w2"]) == 0
    assert "removed" in capsys.readouterr().out


def test_a_request_refused_halfway_names_what_was_done(
    controller: Controller, capsys: pytest.CaptureFixture[str]
) -> None:
    controller.ready_node("h1")
    assert run(["node", "quarantine", "h[1-2]", "--reason", "x"]) == 1
    assert capsys.readouterr().err == "holdfast: no node is called 'h2'; done before: h1\n"


def test_of_a_list_what_would_not_change_is_passed_over(
    controller: Controller, capsys: pytest.CaptureFixture[str]
) -> None:
    controller.ready_node("pass1")
    controller.ready_node("pass2")
    assert run(["node", "remove", "pass1", "--reason", "sold"]) == 0
    assert run(["node", "quarantine", "pass1", "--reason", "loud"]) == 1, "one alone is refused"
    capsys.readouterr()
    assert run(["node", "quarantine", "pass[1-2]", "--reason", "loud", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in output["nodes"]] == ["pass2"]
    assert output["unchanged"] == {"pass1": "quarantine changes nothing while pass1 is removed"}


def test_tokens_are_made_and_ended(controller: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["token", "create", "bob", "--role", "viewer"]) == 0
    token = capsys.readouterr().out.strip()
    assert controller.ask("GET", "/v1/fleet", token).status_code == 200
    assert run(["token", "revoke", "bob"]) == 0
    assert controller.ask("GET", "/v1/fleet", token).status_code == 401
    assert run(["token", "create", "--join", "--uses", "3", "--nodes", "n*", "--json"]) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "expected_text"),
    [
        (["node", "list", "--url", "ftp://x"], 64, "expected an http or https address"),
        (["node", "list", "--url", "http://127.0.0.1:1"], 1, "does not answer"),
        (["node", "list", "--token", "nonsense"], 1, "unknown, expired or revoked"),
        (["node", "history", "nobody"], 1, "no node is called 'nobody'"),
        (["node", "quarantine", "n[1-", "--reason", "x"], 64, "n[1-"),
        (["node", "quarantine", "n01"], 64, "--reason"),
        (["token", "create", "x", "--role", "king"], 64, "--role"),
        (["token", "revoke", "nobody"], 1, "no valid token"),
        (["policy", "check", "/no/such/policy"], 64, "/no/such/policy"),
        (["policy", "preview", "--since", "yesterday"], 64, "--since"),
        (["audit", "--since", "soon"], 64, "--since"),
        (["policy", "preview"], 64, "no store is at"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence(
    arguments: list[str], code: int, expected_text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert expected_text in printed.err
    assert printed.err.startswith("holdfast: ")
    assert printed.err.count("\n") == 1


def test_without_any_controller_it_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HOLDFAST_URL")
    assert run(["node", "list"]) == 64
    assert "holdfast up" in capsys.readouterr().err


def test_a_preview_reads_the_controllers_store(controller: Controller, capsys: pytest.CaptureFixture[str]) -> None:
    agent = controller.ready_node("p1")
    agent.verdict("gpu.ecc", "fail", "2 errors")
    assert run(["policy", "preview", "--since", "1h", "--config", str(controller.config), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_service"] == {"p1": 1}


def listed_actions(capsys: pytest.CaptureFixture[str], *options: str) -> list[tuple[str, str]]:
    capsys.readouterr()
    assert run(["action", "list", "--json", *options]) == 0
    return [(one["node"], one["verb"]) for one in json.loads(capsys.readouterr().out)["actions"]]


def test_actions_of_a_verb_are_found_however_many_others_are_newer(capsys: pytest.CaptureFixture[str]) -> None:
    newest = listed_actions(capsys, "--limit", "1")
    other = next(verb for _, verb in listed_actions(capsys) if verb != newest[0][1])
    found = listed_actions(capsys, "--verb", other, "--limit", "1")
    assert [verb for _, verb in found] == [other]


def test_a_word_that_no_action_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["action", "list", "--verb", "drian"]) == 64
    assert "expected one of" in capsys.readouterr().err
    assert run(["action", "list", "--state", "open"]) == 64
    assert "proposed" in capsys.readouterr().err


def test_empty_lists_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["action", "list", "--node", "nosuch"]) == 0
    assert run(["order", "list", "--node", "nosuch"]) == 0
    assert capsys.readouterr().out.splitlines() == ["no actions", "no orders wait for an answer"]
