"""Every claim of the threat model names a test that is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_row_is_shown_by_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    assert len(named) >= 12
    assert sorted(one for one in named if not (ROOT / "tests" / one).is_file()) == []
