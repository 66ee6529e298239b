"""A duration reads the same in a sentence of the controller, in the terminal and on the page."""

import json
import re
from pathlib import Path

import pytest

from holdfast.config.quantities import lasting

PAGE = Path(__file__).parents[2] / "console" / "src" / "shell" / "time.test.ts"
CASES = json.loads(re.search(r"const DURATIONS = (\[.*?\]);", PAGE.read_text(), re.S)[1].replace(",\n]", "\n]"))  # type: ignore[index]


@pytest.mark.parametrize(("seconds", "shown"), CASES)
def test_the_same_words_as_on_the_page(seconds: float, shown: str) -> None:
    assert lasting(seconds) == shown


def test_the_page_has_cases_on_both_sides_of_every_unit() -> None:
    assert {59, 60, 3599, 3600, 86399, 86400} <= {int(seconds) for seconds, _ in CASES}
