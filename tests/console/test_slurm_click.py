"""A quarantine clicked on the page drains the node in a real Slurm; whoever may only look cannot."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..fleet.controller.slurm_site import Site, slurm_site  # noqa: TID252  tests are no package to name

pytestmark = pytest.mark.slow
NODE = "node1"
REASON = "fans rattle; <b>ana</b> looks"


@pytest.fixture(scope="module")
def site(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with slurm_site(tmp_path_factory.mktemp("click"), 1, f'console = "{static}"') as one:
        one.join(NODE)
        one.ready(NODE)
        yield one


def panel(chromium: Any, site: Site, role: str) -> tuple[Any, Any]:
    token = site.controller.token(name=f"ana-{role}", role=role)
    page = chromium.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{site.controller.url}/#token={token}")
    page.get_by_role("status").get_by_text("Live").wait_for()
    page.goto(f"{site.controller.url}/#/node/{NODE}")
    return page, page.get_by_role("complementary", name=f"Node {NODE}")


def test_a_viewer_cannot_and_slurm_does_not_notice(chromium: Any, site: Site) -> None:
    page, node = panel(chromium, site, "viewer")
    node.get_by_text("Your role is viewer").wait_for()
    assert node.get_by_role("button", name="Quarantine", exact=True).is_disabled()
    forced = page.evaluate(
        """([node, reason]) => fetch(`/v1/nodes/${node}/quarantine`, {
            method: "POST", body: JSON.stringify({reason}),
            headers: {"Content-Type": "application/json",
                      "X-Holdfast-Session": "console"},
        }).then((answer) => answer.status)""",
        [NODE, REASON],
    )
    assert forced == 403
    assert site.slurm.state(NODE).removesuffix("*") == "idle"  # slurmd of a busy machine may answer late
    page.close()


def test_an_operators_click_drains_the_node_with_his_reason(chromium: Any, site: Site) -> None:
    page, node = panel(chromium, site, "operator")
    node.get_by_role("button", name="Quarantine", exact=True).click()
    form = node.get_by_role("form", name=f"Quarantine {NODE}")
    form.get_by_role("textbox").fill(REASON)
    form.get_by_role("button", name=f"Quarantine {NODE}").click()
    site.slurm.eventually(lambda: site.slurm.state(NODE).startswith("drain"), within=30)
    assert "fans rattle" in site.slurm.reason(NODE)
    node.get_by_role("button", name="Release", exact=True).and_(page.locator(":enabled")).click()
    back = node.get_by_role("form", name=f"Release {NODE}")
    back.get_by_role("textbox").fill("the tray is in")
    back.get_by_role("button", name=f"Release {NODE}").click()
    site.slurm.eventually(lambda: site.slurm.state(NODE) == "idle", within=60)
    page.close()
