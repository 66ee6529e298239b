"""What goes wrong around the page: it says what, stays as it was, and never freezes."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Opened
from .seam_incident import account, training

pytestmark = pytest.mark.slow
Open = Callable[..., Opened]
MARKUP = "<img src=x onerror=alert(1)>"
THIRTY_DAYS = 30 * 24 * 60


def answers(page: Any) -> bool:
    """The main thread takes a question within a moment."""
    page.evaluate("() => new Promise((done) => setTimeout(done, 0))")
    return True


@pytest.mark.parametrize("hours", [-26, 26], ids=["slow", "fast"])
def test_a_wrong_clock_of_the_browser_changes_no_age(open_page: Open, hours: int) -> None:
    opened = open_page()
    opened.page.add_init_script(f"const right = Date.now; Date.now = () => right() + {hours} * 3600e3;")
    opened.page.goto(opened.url + "?again#/node/n001")
    panel = opened.page.get_by_role("complementary", name="Node n001")
    panel.get_by_text(re.compile(r"^\d{1,2} s ago$")).first.wait_for()
    assert not re.search(r"\d+ (h|d) ago", panel.inner_text())
    opened.fleet.hang_up()
    message = opened.page.get_by_role("alert").get_by_text("Connection lost since").inner_text()
    lost = time.strptime(message[-8:], "%H:%M:%S")
    now = time.localtime()
    assert abs((lost.tm_hour * 60 + lost.tm_min) - (now.tm_hour * 60 + now.tm_min)) % 1438 <= 2


def test_a_node_called_markup_is_shown_as_text_everywhere(open_page: Open) -> None:
    opened = open_page(16)
    node = opened.fleet.nodes.pop("n003") | {"name": MARKUP, "pool": MARKUP, "jobs": [MARKUP], "reason": MARKUP}
    node["place"] = {"rack": MARKUP}
    opened.fleet.nodes[MARKUP] = node
    opened.fleet.histories[MARKUP] = opened.fleet.histories.pop("n003")
    opened.page.reload()
    page = opened.live().page
    page.get_by_label("Filter").fill(MARKUP)
    page.get_by_text("1 of 16 nodes").wait_for()
    opened.fleet.change(MARKUP, stage="draining", reason=MARKUP)
    page.get_by_role("region", name="Latest changes").get_by_role("button", name=MARKUP).click()
    page.get_by_role("complementary", name=f"Node {MARKUP}").get_by_role("heading", name=MARKUP).wait_for()
    assert page.locator("img").count() == 0
    page.reload()  # the name travels in the address
    page.get_by_role("complementary", name=f"Node {MARKUP}").wait_for()
    assert opened.troubles == []


def test_a_hundred_thousand_verdicts_are_cut_with_a_note(open_page: Open) -> None:
    opened = open_page()
    opened.fleet.verdicts = 100_000
    opened.fleet.nodes["n001"].update(health="fail", reason="everything")
    opened.page.goto(opened.url + "#/node/n001")
    verdicts = opened.page.get_by_role("region", name="Verdicts")
    verdicts.get_by_text("and 99,801 more that are not shown").wait_for()
    assert verdicts.get_by_role("listitem").count() <= 400
    assert answers(opened.page)


def test_thirty_days_of_signals_and_moments_are_thinned_with_a_note(open_page: Open) -> None:
    opened = open_page()
    result, since = account(), time.time() - THIRTY_DAYS * 60
    flow = [200.0 - minute % 90 for minute in range(THIRTY_DAYS)]
    result["charts"] = [{**result["charts"][0], "start": since, "step": 60, "values": flow}]
    result["timeline"] = [{"at": since + 60 * at, "domain": "job", "text": f"moment {at}"} for at in range(20_000)]
    opened.fleet.incident("cdu/c2", "coolant", cause="cooling.flow_low", account=result)
    opened.page.goto(opened.url + "#/incidents/cdu%2Fc2")
    opened.page.get_by_text("43,200 values reduced").wait_for()
    assert opened.page.locator(".chart polyline").first.get_attribute("points").count(",") <= 1_202
    assert opened.page.get_by_text(re.compile("^moment ")).count() <= 200
    assert answers(opened.page)


def test_a_history_of_thirty_days_is_read_a_page_at_a_time(open_page: Open) -> None:
    opened = open_page()
    now = time.time()
    entries = [
        {"at": now - 60 * at, "kind": "event", "title": f"minute {at}", "detail": "", "facts": {}}
        for at in range(THIRTY_DAYS)
    ]
    opened.fleet.tell("n005", entries)
    opened.page.goto(opened.url + "#/node/n005")
    node_history = opened.page.get_by_role("region", name="History")
    node_history.get_by_text("minute 49", exact=True).wait_for()
    assert node_history.get_by_role("listitem").count() < 60
    assert node_history.get_by_role("button", name="Older").is_visible()


def test_other_views_keep_what_they_showed_while_the_controller_is_away(open_page: Open) -> None:
    opened = open_page(address="#/jobs/llama")
    opened.fleet.jobs["llama"] = training()
    opened.page.reload()
    opened.page.get_by_role("region", name="Ranks and phases").wait_for()
    opened.fleet.hang_up()
    opened.page.get_by_role("alert").get_by_text(re.compile(r"Connection lost since \d\d:\d\d:\d\d")).wait_for()
    opened.page.get_by_text("The job could not be read: the controller does not answer").wait_for()
    assert opened.page.get_by_role("region", name="Ranks and phases").is_visible()


def test_a_token_that_expires_on_any_view_asks_for_another_and_goes_on_there(open_page: Open) -> None:
    opened = open_page(token="s3cret", address="#token=s3cret").live()
    opened.page.get_by_role("link", name="Probes").click()
    opened.page.get_by_role("heading", name="Probes").wait_for()
    opened.fleet.token = "another"  # the view asks again every few seconds
    opened.page.get_by_text("The session has ended.").wait_for()
    opened.page.get_by_label("Token").fill("another")
    opened.page.get_by_role("button", name="Sign in").click()
    opened.page.get_by_role("heading", name="Probes").wait_for()
    assert opened.page.url.endswith("#/probes")


def test_the_content_policy_lets_nothing_in_that_is_not_ours(open_page: Open) -> None:
    page = open_page().live().page
    policy = page.locator('meta[http-equiv="Content-Security-Policy"]').get_attribute("content")
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy and "*" not in policy
    refused = page.evaluate(
        """() => new Promise((done) => {
            const seen = new Set();  // the page's own policy and the header's both tell
            document.addEventListener("securitypolicyviolation", (one) => {
                seen.add(one.effectiveDirective);
                if (seen.size === 3) done([...seen].sort());
            });
            const script = document.createElement("script");
            script.textContent = "window.broken = true";
            const image = document.createElement("img");
            image.src = "https://example.org/x.png";
            document.body.append(script, image);
            fetch("https://example.org/").catch(() => undefined);
        })"""
    )
    assert refused == ["connect-src", "img-src", "script-src-elem"]
    assert page.evaluate("window.broken") is None
