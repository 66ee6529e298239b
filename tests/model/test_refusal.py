"""A wrong word is told with the right ones, wherever in a type they stand."""

import enum
from typing import Literal

import pytest

from holdfast.model.refusal import named


class Tea(enum.Enum):
    GREEN = "green"
    BLACK = "black"


@pytest.mark.parametrize("kind", [Tea, Tea | None, tuple[Tea, ...], dict[str, Tea], Literal["green", "black"]])
def test_it_names_what_is_allowed(kind: object) -> None:
    assert named("Invalid enum value 'red'", kind) == "'red' is not one of green, black"


def test_other_words_stay_as_they_are() -> None:
    assert named("Expected `int`, got `str`", Tea) == "Expected `int`, got `str`"
    assert named("Invalid enum value 'red'", int) == "Invalid enum value 'red'"
