"""Words that a regular expression needs: a text without any of them is never searched, one that fits always is."""

import re
import tomllib
from pathlib import Path

import pytest

from holdfast.catalog import job_messages, job_problems
from holdfast.catalog.regex_literals import PrefilteredPattern, literals_of
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
