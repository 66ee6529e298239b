"""The live stream, the metrics, the document: what others build on."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from holdfast.fleet.api.routes.live import readyz
from holdfast.fleet.api.streams import MOST_OF_CALLER, _while_allowed
from holdfast.fleet.store import StoreError
from holdfast.runtime.components import Components
from tests.waiting import until

if TYPE_CHECKING:
    from .conftest import Controller


def test_the_stream_opens_with_the_fleet_and_reports_what_happens(controller: "Controller") -> None:
    headers = {"Authorization": f"Bearer {controller.admin}"}
    with controller.http.stream("GET", f"{controller.url}/v1/stream", headers=headers) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        lines = reply.iter_lines()
        assert next(lines) == "event: fleet"
        json.loads(next(lines).removeprefix("data: "))
        controller.enrol("watched")
        result: dict[str, Any] = {}
        kind = ""
        for line in lines:
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: ") and '"watched"' in line:  # other tests' nodes live here too
                result.setdefault(kind, json.loads(line.removeprefix("data: ")))
            if {"node", "transition"} <= result.keys():
                break
    assert (result["node"]["name"], result["node"]["stage"]) == ("watched", "testing")
    assert (result["transition"]["before"], result["transition"]["after"]) == ("provisioning", "testing")


def test_a_stream_ends_with_its_token(controller: "Controller") -> None:
    """The attack: a thief opens a stream, its token is revoked, and it reads what happens for days."""
    token = controller.token(role="viewer", name="thief")
    headers = {"Authorization": f"Bearer {token}"}
    with controller.http.stream("GET", f"{controller.url}/v1/stream", headers=headers) as reply:
        lines = reply.iter_lines()
        assert next(lines) == "event: fleet"
        assert controller.post("/v1/tokens/revoke", {"target": "thief"}).json() == {"revoked": 1}
        controller.enrol("unseen-by-thieves")
        for line in lines:  # until the stream ends
            assert "unseen-by-thieves" not in line


def test_one_caller_cannot_take_all_streams(controller: "Controller") -> None:
    greedy = {"Authorization": f"Bearer {controller.token(role='viewer', name='greedy')}"}
    url = f"{controller.url}/v1/stream"
    reading = []  # an iterator that is let go closes its stream
    with ExitStack() as held:
        for _ in range(MOST_OF_CALLER):
            reading.append(held.enter_context(controller.http.stream("GET", url, headers=greedy)).iter_lines())
            assert next(reading[-1]) == "event: fleet"
        refused = held.enter_context(controller.http.stream("GET", url, headers=greedy))
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
        other = {"Authorization": f"Bearer {controller.token(role='viewer', name='modest')}"}
        assert held.enter_context(controller.http.stream("GET", url, headers=other)).status_code == 200
    until(lambda: opens(controller, url, greedy), "its places are free again")


def opens(controller: "Controller", url: str, headers: dict[str, str]) -> bool:
    with controller.http.stream("GET", url, headers=headers) as reply:
        return bool(reply.status_code == 200)


def test_requests_at_the_same_time_do_not_pass_the_limit_together() -> None:
    """All of them are let in before the first one has begun to send."""
    opened: Counter[str] = Counter()

    async def allowed(token: str, right: str) -> None:
        return None

    async def events() -> AsyncGenerator[bytes, None]:
        while True:
            yield b"x"

    async def run() -> int:
        state = SimpleNamespace(service=SimpleNamespace(access=SimpleNamespace(caller=allowed)))
        app = SimpleNamespace(state=state)
        request: Any = SimpleNamespace(app=app, headers={}, cookies={}, scope={"method": "GET"})
        made = [_while_allowed(opened, "user/a", request, events()) for _ in range(3 * MOST_OF_CALLER)]
        began = [await anext(one, None) for one in made]
        assert opened["user/a"] == MOST_OF_CALLER
        for one in made:
            await one.aclose()
        return sum(one is not None for one in began)

    assert asyncio.run(run()) == MOST_OF_CALLER
    assert not opened


def test_metrics_count_nodes_by_pool_stage_and_health(controller: "Controller") -> None:
    controller.enrol("counted", pool="counted")
    result = _metrics(controller)
    assert result["holdfast_nodes", "unknown", "counted", "testing"] == 1
    assert result["holdfast_pool_nodes", "counted"] == 1
    assert result["holdfast_transitions_total", "testing", "provisioning"] >= 1
    assert result["holdfast_controller_leading",] == 1


def test_metrics_name_who_is_out_of_service_since_when_and_why(controller: "Controller") -> None:
    agent = controller.enrol("outgoing")
    assert not any("outgoing" in key for key in _metrics(controller))
    controller.ask("POST", f"/v1/nodes/{agent.name}/quarantine", json={"reason": "a look at its fans"})
    [(key, since)] = [(key, value) for key, value in _metrics(controller).items() if "outgoing" in key]
    assert key[0] == "holdfast_node_out_since_seconds"
    assert since == controller.get("/v1/nodes/outgoing")["since"]


def test_metrics_report_how_long_commits_take_and_how_actions_ended(controller: "Controller") -> None:
    controller.ready_node("acted")
    result = _metrics(controller)
    assert result["holdfast_controller_commit_seconds_count",] > 0
    assert result["holdfast_controller_commit_seconds_bucket", "+Inf"] > 0
    assert result["holdfast_actions_total", "done", "retest"] >= 1
    assert result["holdfast_test_seconds_count",] >= 1


def test_metrics_count_actions_that_are_not_ended(controller: "Controller") -> None:
    agent = controller.enrol("asked")
    agent.ordered("retest")
    assert _metrics(controller)["holdfast_actions_open", "claimed", "retest"] >= 1


def test_the_nodes_are_read_in_pages_and_a_removed_one_is_forgotten(controller: "Controller") -> None:
    for name in ("paged1", "paged2", "paged3"):
        controller.enrol(name, pool="paged")
    first = controller.get("/v1/nodes", pool="paged", limit=2)
    assert [one["name"] for one in first["nodes"]] == ["paged1", "paged2"]
    rest = controller.get("/v1/nodes", pool="paged", limit=2, after=first["next"])
    assert ([one["name"] for one in rest["nodes"]], rest["next"]) == (["paged3"], "")
    assert controller.get("/v1/nodes", pool="paged")["next"] == ""
    assert controller.post("/v1/nodes/paged2/forget", {"reason": "gone"}).json()["code"] == "not_removed"
    controller.post("/v1/nodes/paged2/remove", {"reason": "worn", "force": True})
    assert controller.post("/v1/nodes/paged2/forget", {"reason": "gone"}).json() == {"name": "paged2"}
    assert controller.ask("GET", "/v1/nodes/paged2").status_code == 404
    assert [one["reason"] for one in controller.audited(verb="forget", target="paged2")] == ["gone"]


def test_it_is_ready_when_store_and_scheduler_answer(controller: "Controller") -> None:
    assert controller.ask("GET", "/readyz", token="").json() == {"ready": True, "missing": {}}


@pytest.mark.parametrize(
    ("failing", "read", "store", "missing"),
    [
        ([], True, None, []),
        (["home"], True, None, []),
        (["slurm"], True, None, ["slurm"]),
        (["kubernetes"], True, None, ["kubernetes"]),
        ([], False, None, ["fleet"]),
        ([], True, StoreError("it is away"), ["store"]),
    ],
)
def test_it_is_not_ready_without_store_or_scheduler(
    failing: list[str], read: bool, store: Exception | None, missing: list[str]
) -> None:
    def current_leader() -> None:
        if store is not None:
            raise store

    components = Components()
    for name in failing:
        components.failed(name, "no answer")
    board = SimpleNamespace(components=components, read=read)
    service: Any = SimpleNamespace(board=board, store=SimpleNamespace(current_leader=current_leader))
    reply = asyncio.run(readyz.fn(service))
    assert (reply.status_code, sorted(reply.content.missing)) == (503 if missing else 200, missing)


def test_what_is_missing_names_no_host_and_many_questions_are_one() -> None:
    """Who asks shows no token: strangers neither learn where the database is nor take the threads that read it."""
    asked, over = list[int](), threading.Event()

    def current_leader() -> None:
        asked.append(1)
        over.wait()
        raise StoreError("store postgresql+psycopg://holdfast@db7.secret:5432/x: connection refused")

    components = Components()
    components.failed("slurm", "slurmctld at ctl1.secret does not answer")
    components.failed("store", "store postgresql+psycopg://holdfast@db7.secret: it is away")
    board = SimpleNamespace(components=components, read=True)
    service: Any = SimpleNamespace(board=board, store=SimpleNamespace(current_leader=current_leader))

    async def ask() -> list[Any]:
        questions = [asyncio.create_task(readyz.fn(service)) for _ in range(50)]
        await asyncio.sleep(0)
        await asyncio.to_thread(over.set)
        return await asyncio.gather(*questions)

    replies = asyncio.run(ask())
    assert {reply.status_code for reply in replies} == {503} and len(asked) == 1
    assert "secret" not in str([reply.content for reply in replies])


def _metrics(controller: "Controller") -> dict[tuple[str, ...], float]:
    """By name and the values of the labels in the order of their names, as Prometheus's own reader takes them."""
    families = text_string_to_metric_families(controller.ask("GET", "/metrics").text)
    return {
        (one.name, *(value for _, value in sorted(one.labels.items()))): one.value
        for family in families
        for one in family.samples
    }


