"""The calculators and the drills on the page, against a real controller."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .axe import serious
from .real import Controller, controlling

pytestmark = pytest.mark.slow
PLANS = ("Risk", "Checkpoint", "Spares", "Limit", "Price", "Cost")


@pytest.fixture(scope="module")
def controller(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    pytest.importorskip("litestar", reason="the controller's libraries are not installed")
    with controlling(static, tmp_path_factory.mktemp("plan")) as one:
        yield one


@pytest.fixture
def page(chromium: Any, controller: Controller) -> Iterator[Any]:
    page = chromium.new_page()
    page.goto(f"{controller.address}/#token={controller.token}")
    page.get_by_role("status").get_by_text("Live").wait_for()
    yield page
    page.close()


def headline(page: Any) -> Any:
    return page.locator(".headline")


def test_a_slider_changes_the_answer_and_the_address_can_be_shared(page: Any, controller: Controller) -> None:
    page.get_by_role("link", name="Plan").click()
    headline(page).get_by_text("1,024 GPUs for 30 days meet at least one failure").wait_for()
    slider = page.get_by_role("slider", name="GPUs of the job")
    slider.focus()
    slider.press("Home")
    headline(page).get_by_text("8 GPUs for 30 days").wait_for()
    page.get_by_label("Days the run takes, typed").fill("7")
    headline(page).get_by_text("8 GPUs for 7 days").wait_for()
    page.get_by_role("img", name=re.compile("Chance of at least one failure in 7 days")).wait_for()
    assert page.url.endswith("#/plan?gpus=8&days=7")
    page.reload()
    headline(page).get_by_text("8 GPUs for 7 days").wait_for()
    page.get_by_role("button", name="Reset").click()
    headline(page).get_by_text("1,024 GPUs for 30 days").wait_for()


def test_every_calculator_answers_with_a_curve_and_its_reasons(page: Any) -> None:
    page.get_by_role("link", name="Plan").click()
    for plan in PLANS:
        page.get_by_role("button", name=plan, exact=True).click()
        page.locator(".curve polyline").first.wait_for()
        assert page.url.endswith(f"#/plan/{plan.lower()}")
        page.get_by_text("Inputs and sources").click()
        page.get_by_role("region", name="Input, Value, Source").wait_for()
        assert page.get_by_role("alert").count() == 0


def test_what_cannot_be_answered_is_reported_and_the_last_answer_stays(page: Any) -> None:
    page.goto(page.url.split("#")[0] + "#/plan/checkpoint")
    headline(page).get_by_text("Write a checkpoint every").wait_for()
    page.get_by_label("Stall per write, typed").fill("soon <b>")
    page.get_by_role("alert").get_by_text(
        "write: expected a duration such as 90s, 10m, 2h or 30d, found 'soon <b>'"
    ).wait_for()
    assert headline(page).is_visible()


def test_a_drill_is_played_and_watched_to_its_truth_score_and_cost(page: Any) -> None:
    page.get_by_role("link", name="Drill").click()
    page.set_viewport_size({"width": 390, "height": 600})
    page.get_by_role("button", name="Run One GPU is slow").click()
    assert page.locator(".lead").first.bounding_box()["y"] > -20, "the page stayed far down in the list"
    page.get_by_role("heading", name=re.compile("Right: found")).wait_for(timeout=240_000)
    page.get_by_role("list", name="The truth").get_by_text("gpu.slow").wait_for()
    page.get_by_role("region", name="What it cost").wait_for()
    page.get_by_role("slider", name="Minute of the drill").press("End")
    page.get_by_role("list", name="Findings of this minute").get_by_text("gpu.slow").wait_for()
    page.reload()
    page.get_by_role("heading", name=re.compile("Right: found")).wait_for()


def test_a_viewer_watches_drills_and_cannot_play_them(page: Any, controller: Controller) -> None:
    viewer = controller.post("/v1/tokens", {"name": "eve", "role": "viewer"})["token"]
    page.goto(f"{controller.address}/?viewer#token={viewer}")
    page.get_by_role("link", name="Drill").click()
    page.get_by_text("Your role is viewer").wait_for()
    assert page.get_by_role("button", name="Run A pump fades", exact=True).is_disabled()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_neither_view_has_a_serious_fault_of_accessibility(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    for view, seen in (("Plan", ".curve polyline"), ("Drill", "table")):
        page.get_by_role("link", name=view).click()
        page.locator(seen).first.wait_for()
        assert serious(page) == []
