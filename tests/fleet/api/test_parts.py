"""A node's parts: its GPUs as its digests tell, outages of ports as they were judged, tests that came to an end."""

import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.fleet.api.views.parts import gpus_of
from holdfast.fleet.controller.operators.digests import MOST_DIGESTS, DigestHistory
from holdfast.model.wire.digest import pack

if TYPE_CHECKING:
    from .conftest import Controller

PORT = "fabric.port_down"


def judged(at: float, after: str, *ports: str) -> dict[str, Any]:
    subjects = [f"node/parted/nic/{port}/1" for port in ports]
    return {"at": at, "check": PORT, "before": "", "after": after, "reason": f"{len(ports)} down", "subjects": subjects}


def test_outages_are_reported_port_by_port_with_their_ends(controller: "Controller") -> None:
    agent = controller.ready_node("parted")
    now = time.time()
    agent.send(agent.next(changes=[judged(now - 40, "degraded", "a", "b")]))
    agent.send(agent.next(changes=[judged(now - 30, "fail", "b")]))
    agent.send(agent.next(changes=[judged(now - 20, "pass")]))
    agent.send(agent.next(changes=[judged(now - 10, "fail", "a")]))
    parts = controller.get("/v1/nodes/parted/parts")
    result = [(one["port"].split("/")[3], one["worst"], one["ended"] is None) for one in parts["outages"]]
    assert result[0] == ("a", "fail", True) and sorted(result[1:]) == [("a", "degraded", False), ("b", "fail", False)]
    assert parts["tests"][0]["state"] == "done"
    assert parts["gpus"] == [] and parts["note"] == ""


def test_digests_become_lines_of_each_gpu_and_what_was_not_seen_a_gap() -> None:
    def look(subject: str, name: str) -> float | None:
        return 60.0 if name == "gpu_temperature_celsius" and subject.endswith("/0") else None

    result = [(1.0, pack("n", look)), (2.0, pack("n", lambda *_: None)), (3.0, b"another version")]
    (only,) = gpus_of(result)
    assert (only.gpu, only.signals) == (0, {"gpu_temperature_celsius": (60.0, None, None)})


def test_the_book_is_bounded_and_keeps_what_is_viewed() -> None:
    book = DigestHistory(most_nodes=2)
    for node in ("a", "b", "c"):
        for at in range(MOST_DIGESTS + 5):
            book.add(node, float(at), b"x")
    assert len(book.of("a")) == MOST_DIGESTS and book.of("a")[0][0] == 5.0
    assert book.of("c") == ()  # too late; b, who was never looked at, made room
    book.add("c", 1.0, b"x")
    book.add("b", 1.0, b"x")
    assert (len(book.of("c")), len(book.of("a"))) == (1, MOST_DIGESTS)


def test_a_node_that_no_one_knows_has_no_parts(controller: "Controller") -> None:
    assert controller.ask("GET", "/v1/nodes/nobody/parts").status_code == 404


def test_a_page_shows_all_verdicts_that_a_node_may_have_the_worst_first(controller: "Controller") -> None:
    agent = controller.enrol("wordy")
    for part, count in enumerate((600, 399)):
        changes = [
            {"at": 1.0, "check": f"made.up{part}.{number}", "before": "", "after": "pass", "reason": ""}
            for number in range(count)
        ]
        agent.send(agent.next(changes=changes))
    agent.send(agent.next(changes=[{"at": 2.0, "check": "z.last", "before": "", "after": "fail", "reason": "bad"}]))
    with pytest.raises(AssertionError, match="at most 1000 checks"):
        agent.send(agent.next(changes=[{"at": 3.0, "check": "one.more", "before": "", "after": "pass", "reason": ""}]))
    shown = controller.get("/v1/nodes/wordy")
    assert (len(shown["verdicts"]), shown["verdicts_left_out"]) == (1_000, 0)
    assert shown["verdicts"][0]["check"] == "z.last"
