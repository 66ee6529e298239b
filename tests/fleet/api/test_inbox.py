"""The inbox over HTTP: what waits, what is done about it, by whom; stored and audited."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.waiting import until

if TYPE_CHECKING:
    from .conftest import Controller


def item_of(controller: "Controller", name: str) -> dict[str, Any]:
    found = [one for one in controller.get("/v1/inbox")["items"] if one["subject"] == f"node/{name}"]
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(scope="module")
def waiting(controller: "Controller") -> str:
    controller.ready_node("in-box")
    controller.post("/v1/nodes/in-box/quarantine", {"reason": "a fan is loud"})
    controller.reaches("in-box", "quarantined")
    return "in-box"


def test_a_node_that_waits_is_in_the_inbox_with_its_next_step(controller: "Controller", waiting: str) -> None:
    item = item_of(controller, waiting)
    assert item["state"] == "open" and item["runbook"] and item["owner"] and item["remedy"]
    assert f'holdfast node release {waiting} --reason "repaired"' in item["commands"]
    shown = controller.get(f"/v1/nodes/{waiting}")["next_step"]
    assert shown["waits_for"] == "operator" and shown["runbook"] == item["runbook"]


def test_what_an_operator_does_is_shown_stored_and_audited(controller: "Controller", waiting: str) -> None:
    key = item_of(controller, waiting)["key"]
    for action, more in (
        ("acknowledge", {}),
        ("assign", {"assignee": "bob"}),
        ("comment", {"comment": "ordered a fan"}),
        ("mute", {"hours": 2.0}),
    ):
        reply = controller.post("/v1/inbox", {"item": key, "action": action, **more})
        assert reply.status_code == 200, reply.text
    item = item_of(controller, waiting)
    assert (item["state"], item["assignee"], item["acknowledged_by"]) == ("muted", "bob", "admin")
    notes = controller.get(f"/v1/inbox/{key}")["notes"]
    assert [one["action"] for one in notes] == ["mute", "comment", "assign", "acknowledge"]
    assert controller.audited(verb="inbox comment", target=key)[0]["reason"] == "ordered a fan"
    assert controller.get("/v1/inbox", only="muted")["items"][0]["key"] == key
    assert key not in [one["key"] for one in controller.get("/v1/inbox", only="open")["items"]]


def test_resolving_counts_until_it_is_reopened(controller: "Controller", waiting: str) -> None:
    key = item_of(controller, waiting)["key"]
    assert controller.post("/v1/inbox", {"item": key, "action": "resolve"}).json()["state"] == "resolved"
    assert controller.post("/v1/inbox", {"item": key, "action": "reopen"}).json()["state"] == "open"


def test_a_viewer_reads_and_does_not_act(controller: "Controller", waiting: str) -> None:
    viewer = controller.token(role="viewer", name="looker")
    assert controller.get("/v1/inbox", token=viewer)["items"]
    key = item_of(controller, waiting)["key"]
    refused = controller.post("/v1/inbox", {"item": key, "action": "resolve"}, token=viewer)
    assert refused.status_code == 403


def test_an_item_that_is_not_there_is_refused_and_nothing_is_stored(controller: "Controller") -> None:
    reply = controller.post("/v1/inbox", {"item": "node/none@1", "action": "resolve"})
    assert reply.status_code == 404 and controller.audited(verb="inbox resolve", target="node/none@1") == []
    assert controller.post("/v1/inbox", {"item": "x", "action": "mute"}).status_code == 400


def test_runbooks_are_read_by_name_with_the_node_filled_in(controller: "Controller") -> None:
    book = controller.get("/v1/runbook/gpu.ecc", node="n7", part="gpu/2")
    assert "nvidia-smi --gpu-reset -i 2" in book["commands"] and book["teams"] == ["hardware"]
    missing = controller.ask("GET", "/v1/runbook/gpu.ecx")
    assert missing.status_code == 404 and "gpu.ecc" in missing.json()["error"]


def test_what_is_over_stays_in_the_history_with_who_resolved_it_and_why(controller: "Controller") -> None:
    controller.ready_node("over-box")
    controller.post("/v1/nodes/over-box/quarantine", {"reason": "a fan is loud"})
    controller.reaches("over-box", "quarantined")
    key = item_of(controller, "over-box")["key"]
    resolve = {"item": key, "action": "resolve", "comment": "changed the fan"}
    assert controller.post("/v1/inbox", resolve).status_code == 200
    controller.post("/v1/nodes/over-box/release", {"reason": "repaired"})

    def past() -> dict[str, Any] | None:
        found = controller.get("/v1/inbox", past_hours=1)["past"]
        return next((one for one in found if one["key"] == key), None)

    until(past, "the item is in the history")
    over = past() or {}
    assert (over["state"], over["resolved_by"], over["comment"]) == ("resolved", "admin", "changed the fan")
    assert over["outcome"] == "the node no longer needs an operator" and over["ended_at"] >= over["resolved_at"]
    shown = controller.get(f"/v1/inbox/{key}")
    assert shown["item"]["title"] == over["title"] and shown["notes"][0]["text"] == "changed the fan"
    assert controller.get("/v1/inbox")["past"] == []
    again = controller.post("/v1/inbox", {"item": key, "action": "acknowledge"})
    assert again.status_code == 404 and "it is over and takes only comments" in again.json()["error"]


def test_what_ended_a_moment_ago_is_found_and_takes_comments(controller: "Controller") -> None:
    """There is no time in which an item is neither open nor over."""
    controller.ready_node("just-box")
    controller.post("/v1/nodes/just-box/quarantine", {"reason": "a fan is loud"})
    controller.reaches("just-box", "quarantined")
    key = item_of(controller, "just-box")["key"]
    assert controller.post("/v1/inbox", {"item": key, "action": "comment", "comment": "I look"}).status_code == 200
    controller.post("/v1/nodes/just-box/release", {"reason": "repaired"})

    def over() -> dict[str, Any] | None:
        item: dict[str, Any] = controller.get(f"/v1/inbox/{key}")["item"]  # each answer has it
        return item if item["ended_at"] is not None else None

    shown = until(over, "the item is over")
    assert shown["outcome"] == "the node no longer needs an operator"
    reply = controller.post("/v1/inbox", {"item": key, "action": "comment", "comment": "the fan was dusty"})
    assert reply.status_code == 200 and reply.json()["comment"] == "the fan was dusty"
    after = controller.get(f"/v1/inbox/{key}")
    assert [one["text"] for one in after["notes"]] == ["the fan was dusty", "I look"]
    assert (after["item"]["ended_at"], after["item"]["title"]) == (shown["ended_at"], shown["title"])
    assert key in [one["key"] for one in controller.get("/v1/inbox", past_hours=1)["past"]]
