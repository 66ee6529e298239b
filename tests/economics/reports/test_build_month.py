"""What a month's report writes into files that other programs open."""

import pytest

from holdfast.economics.reports import build_month


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_text_of_a_table_is_a_formula(start: str) -> None:
    name = f"{start}HYPERLINK(1)"
    assert build_month._cells({"user": name, "cause": name}) == {"user": f"'{name}", "cause": f"'{name}"}


def test_names_and_numbers_stay_what_they_are() -> None:
    assert build_month._cells({"user": "anna-b", "hours": -1.23456, "jobs": -3}) == {
        "user": "anna-b",
        "hours": -1.235,
        "jobs": -3,
    }
