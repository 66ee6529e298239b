"""12,500 nodes: the work the page does grows with what changed, not with the fleet. Times are for bench/console.py."""

from collections.abc import Callable

import pytest

from .conftest import Opened

pytestmark = pytest.mark.slow
NODES = 12_500
COUNT_COPIES = """() => {
    window.copies = 0;
    const copy = CanvasRenderingContext2D.prototype.drawImage;
    CanvasRenderingContext2D.prototype.drawImage = function (...given) {
        window.copies += 1;
        return copy.apply(this, given);
    };
}"""


NEXT_FRAME = "() => new Promise(requestAnimationFrame)"


@pytest.fixture
def opened(open_page: Callable[..., Opened]) -> Opened:
    opened = open_page(NODES, address="#/?group=pool").live()
    opened.page.get_by_text("12,500 nodes").wait_for()
    return opened


def test_the_grid_is_one_canvas_and_the_whole_fleet_is_seen_at_once(opened: Opened) -> None:
    assert opened.page.evaluate("document.querySelectorAll('*').length") < 300
    assert opened.page.evaluate("(grid => grid.scrollHeight <= grid.clientHeight)(document.getElementById('grid'))")


def test_what_changed_is_drawn_and_nothing_else(opened: Opened) -> None:
    opened.page.evaluate(COUNT_COPIES)
    for number in range(0, NODES, 100):
        opened.fleet.change(f"n{number:05d}", stage="provisioning", quietly=True)
    count = sum(node["stage"] == "provisioning" for node in opened.fleet.nodes.values())
    opened.counted("provisioning", count).wait_for()
    opened.page.evaluate(NEXT_FRAME)
    assert opened.page.evaluate("window.copies") == NODES // 100


def test_scrolling_through_large_cells_shows_every_part(opened: Opened) -> None:
    for _ in range(3):
        opened.page.get_by_role("button", name="Larger cells").click()
        opened.page.evaluate(NEXT_FRAME)
    opened.page.locator("#grid").focus()
    opened.page.keyboard.press("End")
    assert opened.chosen().startswith("n09374")
    assert opened.page.locator("#grid").evaluate("grid => grid.scrollTop") > 0
    ring = opened.page.locator(".ring.cursor").bounding_box()
    grid = opened.page.locator("#grid").bounding_box()
    assert grid["y"] <= ring["y"] <= grid["y"] + grid["height"]
