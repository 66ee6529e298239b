"""No regular expression of the product takes exponential time: judged from its structure, without a clock."""

import json
import subprocess
import sys
from math import inf

import pytest

from tests.patterns.ambiguity import exponential, growth


def every_pattern() -> list[tuple[str, int, str]]:
    command = [sys.executable, "-m", "tests.patterns.collect"]
    return [(text, flags, place) for text, flags, place in json.loads(subprocess.check_output(command))]


def test_no_pattern_of_the_product_is_exponential() -> None:
    patterns = every_pattern()
    found = {
        f"{place}: {text}": repr(way.text(3)) for text, flags, place in patterns if (way := exponential(text, flags))
    }
    assert found == {}, "two ways to read the same repetition: 40 of them are a text that nothing reads to its end"
    places = {place.partition("/")[0].partition(":")[0] for _, _, place in patterns}
    assert {"catalog", "formats", "node", "diagnosis", "fleet", "config", "economics"} <= places


@pytest.mark.parametrize(
    ("pattern", "power"),
    [
        (r"^a+b", 1),
        (r"(?<!a)a+b", 1),
        (r"\s+", 1),  # the first match ends the search
        (r"\b\w+\b=", 1),
        (r"^foo.*bar", 1),
        (r"a+b", 2),  # tried anew at every place
        (r"foo.*bar", 2),
        (r"^foo.*bar.*baz", 2),
        (r"^\s*,?\s*x", 2),
        (r"(?m)^\s*x", 2),
        (r"x(?=.*y)", 2),
        (r"foo.*bar.*baz", 3),
        (r"(a+)+b", inf),
        (r"(a|a)*b", inf),
        (r"^link ((?:\w+ \d+ ?)+)$", inf),  # a name may be a number too
        (r"^metadata:\n(?:[ ]+.*\n)*?name:", inf),  # each line in as many ways as it begins with spaces
    ],
)
def test_the_power_that_the_time_grows_with(pattern: str, power: float) -> None:
    assert growth(pattern)[0] == power


def test_an_attack_is_a_text_that_does_not_match() -> None:
    way = exponential(r"(a+)+b")
    assert way and set(way.text(20)) == {"a"}
