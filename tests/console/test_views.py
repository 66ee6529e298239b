"""The other views, and what an operator does on the page, in a real browser against the mock of the API."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from .axe import serious
from .mock_api import item
from .seam_incident import account, training

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from .conftest import Opened

pytestmark = pytest.mark.slow
Open = Callable[..., "Opened"]
PHONE = 390


def test_an_operator_sees_what_a_quarantine_does_and_asks_for_it_with_a_reason(open_page: Open) -> None:
    opened = open_page(address="#/node/n001")
    opened.fleet.role = "operator"
    page = opened.live().page
    page.reload()
    page.get_by_role("button", name="Quarantine", exact=True).click()
    form = page.get_by_role("form", name="Quarantine n001")
    result = "Taken out by an operator. It becomes draining: no new work starts there; running work may finish."
    assert result in form.inner_text()
    assert form.get_by_role("button", name="Quarantine n001").is_disabled()
    form.get_by_role("textbox").fill("fans <b>rattle</b>")
    form.get_by_role("button", name="Quarantine n001").click()
    page.locator(".panel .why", has_text="fans <b>rattle</b>").wait_for()
    assert opened.fleet.wished == [("nodes", "n001", "quarantine", "fans <b>rattle</b>")]
    page.get_by_role("button", name="Release", exact=True).wait_for()
    assert opened.troubles == []


def test_what_the_breaker_refuses_may_be_insisted_on_by_keyboard_alone(open_page: Open) -> None:
    opened = open_page(address="#/node/n001")
    opened.fleet.role, opened.fleet.brake = "operator", "quarantine of n001 is refused: 4 of 48 nodes are out"
    page = opened.live().page
    page.reload()
    page.get_by_role("button", name="Quarantine", exact=True).press("Enter")
    form = page.get_by_role("form", name="Quarantine n001")
    form.wait_for()
    page.wait_for_function("() => document.activeElement.matches('.confirm input')")
    page.keyboard.type("fans rattle")
    assert form.get_by_role("button", name="Quarantine anyway").count() == 0
    page.keyboard.press("Enter")
    form.get_by_role("alert").get_by_text("4 of 48 nodes are out").wait_for()
    form.get_by_role("button", name="Quarantine anyway").press("Enter")
    page.locator(".panel .why", has_text="fans rattle").wait_for()
    asked = ("nodes", "n001", "quarantine", "fans rattle")
    assert opened.fleet.wished == [asked, (*asked, "force")]


def test_a_viewer_sees_the_actions_and_why_they_are_not_his(open_page: Open) -> None:
    page = open_page(address="#/node/n001").live().page
    page.get_by_text("Your role is viewer").wait_for()
    assert page.get_by_role("button", name="Quarantine", exact=True).is_disabled()


def test_a_refusal_is_reported_where_it_was_asked_for(open_page: Open) -> None:
    opened = open_page(address="#/node/n001")
    opened.fleet.role = "operator"
    page = opened.live().page
    page.reload()
    page.get_by_role("button", name="Remove", exact=True).click()
    opened.fleet.role = "viewer"  # demoted in the meantime
    form = page.get_by_role("form", name="Remove n001")
    form.get_by_role("textbox").fill("broken")
    form.get_by_role("button", name="Remove n001").click()
    form.get_by_role("alert").get_by_text("a token of role viewer may not operate").wait_for()


def test_a_node_shows_its_gpus_the_outages_of_its_ports_and_its_past_tests(open_page: Open) -> None:
    opened = open_page(address="#/node/n001")
    panel = opened.live().page.get_by_role("complementary", name="Node n001")
    panel.get_by_role("img", name="Core of GPU 7 over time").wait_for()
    assert panel.get_by_role("cell", name="70 °C").count() == 1
    outages = panel.get_by_role("region", name="Port outages").inner_text()
    assert "nic mlx5_3/1 fail" in outages and "for 40 s" in outages and "so far" in outages and "<b>down</b>" in outages
    assert "pass: every check passed after gpu.xid" in panel.get_by_role("region", name="Past tests").inner_text()
    assert opened.troubles == []


def test_the_probes_show_which_leaves_were_proven_and_how_fast(open_page: Open) -> None:
    opened = open_page()
    page = opened.live().page
    page.get_by_role("link", name="Probes").click()
    assert page.url.endswith("#/probes")
    page.get_by_role("cell", name="l0 with l1: proven 10 min ago, 20.0 GB/s, 44 % of the usual").first.wait_for()
    page.get_by_role("cell", name="l1 with l1: not proven within the period").wait_for()
    assert "2 of 3" in page.locator(".lead").inner_text()
    assert page.get_by_role("img", name="Bandwidth of the probe sessions").is_visible()
    sweep = json.dumps(
        {"sweep": [{"bytes": 2**power, "busbw_bytes_per_second": 1e9 * power} for power in (10, 20, 30)]}
    )
    page.get_by_label("Sweeps by payload size").set_input_files(
        {"name": "s.json", "mimeType": "", "buffer": sweep.encode()}
    )
    page.get_by_role("img", name="Bus bandwidth by payload size").wait_for()
    page.get_by_label("Sweeps by payload size").set_input_files({"name": "t.json", "mimeType": "", "buffer": b"{"})
    page.get_by_role("alert").get_by_text("t.json is not JSON").wait_for()
    assert page.get_by_text("confirmed with a good partner").is_visible()
    assert page.get_by_text("set-up failed: no torch").is_visible()
    page.go_back()
    page.get_by_role("toolbar").wait_for()
    assert opened.troubles == []


def test_an_incident_is_reported_from_its_cause_to_its_price(open_page: Open) -> None:
    opened = open_page()
    opened.fleet.incident("cdu/c2", "coolant flow fell", cause="cooling.flow_low", account=account(), evidence=["n001"])
    opened.fleet.incident("rack/r7", "over", state="closed", cause="gpu.temperature")
    page = opened.live().page
    page.get_by_role("link", name="Incidents 1").click()
    page.get_by_role("button", name="cdu/c2").click()
    page.get_by_role("heading", name="cdu/c2: coolant flow is low").wait_for()
    page.get_by_text("switch to the standby pump or valve of cdu/c2").first.wait_for()  # the runbook is read by itself
    text = page.get_by_role("main").inner_text()
    for message in (
        "cdu/c2 is costing job llama 41 GPU-hours an hour",
        "<script>alert(1)</script>",
        "not priced",
        "205 USD",
        "facilities: Ada",
        "ml: no one is on call",
        "switch to the standby pump or valve of cdu/c2",
        "Do not quarantine or reset the nodes n001",
        "cooling.fan on node/n001: its neighbours warm as well",
    ):
        assert message in text, message
    assert (
        page.get_by_role("region", name="Graph from cause to symptoms").locator("text", has_text="rack/r1").is_visible()
    )
    assert page.get_by_role("img", name="cooling: 1 moments").is_visible()
    assert page.get_by_role("img", name="cdu/c2 CDU flow: 124 to 200 l/min").is_visible()
    page.get_by_role("button", name="All incidents").click()
    page.get_by_role("row", name="closed rack/r7").wait_for()
    assert page.get_by_role("row").count() == 3
    assert opened.troubles == []


def test_no_incident_is_reported_with_since_when(open_page: Open) -> None:
    opened = open_page(address="#/incidents")
    page = opened.page
    page.get_by_text("There is no open or past incident.").wait_for()
    assert page.get_by_role("table").count() == 0
    opened.fleet.incident("rack/r7", "over", state="closed", cause="gpu.temperature")
    page.reload()
    page.get_by_text(re.compile(r"No incident has been open since \d\d:\d\d:\d\d\.")).wait_for()
    page.get_by_role("row", name="closed rack/r7").wait_for()


def test_who_must_sign_in_can_type_at_once(open_page: Open) -> None:
    page = open_page(token="s3cret").page
    page.get_by_label("Token").wait_for()
    page.wait_for_function("() => document.activeElement.name === 'token'")


def test_a_job_shows_its_ledger_its_risk_and_who_is_slow(open_page: Open) -> None:
    opened = open_page(address="#/jobs")
    page = opened.page
    page.get_by_text("No job reports its progress yet").wait_for()
    opened.fleet.jobs["llama"] = training()
    page.reload()
    page.get_by_role("button", name="llama").click()
    page.get_by_role("img", name="productive 75 %, degraded 12.5 %").wait_for()
    text = page.get_by_role("main").inner_text()
    heat = page.get_by_role("region", name="Ranks and phases")
    assert heat.get_by_role("row").nth(1).inner_text().startswith("5\tn012 GPU 5\t1.90")
    for message in (
        "A failure now would lose 1.25 GPU-hours",
        "90.1 %",
        "job/llama/rank/37 takes 11 % longer",
        "31 steps",
        "Xid 79",
        "Step 8,000 is safe",
        "Step 8,000 is committed; step 7,000 is complete in storage; step 8,000 is in memory only",
        "n013: partner n012: step 8140 of rank 9 is not there",
    ):
        assert message in text, message
    places = page.get_by_role("region", name="Where the copies of each step are").get_by_role("row")
    assert places.nth(1).inner_text().split("\t") == ["8,140", "all ranks", "3 of 16", "", ""]
    assert places.nth(2).inner_text().split("\t") == ["8,000", "all ranks", "all ranks", "", "committed"]
    assert opened.troubles == []


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1280), ("light", 1280), ("light", PHONE)])
def test_no_view_has_a_serious_fault_of_accessibility(open_page: Open, scheme: str, width: int) -> None:
    opened = open_page(scheme=scheme)
    opened.page.set_viewport_size({"width": width, "height": 800})
    opened.fleet.incident("cdu/c2", "coolant flow fell", cause="cooling.flow_low", account=account(), evidence=["n001"])
    opened.fleet.jobs["llama"] = training()
    page = opened.live().page
    for address, landmark in (
        ("#/", "toolbar"),
        ("#/node/n001", "complementary"),
        ("#/incidents", "table"),
        ("#/incidents/cdu%2Fc2", "table"),
        ("#/jobs", "table"),
        ("#/jobs/llama", "main"),
        ("#/probes", "table"),
    ):
        page.goto(opened.url + address)
        page.get_by_role(landmark).first.wait_for()
        assert serious(page) == [], (scheme, width, address)


def test_one_that_is_over_is_priced_in_the_past(open_page: Open) -> None:
    opened = open_page()
    over = {"state": "closed", "closed": 100.0, "cause": "cooling.flow_low", "account": account(), "evidence": ["n001"]}
    opened.fleet.incident("cdu/c2", "coolant flow fell", **over)
    page = opened.live().page
    page.goto(opened.url + "#/incidents/cdu%2Fc2")
    page.get_by_role("heading", name="What it cost", exact=True).wait_for()
    message = page.get_by_role("main").inner_text()
    assert "they stayed in service" in message and "lasted" in message
    assert (
        "more per hour" not in message and "more\n" not in page.get_by_role("region", name="Cost by layer").inner_text()
    )


def test_a_node_says_which_open_incidents_concern_it(open_page: Open) -> None:
    opened = open_page(address="#/node/n001")
    opened.fleet.incident("node/n001/gpu/0", "node/n001/gpu/0: a GPU is slow", account=account())
    opened.fleet.incident("node/n0011", "another is silent")
    here = opened.live().page.get_by_role("region", name="Open incidents on this node")
    here.wait_for()
    (line,) = here.get_by_role("listitem").all_inner_texts()
    assert line.startswith("This node is the root cause. node/n001/gpu/0, for ")
    here.get_by_role("button").click()
    opened.page.get_by_role("heading", name="What it costs").wait_for()


def test_a_slow_job_leads_to_the_incident_that_explains_it(open_page: Open) -> None:
    opened = open_page()
    opened.fleet.incident("cdu/c2", "coolant flow fell", cause="cooling.flow_low", account=account(), evidence=["n001"])
    opened.fleet.jobs["llama"] = training() | {"incident": "cdu/c2"}
    page = opened.live().page
    page.goto(opened.url + "#/jobs")
    page.get_by_role("button", name="Show the incident").click()
    page.get_by_role("heading", name="What it costs").wait_for()
    assert opened.troubles == []


@pytest.mark.parametrize("view", ["incidents", "jobs"])
def test_on_a_phone_a_row_is_a_card_that_needs_no_scrolling_sideways(open_page: Open, view: str) -> None:
    opened = open_page()
    opened.page.set_viewport_size({"width": PHONE, "height": 800})
    opened.fleet.incident("cdu/c2", "coolant flow fell", cause="cooling.flow_low", account=account(), evidence=["n001"])
    opened.fleet.jobs["llama"] = training()
    page = opened.live().page
    page.goto(f"{opened.url}#/{view}")
    rows = page.locator("tbody tr")
    rows.first.wait_for()
    box = rows.first.bounding_box()
    assert box is not None and box["x"] + box["width"] <= PHONE
    sentence = rows.first.locator(".sentence").bounding_box()
    assert sentence is not None and sentence["width"] > PHONE / 2


def test_an_operator_works_an_item_of_the_inbox(open_page: Open) -> None:
    opened = open_page(address="#/inbox")
    opened.fleet.role = "operator"
    opened.fleet.items = [item("n003"), item("n004", title="n004 waits for an operator", owner="network")]
    page = opened.page
    page.reload()
    page.get_by_role("button", name="n003 waits for an operator").click()
    page.get_by_role("heading", name="n003 waits for an operator").wait_for()
    assert page.get_by_text("the work of 8 GPUs").is_visible() and page.get_by_text("18.80 USD").is_visible()
    page.get_by_role("button", name="Acknowledge").click()
    page.locator(".state.acknowledged").wait_for()
    page.get_by_role("form", name="Comment").get_by_role("textbox").fill("ordered <b>a GPU</b>")
    page.get_by_role("button", name="Comment", exact=True).click()
    page.get_by_label("Mute for").select_option("8")
    page.locator(".state.muted").wait_for()
    page.get_by_role("button", name="Take it").click()
    page.get_by_text("somebody").first.wait_for()
    did = [(one["action"], one.get("hours"), one.get("comment")) for one in opened.fleet.acted]
    assert did[0][0] == "acknowledge" and ("comment", None, "ordered <b>a GPU</b>") in did
    assert ("mute", 8, "") in did and did[-1][0] == "assign"
    assert opened.troubles == []


def test_a_comment_is_said_once_where_another_action_overtakes_its_answer(open_page: Open) -> None:
    opened = open_page(address="#/inbox")
    opened.fleet.role = "operator"
    opened.fleet.items = [item("n003")]
    page = opened.page
    held: list[Route] = []

    def hold_comments(route: "Route") -> None:
        if '"action":"comment"' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/inbox", hold_comments)
    page.reload()
    page.get_by_role("button", name="n003 waits for an operator").click()
    typed = page.get_by_role("form", name="Comment").get_by_role("textbox")
    typed.fill("ordered a GPU")
    page.get_by_role("button", name="Comment", exact=True).click()
    page.get_by_label("Mute for").select_option("8")
    page.locator(".state.muted").wait_for()
    assert [(one["action"], one["comment"]) for one in opened.fleet.acted] == [("mute", "")]
    held.pop().abort()
    page.get_by_role("alert").wait_for()
    assert typed.input_value() == "ordered a GPU"


def test_an_item_that_is_over_takes_comments_and_leads_to_its_post_mortem(open_page: Open) -> None:
    opened = open_page(address="#/inbox")
    opened.fleet.role = "operator"
    over = {
        "state": "resolved",
        "resolved_by": "holdfast",
        "resolved_at": 90.0,
        "ended_at": 90.0,
        "outcome": "it closed",
    }
    told = {"title": "cdu/c2: coolant flow is low", "detail": "cdu/c2: coolant flow is low; in 9 min it cost 90 USD"}
    opened.fleet.items = [item("n003", key="incident/cdu/c2@5", kind="incident", **told, **over)]
    page = opened.page
    page.goto(opened.url + "#/inbox/incident%2Fcdu%2Fc2%405")
    page.get_by_role("heading", name="cdu/c2: coolant flow is low").wait_for()
    page.get_by_text("In 9 min it cost 90 USD", exact=True).wait_for()
    assert page.get_by_role("button", name="Acknowledge").count() == 0
    assert page.get_by_role("form", name="Assign").count() == 0
    page.get_by_role("form", name="Comment").get_by_role("textbox").fill("the filter was full")
    page.get_by_role("button", name="Comment", exact=True).click()
    page.wait_for_function("() => document.querySelector('form[aria-label=Comment] input').value === ''")
    assert [(one["action"], one["comment"]) for one in opened.fleet.acted] == [("comment", "the filter was full")]
    link = page.get_by_role("link", name="Post-mortem")
    assert str(link.get_attribute("href")).endswith("/v1/post-mortems/cdu/c2%405")
    assert link.get_attribute("download") == "post-mortem-cdu-c2-5.md"


def test_a_list_is_searched_sorted_and_kept_in_the_address(open_page: Open) -> None:
    opened = open_page(address="#/inbox")
    opened.fleet.items = [item("n003", cost_per_hour=5.0), item("n004", cost_per_hour=70.0, owner="network")]
    page = opened.page
    page.reload()
    rows = page.locator("tbody tr")
    page.get_by_role("button", name="Cost per hour").click()
    assert "n004" in rows.nth(0).inner_text()
    assert page.url.endswith("#/inbox?sort=-Cost+per+hour")
    page.get_by_label("Owner").select_option("network")
    assert rows.count() == 1
    page.reload()
    page.get_by_text("1 of 2 items").wait_for()
    page.get_by_role("searchbox").fill("nothing like it")
    page.get_by_text("None of 2 items matches the search.").wait_for()
    page.get_by_role("button", name="Show all").click()
    page.get_by_text("2 items", exact=True).wait_for()


def test_rows_keep_their_places_while_one_points_at_them(open_page: Open) -> None:
    opened = open_page(address="#/inbox?sort=-Cost+per+hour")
    opened.fleet.items = [item("n003", cost_per_hour=5.0), item("n004", cost_per_hour=70.0)]
    page = opened.page
    page.reload()
    rows = page.locator("tbody tr")
    page.get_by_text("2 items", exact=True).wait_for()
    rows.nth(1).hover()
    opened.fleet.items[0]["cost_per_hour"] = 500.0
    opened.fleet.incident("rack/r7", "16 of 16 nodes failed together")  # so that the page reads the inbox again
    page.get_by_text("500 USD").wait_for()
    assert "n003" in rows.nth(1).inner_text()


def test_a_node_that_is_the_root_of_an_incident_says_so(open_page: Open) -> None:
    opened = open_page(address="#/node/n002")
    opened.fleet.incident("node/n002/gpu/0", "GPU 0 is slow", cause="gpu.slow", account=account(), evidence=["n005"])
    panel = opened.live().page.get_by_role("complementary", name="Node n002")
    panel.get_by_text("This node is the root cause.").wait_for()
    opened.page.goto(opened.url + "#/node/n005")
    opened.page.get_by_text("This node is affected.").wait_for()


@pytest.mark.parametrize(
    ("address", "heading", "way_on", "leads_to"),
    [
        ("#/nowhere/x", "No such page", "Home", "#/"),
        ("#/nowhere", "No such page", "Incidents", "#/incidents"),
        ("#/node/zzz", "No such node", "All nodes", "#/"),
        ("#/incidents/zzz", "No such incident", "All incidents", "#/incidents"),
        ("#/jobs/zzz", "No such job", "All jobs", "#/jobs"),
        ("#/inbox/zzz", "No such item", "Inbox", "#/inbox"),
    ],
)
def test_an_address_that_leads_nowhere_says_so_and_shows_the_ways_on(
    open_page: Open, address: str, heading: str, way_on: str, leads_to: str
) -> None:
    page = open_page(address=address).page
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    assert serious(page) == []
    page.locator("main, aside").get_by_role("button", name=way_on, exact=True).last.click()
    page.wait_for_function("where => location.hash === where", arg=leads_to)


@pytest.mark.parametrize("width", [1440, PHONE])
@pytest.mark.parametrize("address", ["#/inbox", "#/incidents", "#/history", "#/topology"])
def test_every_button_of_a_toolbar_is_whole_and_inside_the_page(open_page: Open, address: str, width: int) -> None:
    """On a phone the rules of the home page's toolbar once cut the buttons of the others."""
    opened = open_page(address=address)
    opened.fleet.items.append(item("n001"))
    opened.fleet.incident("rack/r7", "16 of 16 nodes failed together")
    page = opened.page
    page.set_viewport_size({"width": width, "height": 844})
    page.reload()
    page.locator(".toolbar").first.wait_for()
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.view .toolbar :is(button, select, input, output)')]
        .map((one) => [one, one.getBoundingClientRect()])
        .filter(([one, box]) => box.width > 0)
        .filter(([one, box]) => box.left < 0 || box.right > innerWidth || one.scrollWidth > box.width + 2)
        .map(([one]) => one.outerHTML.slice(0, 80))"""
    )
    assert cut == []
