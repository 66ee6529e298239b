"""Anything at all, sent to where agents report: an answer of 200 or 4xx in one sentence, and the controller goes on."""

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.fleet.api.ingest import decode
from holdfast.fleet.api.problem import Problem

from .conftest import until

if TYPE_CHECKING:
    from .conftest import Agent, Controller

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
GOOD: dict[str, Any] = {
    "node": "fuzzed",
    "session": "s",
    "seq": 1,
    "at": 1.0,
    "heartbeat": True,
    "digest": "",
    "events": [{"kind": "xid", "at": 1.0, "text": "t", "code": 79, "detail": {"a": 1.0}}],
    "changes": [{"at": 1.0, "check": "c", "before": "", "after": "pass"}],
    "outcomes": [{"order": 1, "verb": "retest", "ok": True, "health": "pass", "began": 1.0}],
}


@st.composite
def almost_reports(draw: st.DrawFn) -> bytes:
    """A good report with one thing in it replaced by anything."""
    report = json.loads(json.dumps(GOOD))
    place = report
    if draw(st.booleans()):
        place = report[draw(st.sampled_from(("events", "changes", "outcomes")))][0]
    place[draw(st.sampled_from(sorted(place)))] = draw(JSON)
    return json.dumps([report] * draw(st.integers(1, 3))).encode("utf-8", "replace")


ANYTHING = st.binary(max_size=2_000) | JSON.map(lambda it: json.dumps(it).encode()) | almost_reports()


@given(ANYTHING)
def test_any_body_is_reports_or_a_problem_in_one_sentence(body: bytes) -> None:
    try:
        assert decode(body)
    except Problem as problem:
        assert problem.status == 400
        assert problem.sentence
        assert "\n" not in problem.sentence


@pytest.fixture(scope="module")
def fuzzed(controller: "Controller") -> "Agent":
    return controller.enrol("fuzzed")


def answered(controller: "Controller", agent: "Agent", body: bytes, clock: bytes) -> None:
    headers = {"Authorization": f"Bearer {agent.credential}".encode(), "Holdfast-Clock": clock}
    reply = controller.http.post(f"{controller.url}/v1/reports", content=body, headers=headers)
    assert reply.status_code in (200, 400, 403), reply.text
    if reply.status_code != 200:
        assert set(reply.json()) == {"error"}
        assert "\n" not in reply.json()["error"]
    assert controller.process.poll() is None


CLOCKS = st.text("0123456789.eE+-naif", max_size=20).map(str.encode)
SHARED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@given(ANYTHING, CLOCKS)
@settings(suppress_health_check=SHARED)
def test_any_body_is_answered(controller: "Controller", fuzzed: "Agent", body: bytes, clock: bytes) -> None:
    answered(controller, fuzzed, body, clock)


@pytest.mark.soak
@given(ANYTHING, CLOCKS)
@settings(max_examples=10_000, suppress_health_check=SHARED)
def test_ten_thousand_bodies_are_answered(controller: "Controller", fuzzed: "Agent", body: bytes, clock: bytes) -> None:
    answered(controller, fuzzed, body, clock)


def test_afterwards_it_still_takes_reports(controller: "Controller", fuzzed: "Agent") -> None:
    fuzzed.session = "afterwards"
    assert fuzzed.beat()["accepted"] == [True]
    until(lambda: controller.get("/healthz")["leading"], "it leads")
