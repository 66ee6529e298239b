"""What a person does with the page: look, move, filter, open a node, lose the connection, sign in."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from .axe import serious
from .conftest import Opened
from .mock_api import item
from .seam_incident import account

pytestmark = pytest.mark.slow
Open = Callable[..., Opened]


def _entry(at: float, kind: str, title: str, detail: str = "", **facts: object) -> dict[str, Any]:
    return {"at": at, "kind": kind, "title": title, "detail": detail, "facts": facts}


def test_the_fleet_is_counted_by_stage_and_health_and_the_browser_has_no_complaint(open_page: Open) -> None:
    opened = open_page().live()
    stages = [node["stage"] for node in opened.fleet.nodes.values()]
    opened.counted("allocated", stages.count("allocated")).wait_for()
    opened.page.get_by_text("64 nodes", exact=True).wait_for()
    assert opened.troubles == []


def test_a_change_in_the_fleet_shows_without_a_reload(open_page: Open) -> None:
    opened = open_page().live()
    opened.counted("quarantined", 0).wait_for()
    opened.fleet.change("n003", stage="quarantined", health="fail", reason="Xid 79 on GPU 3")
    opened.counted("quarantined", 1).wait_for()
    latest = opened.page.get_by_role("region", name="Latest changes")
    latest.get_by_text("Xid 79 on GPU 3").wait_for()
    assert sum(path == "/v1/nodes" for path in opened.fleet.asked) == 1


def test_the_cell_itself_is_drawn_anew(open_page: Open) -> None:
    opened = open_page().live()
    opened.fleet.change("n000", stage="ready", health="pass")
    before = _pixel(opened)
    opened.fleet.change("n000", stage="quarantined", health="pass")
    opened.counted("quarantined", 1).wait_for()
    opened.page.wait_for_function("() => new Promise(requestAnimationFrame)")
    assert before != _pixel(opened)


def _pixel(opened: Opened) -> list[int]:
    script = "c => [...c.getContext('2d').getImageData(12 * devicePixelRatio, 28 * devicePixelRatio, 1, 1).data]"
    found: list[int] = opened.page.locator("#grid canvas").evaluate(script)
    return found


def test_a_tripped_breaker_is_reported_at_its_pool(open_page: Open) -> None:
    opened = open_page().live()
    for number in range(6):
        opened.fleet.change(f"n{number:03d}", stage="draining", health="fail")
    pool = opened.page.get_by_role("list", name="Pools").get_by_role("listitem").filter(has_text="train")
    pool.get_by_text("breaker open, observing only").wait_for()


def test_an_incident_is_counted_in_the_menu_until_it_is_over_and_leads_to_its_nodes(open_page: Open) -> None:
    opened = open_page().live()
    page = opened.page
    opened.fleet.incident("rack/r2", "16 of 16 nodes behind rack/r2 failed together")
    page.get_by_role("link", name="Incidents 1").click()
    page.get_by_role("button", name="rack/r2").click()
    page.get_by_text("16 of 16 nodes behind rack/r2").wait_for()
    page.get_by_role("button", name="Show rack/r2 in the fleet").click()
    page.get_by_text("16 of 64 nodes").wait_for()
    opened.fleet.incident("rack/r2", "", "closed")
    page.get_by_role("link", name="Incidents", exact=True).wait_for()


def test_what_needs_you_is_on_top_and_in_the_title_of_the_tab(open_page: Open) -> None:
    opened = open_page()
    opened.fleet.items = [item("n003"), item("n004", state="muted")]
    page = opened.page
    page.reload()
    needs = opened.live().page.get_by_role("region", name="What needs you")
    needs.get_by_role("button", name="n003 waits for an operator").wait_for()
    assert "replace GPU 3" in needs.inner_text() and "n004" not in needs.inner_text()
    page.wait_for_function("() => document.title === '(1) Home - Holdfast'")
    now = page.get_by_role("region", name="The fleet now")
    now.get_by_text("226 USD").wait_for()  # the figures are another answer than the items
    figures = now.inner_text()
    assert "now 32 GPUs" in figures and "78 %" in figures


def test_nothing_moves_when_incidents_come_and_the_connection_goes(open_page: Open) -> None:
    opened = open_page().live()
    top = "() => document.getElementById('grid').getBoundingClientRect().top"
    before = opened.page.evaluate(top)
    opened.fleet.incident("rack/r2", "16 of 16 nodes behind rack/r2 failed together")
    opened.page.get_by_role("link", name="Incidents 1").wait_for()
    opened.fleet.hang_up()
    opened.page.get_by_role("alert").get_by_text("Connection lost").wait_for()
    assert opened.page.evaluate(top) == before


def test_the_colour_of_a_cell_is_its_health_and_a_root_is_marked(open_page: Open) -> None:
    opened = open_page().live()
    opened.fleet.change("n001", stage="allocated", health="fail")
    opened.counted("fail", 1).wait_for()
    opened.fleet.incident("node/n002", "GPU 0 is slow", cause="gpu.slow", account=account(), evidence=[])
    opened.page.get_by_text("incident root 1").wait_for()
    read = """([x, y]) => { const c = document.querySelector('.grid canvas').getContext('2d');
      return [...c.getImageData(x, y, 1, 1).data].slice(0, 3) }"""
    box = opened.page.evaluate("() => Math.round(document.querySelector('.ring')?.offsetWidth ?? 0)")
    assert box == 0  # nothing is open yet
    red, green, _ = opened.page.evaluate(read, [_middle(opened, 1), 40])
    assert red > green + 60
    red, green, _ = opened.page.evaluate(read, [_middle(opened, 5), 40])
    assert green > red + 30


def _middle(opened: Opened, index: int) -> int:
    """Left of the letter in the cell of that number in the first row."""
    opened.page.keyboard.press("Home")
    for _ in range(index):
        opened.page.keyboard.press("ArrowRight")
    place = "() => new DOMMatrix(getComputedStyle(document.querySelector('.ring.cursor')).transform).m41"
    left = opened.page.evaluate(place)
    return int(left) + 8


def test_jobs_that_come_and_go_are_not_reported_and_what_happened_before_is(open_page: Open) -> None:
    opened = open_page().live()
    opened.fleet.change("n003", stage="ready", reason="quiet")
    opened.fleet.change("n003", stage="allocated", reason="a workload started")
    opened.fleet.change("n004", stage="quarantined", reason="Xid 79 on GPU 3")
    opened.page.reload()
    latest = opened.live().page.get_by_role("region", name="Latest changes")
    latest.get_by_text("Xid 79 on GPU 3").wait_for()
    assert latest.get_by_text("a workload started").count() == 0


def test_the_keyboard_alone_walks_filters_opens_and_closes(open_page: Open) -> None:
    opened = open_page().live()
    keys = opened.page.keyboard
    keys.press("ArrowRight")
    assert opened.chosen().startswith("n000")
    keys.press("ArrowRight")
    keys.press("ArrowDown")
    below = opened.chosen()
    assert not below.startswith(("n000", "n001"))
    keys.press("ArrowUp")
    assert opened.chosen().startswith("n001")
    keys.press("Enter")
    panel = opened.page.get_by_role("complementary", name="Node n001")
    panel.wait_for()
    keys.press("Escape")
    panel.wait_for(state="detached")
    keys.press("/")
    keys.type("rack:r2")
    opened.page.get_by_text("16 of 64 nodes").wait_for()
    keys.press("Escape")
    opened.page.get_by_text(re.compile("^64 nodes")).wait_for()
    keys.press("End")
    assert opened.chosen().startswith("n063")


def test_a_click_on_a_cell_opens_its_node_and_the_address_can_be_shared(open_page: Open) -> None:
    opened = open_page().live()
    opened.page.locator("#grid").click(position={"x": 20, "y": 40})
    opened.page.get_by_role("complementary", name="Node n000").wait_for()
    opened.page.get_by_label("Group by").select_option("leaf")
    assert opened.page.url.endswith("#/node/n000?group=leaf")
    opened.page.reload()
    opened.live().page.get_by_role("complementary", name="Node n000").wait_for()
    assert opened.page.get_by_label("Group by").input_value() == "leaf"
    opened.page.go_back()


def test_a_nodes_history_reports_reasons_and_grows_while_it_is_read(open_page: Open) -> None:
    opened = open_page()
    facts = {"evidence": ["NVRM: Xid 79"], "by": "holdfast", "epoch": 3}
    opened.fleet.tell("n005", [_entry(1.8e9, "action", "drain done", "the drain is in place", **facts)])
    opened.page.goto(opened.url + "#/node/n005")
    node_history = opened.page.get_by_role("region", name="History")
    node_history.get_by_text("evidence: NVRM: Xid 79").wait_for()
    opened.fleet.change("n005", stage="resetting", health="fail", reason="first rung: reset the GPU")
    node_history.get_by_text("first rung: reset the GPU").wait_for()
    opened.page.get_by_role("region", name="Verdicts").get_by_text("GPU 3 does not answer").wait_for()
    assert "epoch" not in node_history.inner_text()


def test_a_long_history_is_read_page_by_page(open_page: Open) -> None:
    opened = open_page()
    opened.fleet.tell("n005", [_entry(1.8e9 - at, "event", f"event number {at}") for at in range(120)])
    opened.page.goto(opened.url + "#/node/n005")
    node_history = opened.page.get_by_role("region", name="History")
    node_history.get_by_text("event number 49", exact=True).wait_for()
    assert node_history.get_by_text("event number 50", exact=True).count() == 0
    node_history.get_by_role("button", name="Older").click()
    node_history.get_by_text("event number 99", exact=True).wait_for()
    node_history.get_by_role("button", name="Older").click()
    node_history.get_by_text("testing to ready").wait_for()
    assert node_history.get_by_role("button", name="Older").count() == 0


def test_names_and_reasons_with_markup_are_text(open_page: Open) -> None:
    opened = open_page().live()
    opened.fleet.change("n001", stage="draining", reason="<img src=x onerror=alert(1)>")
    opened.page.get_by_text("<img src=x onerror=alert(1)>").wait_for()
    assert opened.page.locator("img").count() == 0


def test_a_lost_connection_is_reported_with_its_time_the_view_stays_and_it_heals(open_page: Open) -> None:
    opened = open_page().live()
    opened.fleet.hang_up()
    alert = opened.page.get_by_role("alert")
    alert.get_by_text(re.compile(r"Connection lost since \d\d:\d\d:\d\d")).wait_for()
    alert.get_by_text("This is the last known state").wait_for()
    opened.page.get_by_text("64 nodes", exact=True).wait_for()
    opened.fleet.nodes["n002"].update(stage="removed")  # happened while nobody listened
    retry = opened.page.get_by_role("button", name="Retry now").element_handle()
    opened.fleet.answering = True
    retry.evaluate("button => button.click()")  # the page may have connected by itself meanwhile: then it does nothing
    opened.live().counted("removed", 1).wait_for()
    assert alert.count() == 0


def test_a_token_is_asked_for_refused_taken_and_kept_where_no_script_reads_it(open_page: Open) -> None:
    opened = open_page(token="s3cret")
    field = opened.page.get_by_label("Token")
    field.fill("wrong")
    opened.page.get_by_role("button", name="Sign in").click()
    opened.page.get_by_text("this token is not known").wait_for()
    field.fill("s3cret")
    field.press("Enter")
    opened.live().page.reload()
    opened.live()
    assert opened.page.evaluate("[sessionStorage.length, localStorage.length, document.cookie]") == [0, 0, ""]
    opened.page.get_by_role("button", name="Sign out").click()
    field.wait_for()
    assert not any("s3cret" in path for path in opened.fleet.asked)


def test_a_token_in_the_fragment_signs_in_and_leaves_the_address(open_page: Open) -> None:
    opened = open_page(token="s3cret", address="#token=s3cret").live()
    assert "s3cret" not in opened.page.url


def test_who_has_a_stale_token_may_look_without_one_where_everybody_may(open_page: Open) -> None:
    opened = open_page(token="s3cret", address="#token=stale")
    opened.page.get_by_text("this token is not known").wait_for()
    assert opened.page.get_by_role("button", name="View without signing in").count() == 0
    opened.fleet.anonymous = True
    opened.page.reload()
    opened.live()


def test_where_everybody_may_look_a_button_signs_in_and_out(open_page: Open) -> None:
    opened = open_page(token="s3cret")
    opened.fleet.anonymous = True
    opened.page.reload()
    opened.live().page.get_by_role("button", name="Sign in").click()
    opened.page.get_by_label("Token").fill("s3cret")
    opened.page.get_by_label("Token").press("Enter")
    opened.page.get_by_role("button", name="Sign out").wait_for()
    opened.live().page.get_by_role("button", name="Sign out").click()
    opened.page.get_by_role("button", name="Sign in").wait_for()


def test_a_hidden_tab_lets_its_stream_go_and_reads_anew_when_it_is_seen(open_page: Open) -> None:
    opened = open_page()
    opened.page.clock.install()
    opened.page.reload()
    opened.live()
    before = opened.fleet.asked.count("/v1/stream")
    _turn(opened, hidden=True)
    opened.page.clock.run_for(15_000)
    assert opened.fleet.asked.count("/v1/stream") == before
    opened.fleet.change("n003", stage="quarantined", health="fail", reason="Xid 79 on GPU 3")
    opened.counted("quarantined", 0).wait_for()
    _turn(opened, hidden=False)
    opened.counted("quarantined", 1).wait_for()
    assert opened.fleet.asked.count("/v1/stream") == before + 1


def _turn(opened: Opened, *, hidden: bool) -> None:
    script = "hidden => Object.defineProperty(document, 'hidden', {value: hidden, configurable: true})"
    opened.page.evaluate(script, hidden)
    opened.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_an_expired_token_brings_the_sign_in_back(open_page: Open) -> None:
    opened = open_page(token="s3cret", address="#token=s3cret").live()
    opened.fleet.token = "another"
    opened.page.evaluate("location.hash = '#/node/n001'")  # asks at once, if nothing else has asked before
    opened.page.get_by_label("Token").wait_for()


def test_an_empty_fleet_says_what_to_do(open_page: Open) -> None:
    opened = open_page(0).live()
    opened.page.get_by_text("No node has enrolled yet").wait_for()


def _draw_everything(opened: Opened) -> None:
    """A tripped breaker, every stage, an open node with a wrong verdict: what can be on the page at once."""
    for number, stage in enumerate(("draining", "quarantined", "resetting", "testing", "removed", "cleaning")):
        opened.fleet.change(f"n{number:03d}", stage=stage, health="fail", reason="Xid 79 on GPU 3")
    opened.fleet.incident("rack/r2", "16 of 16 nodes behind rack/r2 failed together")
    opened.page.get_by_role("link", name=re.compile(r"Incidents [1-9]")).wait_for()
    opened.page.locator("#grid").click(position={"x": 20, "y": 40})
    opened.page.get_by_role("region", name="Verdicts").get_by_text("GPU 3 does not answer").wait_for()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_nothing_serious(open_page: Open, scheme: str) -> None:
    opened = open_page(scheme=scheme).live()
    _draw_everything(opened)
    assert serious(opened.page) == []


def test_a_filter_that_fits_no_node_says_so_where_it_is_seen(open_page: Open) -> None:
    page = open_page(address="#/?find=zzz").page
    page.get_by_text("None of 64 nodes matches zzz.").wait_for()
    page.get_by_role("button", name="Show all").click()  # refused where something covers the button
    page.get_by_role("toolbar").get_by_text("64 nodes", exact=True).wait_for()
