"""Names that users choose, in commands that operators copy: a shell reads each as one word."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.catalog import runbooks
from holdfast.model import command_line

EVIL = ["$(reboot)", "`reboot`", "a; reboot", "a\nreboot\n", "a' ; reboot '", 'a" ; reboot "', "a | sh",
        "\x1b[201~reboot\r", "--url=http://evil", "a & b", "> /etc/passwd", "é $HOME", "\u202e x"]  # fmt: skip
OPERATORS = {";", "&", "|", "&&", "||", ">", "<", "(", ")"}


def words(command: str) -> list[str]:
    """As a shell splits it; an operator outside quotes is a word of its own."""
    reader = shlex.shlex(command, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    return list(reader)


@given(st.one_of(st.sampled_from(EVIL), st.text(min_size=1, max_size=30)))
def test_an_argument_is_one_word_that_no_shell_reads(name: str) -> None:
    command = f"holdfast job show {command_line.operand(name)}"
    found = words(command)
    assert not OPERATORS & set(found)
    assert command.isprintable()
    assert found[3:] in ([name], ["--", name]) or not name.isprintable()
    assert len(found) == 4 or (found[3] == "--" and name.startswith("-"))


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize(
    "command", ["ssh <node> uptime", "promtool query 'up{node=~\"<node>\"}'", 'echo "<node>"; x <node>']
)
def test_a_filled_command_has_the_words_it_had(command: str, name: str) -> None:
    plain, filled = (words(command_line.fill(command, {"node": one})) for one in ("n1", name))
    extra = command.count(" <node>") if name.startswith("-") else 0
    assert len(filled) == len(plain) + extra
    assert not any("$(" in one or "`" in one for one in filled if one not in (name, f"-- {name}"))


def test_names_that_are_not_given_stay() -> None:
    assert command_line.fill("a <b> <c>", {"c": "d"}) == "a <b> d"


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize("book", ["gpu.lost", "job.unknown", "net.port"])
def test_a_name_adds_no_command_to_a_runbook(book: str, name: str) -> None:
    found = runbooks.find(book)
    if found is None:
        found = next(iter(runbooks.all_runbooks().values()))
    good, filled = (
        runbooks.fill(found, {key: one for key in ("node", "cause", "name", "jobs", "part")}) for one in ("x", name)
    )
    assert len(filled.commands) == len(good.commands)
    for one, other in zip(filled.commands, good.commands, strict=True):
        assert OPERATORS & set(words(one)) == OPERATORS & set(words(other))
