"""An error says which command helps next."""

import pytest
import typer

from holdfast.cli.running import run
from holdfast.client.client import _refused
from holdfast.model.refusal import Refusal


def _app(code: str) -> typer.Typer:
    app, node = typer.Typer(), typer.Typer()
    app.add_typer(node, name="node")
    app.add_typer(node, name="plan")

    @node.command("show")
    def show(name: str) -> None:
        raise Refusal(f"no node is called {name!r}", 1, code)

    @node.command("other")
    def other() -> None:
        pass

    return app


@pytest.mark.parametrize(
    ("noun", "code", "expected"),
    [
        ("node", "not_found", "holdfast: no node is called 'n9'; `holdfast node list` lists what there is\n"),
        (
            "node",
            "unauthorized",
            "holdfast: no node is called 'n9'; --token or $HOLDFAST_TOKEN sets it, `holdfast token create NAME` makes "
            "one (as an administrator)\n",
        ),
        ("node", "breaker", "holdfast: no node is called 'n9'\n"),
        ("plan", "not_found", "holdfast: no node is called 'n9'\n"),
    ],
)
def test_a_name_that_nothing_has(capsys: pytest.CaptureFixture[str], noun: str, code: str, expected: str) -> None:
    assert run(_app(code), [noun, "show", "n9"]) == 1
    assert capsys.readouterr().err == expected


def test_a_wrong_option_names_the_help_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_app(""), ["node", "show", "n9", "--colour"]) == 64
    assert capsys.readouterr().err.endswith("; see `holdfast node show -h`\n")


def test_a_missing_argument_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(_app(""), ["node", "show"]) == 64
    said = capsys.readouterr().err.lower()
    assert said == "holdfast: missing argument 'name'; see `holdfast node show -h`\n"


@pytest.mark.parametrize(
    ("said", "status", "reason", "code"),
    [
        ("expected the header 'Authorization: Bearer TOKEN'", 401, "this needs a token", "unauthorized"),
        ("this token is unknown, expired or revoked", 401, "this token is unknown, expired or revoked", "unauthorized"),
        ("no node is called 'n9'", 404, "no node is called 'n9'", "not_found"),
        ("a token of role viewer may not administer", 403, "a token of role viewer may not administer", ""),
    ],
)
def test_a_refusal_of_the_controller_has_a_name(said: str, status: int, reason: str, code: str) -> None:
    found = _refused({"error": said}, status)
    assert (str(found), found.code) == (reason, code)
