"""Words that a regular expression needs: a text without any of them is never searched, one that fits always is."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.catalog import job_messages, job_problems
from holdfast.catalog.regex_literals import AnyOfPatterns, PrefilteredPattern, alternatives, literals_of
from tests.counts import draws

OWN_LOGS = [Path("tests/diagnosis") / name for name in ("seen.toml", "fixes.toml")]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("Address already in use", ("Address already in use",)),
        ("(?:ab|abcde)fgh", ("fgh",)),
        ("(?:first|second) part", (" part",)),
        ("(?:first|second) of", ("first", "second")),
        (r"\d+ (?:never)?here it is", ("here it is",)),
        ("(?:optional)?", ()),
        ("[Aa]ddress|EADDRINUSE", ("ddress", "EADDRINUSE")),
        ("word|.", ()),
        ("(?i:Word)", ()),
        (r"(?<=\.exceptions\.)\w+", (".exceptions.",)),
        ("(?!never)x+", ()),
        ("(?:abc){2}", ("abc",)),
    ],
)
def test_the_words_of_an_expression(pattern: str, words: tuple[str, ...]) -> None:
    assert literals_of(pattern) == words


def test_without_case_there_are_no_words() -> None:
    assert literals_of("Address", re.IGNORECASE) == ()


def test_a_text_without_a_word_is_not_searched_and_one_with_it_is() -> None:
    pattern = PrefilteredPattern("(?:first|second) part")
    assert pattern.search("the second part") is not None
    assert pattern.search("the third part") is None
    assert pattern.pattern == "(?:first|second) part"


def test_no_row_loses_a_line_to_its_words() -> None:
    """On every line of our own logs: where the bare expression finds something, the words are there."""
    lines = {
        line
        for path in OWN_LOGS
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        for line in case["text"].splitlines()
    }
    rows = [one.match for one in job_problems.problems() if not one.is_default]
    rows += [message.regex for group in job_messages.groups() for message in group.messages]
    found = 0
    for row in rows[:: draws(5, 1)]:
        bare = re.compile(row.pattern)
        for line in lines:
            if any(word in line for word in row.literals) or not row.literals:
                continue
            assert bare.search(line) is None, (row.pattern, line)
            found += 1
    assert found > 1000


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("one|two", ["one", "two"]),
        ("(?:one|two)|three", ["(?:one|two)", "three"]),
        (r"a\|b|c", [r"a\|b", "c"]),
        ("[|(]x|y", ["[|(]x", "y"]),
        (r"\(|z", [r"\(", "z"]),
        (r"\\|z", [r"\\", "z"]),
        ("alone", ["alone"]),
    ],
)
def test_the_alternatives_of_an_expression(pattern: str, parts: list[str]) -> None:
    assert alternatives(pattern) == parts


@pytest.mark.parametrize("text", ["one more", "a two b", "x|y", "nothing", "three"])
def test_any_of_several_forms_is_what_the_joined_expression_finds(text: str) -> None:
    patterns = [r"\bone\b|\btwo\b", r"x\|y|(?:three|four)"]
    assert AnyOfPatterns(patterns)(text) == bool(re.search("|".join(patterns), text))


WIDEST_LEAD = 120  # characters of any kind before what is looked for: they are tried at every place of a line


def leading_wildcard(parts: Sequence[Any]) -> int:
    """How many characters of any kind an expression takes before anything else; 0 where it is tied to the start."""
    for operation, argument in parts:
        match str(operation):
            case "AT":
                return 0
            case "ASSERT" | "ASSERT_NOT":
                continue
            case "SUBPATTERN":
                return leading_wildcard(argument[3])
            case "BRANCH":
                return max(map(leading_wildcard, argument[1]))
            case "MAX_REPEAT" | "MIN_REPEAT":
                body = argument[2]
                return int(argument[1]) if str(body[0][0]) == "ANY" else leading_wildcard(body)
            case _:
                return 0
    return 0


@pytest.mark.parametrize(
    "pattern",
    sorted(
        {message.regex.pattern for group in job_messages.groups() for message in group.messages}
        | {one.match.pattern for one in job_problems.problems() if one.match}
    ),
)
def test_no_expression_tries_a_wide_lead_at_every_place_of_a_line(pattern: str) -> None:
    assert leading_wildcard(re._parser.parse(pattern)) <= WIDEST_LEAD  # type: ignore[attr-defined]
