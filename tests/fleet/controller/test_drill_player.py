"""Drills played by a controller: one at a time, in a process of its own that can be ended; a viewer only watches."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from .running import Controller, running, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    with running(tmp_path_factory.mktemp("drills")) as one:
        yield one


def published(controller: Controller) -> list[tuple[str, dict[str, Any]]]:
    """The whole stream of the run; it ends when the run does."""
    text = controller.ask("GET", "/v1/drills/stream", controller.admin, timeout=120).text
    events = [part.split("\n") for part in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in events]


def play(controller: Controller, drill: str, token: str | None = None, **more: Any) -> Any:
    return controller.post("/v1/drills/run", {"drill": drill, **more}, token or controller.admin)


def state(controller: Controller) -> str:
    run = controller.ask("GET", "/v1/drills", controller.admin).json()["run"]
    return str(run["state"]) if run else "none"


def test_a_drill_is_listed_played_and_reported_to_its_end(controller: Controller) -> None:
    listed = controller.ask("GET", "/v1/drills", controller.admin).json()
    assert listed["may_play"] and "A pump fades" in {one["title"] for one in listed["drills"]}
    assert controller.ask("GET", "/v1/drills/stream", controller.admin).status_code == 404
    assert play(controller, "gpu-slow").json()["state"] == "playing"
    refused = play(controller, "calm")
    assert (refused.status_code, "is played already" in refused.json()["error"]) == (409, True)
    events = published(controller)
    shares = [data["share"] for name, data in events if name == "run"]
    assert shares == sorted(shares) and shares[-1] == 1.0
    outcome = next(data for name, data in events if name == "outcome")
    assert outcome["truth"][0]["kind"] == outcome["findings"][0]["kind"] == "gpu.slow"
    assert outcome["score"]["top1"] and outcome["cost"]["total"] > 0
    assert len(outcome["moments"]) == outcome["lasts_seconds"] / 60 and outcome["speeds"][0]["points"]
    assert state(controller) == "done"


def test_a_run_that_is_cancelled_ends_and_another_can_follow(controller: Controller) -> None:
    play(controller, "two-at-once")
    assert controller.ask("DELETE", "/v1/drills/run", controller.admin).json()["state"] == "cancelled"
    assert controller.ask("DELETE", "/v1/drills/run", controller.admin).json()["code"] == "no_drill"
    assert [name for name, _ in published(controller)].count("outcome") == 0
    assert play(controller, "calm", seed=7).status_code == 202
    controller.ask("DELETE", "/v1/drills/run", controller.admin)
    until(lambda: state(controller) == "cancelled", "the last one is over")


def test_who_may_not_and_what_is_not_is_refused_in_a_sentence(controller: Controller) -> None:
    viewer = controller.post("/v1/tokens", {"name": "eve", "role": "viewer"}, controller.admin).json()["token"]
    refused = play(controller, "calm", viewer)
    assert (refused.status_code, refused.json()["error"]) == (
        403,
        "a token of role viewer may watch drills and not play them",
    )
    assert controller.ask("DELETE", "/v1/drills/run", viewer).status_code == 403
    assert not controller.ask("GET", "/v1/drills", viewer).json()["may_play"]
    assert play(controller, "../../etc/passwd").status_code == 404
    assert play(controller, "calm", seed=-1).status_code == 400
