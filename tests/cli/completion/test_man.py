"""Man pages say what the commands say, and nothing in a text is taken for a request of roff."""

from typing import Annotated

import typer
from typer.main import get_command

from holdfast.cli.completion import pages


def _made() -> dict[str, str]:
    app = typer.Typer(help="The whole.")
    nodes = typer.Typer(help="Nodes.")

    @nodes.command()
    def drain(
        name: Annotated[str, typer.Argument(help="Which node.")],
        reason: Annotated[str, typer.Option("--reason", "-r", help="Why: 'a\\b'.")] = "",
        secret: Annotated[str, typer.Option(hidden=True, help="Not shown.")] = "",
    ) -> None:
        """Take it out.

        .so is no request.
        """

    @nodes.command()
    def listing() -> None:
        """List."""

    app.add_typer(nodes, name="node")
    app.command(name="check")(lambda: None)
    return dict(pages(get_command(app), "1.2"))


def test_there_is_a_page_for_the_whole_and_for_each_command() -> None:
    made = _made()
    assert set(made) == {"holdfast.1", "holdfast-node.1", "holdfast-check.1"}
    assert "holdfast\\-node (1)" in made["holdfast.1"].partition("SEE ALSO")[2]


def test_a_page_has_every_sub_command_with_its_options_but_the_hidden_ones() -> None:
    page = _made()["holdfast-node.1"]
    assert "holdfast\\-node \\- Nodes" in page
    assert '.SH "HOLDFAST NODE DRAIN"' in page
    assert "[OPTIONS] NAME" in page
    assert "\\-\\-reason, \\-r\nWhy: 'a\\eb'." in page
    assert "Not shown" not in page
    assert '.SH "HOLDFAST NODE LISTING"' in page


def test_a_line_of_text_that_starts_like_a_request_is_text() -> None:
    assert "\\&.so is no request." in _made()["holdfast-node.1"]
