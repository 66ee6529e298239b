"""`holdfast --help` reads like a table of contents, and reads no command's file for it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli import contents
from holdfast.cli.app import _command, run

CLI = Path(contents.__file__).parent
SAME = {
    "--json": "Print one JSON document and nothing else.",
    "--url": "The controller; $HOLDFAST_URL, or the one that `holdfast up` started.",
    "--token": "Your token; $HOLDFAST_TOKEN, or that of `holdfast up`.",
}
# They run until they are told to end, or talk with a person.
ANSWER_NOTHING = {"completion", "up", "agent", "controller", "top", "run", "drill play"}
INDENT = 4  # two before a name, two behind the longest


@pytest.mark.parametrize("name", contents.ENTRIES)
def test_every_entry_leads_to_a_command(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    long = capfd.readouterr().out
    assert f"holdfast {name}" in long.replace("\n", " ")
    assert run([name, "-h"]) == 0
    assert capfd.readouterr().out == long


def test_every_noun_is_in_the_contents() -> None:
    files = {file.stem: file for file in CLI.glob("*.py") if file.stem != "app"}
    files |= {file.parent.name: file for file in CLI.glob("*/command.py")}
    nouns = {noun for noun, file in files.items() if "\napp = typer.Typer(" in file.read_text()}
    assert nouns == {one.where.partition(":")[0] for one in contents.ENTRIES.values() if one.where.endswith(":app")}


def test_the_help_fits_a_terminal_of_eighty_columns_line_by_line() -> None:
    width = max(map(len, contents.ENTRIES)) + INDENT
    assert [name for name, entry in contents.ENTRIES.items() if width + len(entry.summary) > 78] == []


def test_parts_are_reported_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    output = capsys.readouterr().out
    places = [output.index(f"\n{title}:\n") for title in contents.PARTS]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("typed", "expected_text"),
    [("nod", "no command is called 'nod'; did you mean node?"), ("zzz", "'zzz'; expected one of up, doctor,")],
)
def test_a_mistyped_command_is_reported_with_the_nearest(
    typed: str, expected_text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([typed, "list"]) == 64
    assert expected_text in capfd.readouterr().err


@pytest.mark.parametrize("noun", [[], ["node"], ["plan"]])
def test_a_noun_alone_is_answered_with_its_help(noun: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(noun) == 64
    assert capfd.readouterr().err.startswith(" ".join(["Usage: holdfast", *noun, "[OPTIONS] COMMAND"]))


def test_help_reads_no_file_of_a_command() -> None:
    code = "import sys; from holdfast.cli.app import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not loaded & {f"holdfast.cli.{one.where.partition(':')[0]}" for one in contents.ENTRIES.values()}
    assert not loaded & {"rich", "pydantic", "numpy", "httpx", "holdfast.node.agent"}


def _all(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from _all(below, f"{path} {name}")


COMMANDS = [found for name in contents.ENTRIES for found in _all(_command(name), name)]


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_the_same_thing_has_the_same_name_everywhere(path: str, command: Any) -> None:
    for one in command.params:
        flag = getattr(one, "is_flag", False)
        assert flag or one.metavar, f"{one.name} shows a type, not a name"
        assert not (flag and one.default is False and one.secondary_opts), f"{one.name}: off has no --no-"
        assert one.help, f"{one.name} is not explained"
        if one.param_type_name == "option":
            for option, words in SAME.items():
                assert option not in one.opts or one.help == words, f"{option} of {path}"


def test_every_command_that_answers_can_answer_in_json() -> None:
    ends = {path: command for path, command in COMMANDS if not getattr(command, "commands", {})}
    without = {path for path, one in ends.items() if not any("--json" in option.opts for option in one.params)}
    assert without - {"gate"} == ANSWER_NOTHING  # the gate reads its own words


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_the_list_of_a_noun_is_not_cut(path: str, command: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    if not getattr(command, "commands", {}):
        return
    monkeypatch.setenv("COLUMNS", "80")
    assert run([path, "--help"]) == 0
    assert "..." not in capfd.readouterr().out.partition("Commands:")[2]
