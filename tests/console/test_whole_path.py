"""A person on call in Chromium, against real servers: signs in with the identity provider, takes a node out of service,
acknowledges, comments on and mutes what waits. Nothing moves under the cursor, and axe finds nothing on any view."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.fleet.api.oidc_provider import provider as oidc_provider
from tests.ports import free_port

from .axe import serious
from .real import Controller, controlling

pytestmark = pytest.mark.slow
TIMEOUT = 60_000
MOST_SHIFT = 0.05
SIZES = ({"width": 1280, "height": 800}, {"width": 390, "height": 844})
VIEWS = ("", "inbox", "incidents", "jobs", "topology", "history", "probes", "audit", "plan", "drill")
CONFIG = """\
policy = "{folder}/policy.toml"
[oidc]
issuer = "http://127.0.0.1:{port}"
client_id = "holdfast"
client_secret = {{ file = "{folder}/secret" }}
label = "Sign in with the test provider"
[oidc.roles]
admin = ["sre-leads"]
operator = ["sre"]
[seams]
"""
SHIFTS = """new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) window.shift_ = (window.shift_ ?? 0) + one.value;
}).observe({ type: "layout-shift", buffered: true });"""

READ = "() => !document.body.innerText.includes('Loading')"  # every answer has come


@pytest.fixture(scope="module")
def site(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """A provider and a controller that know each other, and three nodes."""
    if why := oidc_provider.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("whole")
    (folder / "secret").write_text("a-secret-of-the-test")
    (folder / "policy.toml").write_text("dry_run = false\nbreaker_share = 1.0\n")
    port = free_port()
    with controlling(static, folder, CONFIG.format(folder=folder, port=port)) as one:
        for name in ("n1", "n2", "n3"):
            one.report(name, one.enrol(name, "r1"), 1, "pass", "8 of 8 pass")
        with oidc_provider.serving(folder, port, f"{one.address}/v1/session/oidc/callback"):
            yield one


def get(site: Controller, path: str) -> Any:
    asked = Request(site.address + path, headers={"Authorization": f"Bearer {site.token}"})
    with closing(urlopen(asked, timeout=10)) as answer:
        return json.load(answer)


def sign_in(page: Any, site: Controller, login: str) -> None:
    """The provider asks who it is, then whether the console may know."""
    page.goto(f"{site.address}/#/inbox")
    page.get_by_role("link", name="Sign in with the test provider").click()
    page.locator("input[name=login]").fill(login)
    page.locator("input[name=password]").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("status").get_by_text("Live").wait_for()
    page.get_by_role("banner").get_by_text(login).wait_for()


def test_from_sign_in_to_a_muted_item(chromium: Any, site: Controller) -> None:
    page = chromium.new_page()
    page.set_default_timeout(TIMEOUT)
    page.add_init_script(SHIFTS)
    sign_in(page, site, "ada")

    page.goto(f"{site.address}/#/node/n2")
    panel = page.get_by_role("complementary", name="Node n2")
    panel.get_by_role("button", name="Quarantine", exact=True).click()
    form = panel.get_by_role("form", name="Quarantine n2")
    form.get_by_role("textbox").fill("the fan is loud")
    form.get_by_role("button", name="Quarantine n2").click()
    panel.get_by_text(re.compile("quarantined")).first.wait_for()

    page.get_by_role("link", name=re.compile("^Inbox")).click()
    page.get_by_role("button", name=re.compile("n2 waits for an operator")).click()
    page.get_by_role("button", name="Acknowledge", exact=True).click()
    page.get_by_text("by ada").wait_for()
    comment = page.get_by_role("form", name="Comment")
    comment.get_by_role("textbox").fill("a <b>new</b> fan is ordered")
    comment.get_by_role("button").click()
    page.get_by_text("a <b>new</b> fan is ordered").wait_for()
    page.get_by_label("Mute for").select_option("8")
    page.get_by_text("Muted until").wait_for()

    [item] = [one for one in get(site, "/v1/inbox")["items"] if one["subject"] == "node/n2"]
    assert (item["state"], item["acknowledged_by"]) == ("muted", "ada")
    done = {(one["verb"], one["who"]) for one in get(site, "/v1/audit")["entries"]}
    wanted = {"quarantine", "inbox acknowledge", "inbox comment", "inbox mute"}
    assert {verb for verb, who in done if who == "ada"} >= wanted

    for size, view in product(SIZES, VIEWS):
        page.set_viewport_size(size)
        page.goto("about:blank")
        page.goto(f"{site.address}/#/{view}")
        page.get_by_role("status").get_by_text("Live").wait_for()
        page.wait_for_function(READ)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert serious(page) == [], (view, size)
        assert page.evaluate("window.shift_ ?? 0") < MOST_SHIFT, (view, size)
    page.close()
