"""Nothing we compute has drifted from what was published; the page is what the code says."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from ...real import captures  # noqa: TID252  tests are no package to name

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "agreement.md").read_text()


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Loaded and taken away again by each test: nothing is computed while tests are collected, and what a later
    process imports beforehand does not bring the costs with it."""
    names = ("agreement", "agreement_page", "agreement_titan")
    monkeypatch.syspath_prepend(ROOT / "scripts")
    yield SimpleNamespace(**{name: import_module(name) for name in names})
    for name in names:
        del sys.modules[name]


def test_every_row_is_within_its_tolerance_and_on_the_page(scripts: SimpleNamespace) -> None:
    rows = scripts.agreement.every_row()
    assert len(rows) > 30
    assert [row.line() for row in rows if not row.agrees] == []
    assert [row.line() for row in rows if row.line() not in PAGE] == []


@pytest.mark.slow
@captures.needs(captures.DATA / "lifetimes")
def test_titan_is_within_what_drawing_by_chance_allows(scripts: SimpleNamespace) -> None:
    for row in scripts.agreement_titan.rows():
        assert row.agrees, row.line()


def test_a_row_that_drifts_is_seen(scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts.agreement_titan, "available", lambda: False)
    drifted = scripts.agreement.Row("a wall", 72.0, 80.0, 0.05, "nobody")
    assert not drifted.agrees and "**NO**" in drifted.line()
    _, out = scripts.agreement_page.page({"Broken": lambda: [drifted]})
    assert out == 1


def test_without_the_data_the_page_says_so(scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts.agreement_titan, "available", lambda: False)
    text, _ = scripts.agreement_page.page({})
    assert "need the data" in text and "Titan: GPUs" not in text