def test_the_document_lists_every_path_of_the_contract(controller: "Controller") -> None:
    document = controller.get("/schema/openapi.json", token="")
    wanted = {"/v1/nodes", "/v1/nodes/{name}", "/v1/nodes/{name}/history", "/v1/nodes/{name}/quarantine", "/v1/fleet"}
    wanted |= {
        "/v1/enrol",
        "/v1/reports",
        "/v1/incidents",
        "/v1/actions",
        "/v1/orders",
        "/v1/transitions",
        "/v1/jobs",
        "/v1/audit",
    }
    assert wanted <= set(document["paths"])
    view = document["components"]["schemas"]["NodeView"]
    assert {"name", "stage", "health", "last_report_at", "twin"} <= set(view["properties"])


def test_nodes_are_listed_by_pool_stage_and_health(controller: "Controller") -> None:
    controller.enrol("pooled", pool="decode")
    found = controller.get("/v1/nodes", pool="decode", stage="testing")["nodes"]
    assert [one["name"] for one in found] == ["pooled"]
    assert controller.get("/v1/nodes", pool="decode", stage="ready")["nodes"] == []


def test_a_history_is_read_page_by_page(controller: "Controller") -> None:
    agent = controller.enrol("storied")
    for number in range(5):
        agent.verdict("gpu.power", "degraded" if number % 2 else "pass", f"line {number}")
    whole = [entry["title"] + str(entry["at"]) for entry in controller.node_history("storied")]
    pages, before = [], ""
    while True:
        page = controller.get("/v1/nodes/storied/history", limit=3, before=before)
        pages += [entry["title"] + str(entry["at"]) for entry in page["entries"]]
        if not (before := page["next"]):
            break
    assert pages == whole
