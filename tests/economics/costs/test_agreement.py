"""Nothing we compute has drifted from what was published; the page is what the code says."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

import agreement
import agreement_page
import agreement_titan

from ...real import captures  # noqa: TID252  tests are no package to name

PAGE = (Path(__file__).parents[3] / "docs" / "agreement.md").read_text()


@pytest.mark.parametrize("row", agreement.every_row(), ids=lambda row: row.what.strip())
def test_every_row_is_within_its_tolerance_and_on_the_page(row: agreement.Row) -> None:
    assert row.agrees, row.line()
    assert row.line() in PAGE


@pytest.mark.slow
@captures.needs(captures.DATA / "lifetimes")
def test_titan_is_within_what_drawing_by_chance_allows() -> None:
    for row in agreement_titan.rows():
        assert row.agrees, row.line()


def test_a_row_that_drifts_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement_titan, "available", lambda: False)
    drifted = agreement.Row("a wall", 72.0, 80.0, 0.05, "nobody")
    assert not drifted.agrees and "**NO**" in drifted.line()
    _, out = agreement_page.page({"Broken": lambda: [drifted]})
    assert out == 1


def test_without_the_data_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement_titan, "available", lambda: False)
    text, _ = agreement_page.page({})
    assert "need the data" in text and "Titan: GPUs" not in text
