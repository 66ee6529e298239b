"""Gated patterns: a gate drops no match, and a text in pieces is the same text, cut where nothing spans the cut."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.node.capture.redaction import patterns, programs, secrets
from holdfast.node.capture.redaction.gated import LEAST_PIECE, Gated, pieces
from holdfast.node.capture.redaction.redactor import Redactor
from tests.counts import draws

PADDING = "a line that ends in a number 1\n" * (LEAST_PIECE // 31 + 1)


def _gated() -> list[Gated]:
    found: list[Gated] = []
    for module in (patterns, programs, secrets):
        for value in vars(module).values():
            several = value if isinstance(value, tuple) else (value,)
            found += [one for one in several if isinstance(one, Gated)]
    return found


WORDS = st.sampled_from(
    [
        "uid",
        "gid",
        "USER",
        "user_id",
        "Token",
        "password=",
        "PassWord:",
        "key",
        "-p",
        "--token",
        "sshpass",
        "mysql",
        "host:",
        "Node",
        "node=",
        "server",
        "serial",
        "s/n",
        "/home/alice",
        "user@1234",
        ".slice",
        "nfs:",
        "Lustre:",
        "x-OST0001",
        "@tcp:/fs",
        "bearer",
        "basic",
        "AKIAABCDEFGHIJKLMNOP",
        "sk-0123456789abcdefg",
        "10.0.0.1",
        "fe80::1",
        "aa:bb:cc:dd:ee:ff",
        "a.example.com",
        "0x0123456789abcdef",
        "process=",
        "comm=",
        "pid=1",
        "name=x",
        "Killed",
        "(",
        ")",
        "[",
        "]",
        "=",
        ":",
        ",",
        '"',
        "'",
        "\\",
        "1234",
        "12345",
        "abc",
        "n17",
        "JobName=",
        "Comment=",
        "WorkDir=",
        "sudo:",
        "CRON[1]:",
        "(",
        "tag",
        "SHA256:",
        "by",
        "owner",
        "group",
        "wckey",
        "principal",
        "ı",
        "ſ",
    ]
)


@settings(max_examples=draws(40, 300), deadline=None)
@given(st.lists(WORDS, max_size=12), st.sampled_from([" ", "", "\n", "\t"]))
def test_a_gate_drops_no_match(words: list[str], between: str) -> None:
    text = between.join(words)
    for one in _gated():
        assert one.sub("<>", text) == one.pattern.sub("<>", text), one.pattern.pattern


@settings(max_examples=draws(40, 200), deadline=None)
@given(st.text(alphabet='ab1.=: \n"\\)]', max_size=400))
def test_the_pieces_of_a_text_are_the_text(text: str) -> None:
    assert "".join(pieces(PADDING + text + PADDING)) == PADDING + text + PADDING


def test_a_long_text_is_cut() -> None:
    assert len(list(pieces(PADDING * 3))) >= 3


@pytest.mark.parametrize(
    "secret",
    [
        "password:\nhunter2hunter2",
        "password\n= hunter2hunter2",
        "password\nhunter2hunter2",
        "bearer\nhunter2hunter2",
    ],
)
def test_a_name_and_its_value_on_the_next_line_stay_together(secret: str) -> None:
    for shift in range(40):
        text = PADDING[: LEAST_PIECE - 10 - shift].rpartition("\n")[0] + "\n" + "x" * shift + f" {secret}\n{PADDING}"
        assert "hunter2hunter2" not in Redactor(b"k" * 32).text(text)


def test_without_words_a_pattern_is_always_tried() -> None:
    assert Gated(re.compile(r"\d+")).sub("x", "12") == "x"
    assert Gated(re.compile(r"(?i)secret\d")).sub("x", "SECRET1 sECRET2 none") == "x x none"
