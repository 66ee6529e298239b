"""What a browser is told: nothing from elsewhere, no frames, no guessing of types. And what the document says."""

import httpx
import pytest

from .conftest import Controller


@pytest.mark.parametrize("path", ["/", "/v1/fleet", "/v1/nodes/nobody", "/schema/openapi.json", "/healthz"])
def test_every_answer_is_guarded(controller: Controller, path: str) -> None:
    headers = controller.ask("GET", path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy
    assert "unsafe" not in policy
    assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
    assert headers["referrer-policy"] == "no-referrer"


def test_no_page_of_ours_loads_a_script_from_elsewhere(controller: Controller) -> None:
    for path in ("/", "/schema", "/schema/openapi.json"):
        assert "<script" not in controller.ask("GET", path).text.replace(
            '<script type="module" crossorigin src="./', ""
        )


def test_the_document_names_every_stage_and_health(controller: Controller) -> None:
    schemas = controller.get("/schema/openapi.json")["components"]["schemas"]
    assert "quarantined" in schemas["Stage"]["enum"]
    assert set(schemas["Health"]["enum"]) == {"pass", "degraded", "fail", "unknown", "not_applicable"}
    assert schemas["NodeView"]["properties"]["stage"] == {"$ref": "#/components/schemas/Stage"}


def test_a_stage_that_does_not_exist_is_refused_in_one_sentence(controller: Controller) -> None:
    reply = controller.ask("GET", "/v1/nodes?stage=dancing")
    assert reply.status_code == 400
    assert "dancing" in reply.json()["error"]


def test_whether_the_page_is_there_may_be_asked_without_reading_it(controller: Controller) -> None:
    asked, read = controller.ask("HEAD", "/"), controller.ask("GET", "/")
    assert (asked.status_code, asked.content) == (200, b"")
    assert asked.headers["content-type"] == read.headers["content-type"]


def test_a_large_answer_is_compressed_for_those_who_take_it(controller: Controller) -> None:
    """The document is the largest answer of an empty fleet."""

    def asked(path: str, encoding: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {controller.admin}", "Accept-Encoding": encoding}
        return controller.http.get(controller.url + path, headers=headers)

    packed, plain = (asked("/schema/openapi.json", encoding) for encoding in ("gzip", "identity"))
    assert packed.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in packed.headers["vary"].lower()
    assert "content-encoding" not in plain.headers
    assert plain.json() == packed.json()
    assert "content-encoding" not in asked("/healthz", "gzip").headers


def test_a_stream_is_not_compressed_for_its_events_would_be_held_back(controller: Controller) -> None:
    headers = {"Authorization": f"Bearer {controller.admin}", "Accept-Encoding": "gzip"}
    with controller.http.stream("GET", f"{controller.url}/v1/stream", headers=headers) as reply:
        assert "content-encoding" not in reply.headers
        assert next(reply.iter_lines()) == "event: fleet"
