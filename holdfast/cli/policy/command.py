"""`holdfast policy`: is a policy file right, and what would it have done."""

from typing import Annotated

import typer

from holdfast.client.client import AsJson
from holdfast.config.extra import needs_extra

app = typer.Typer(no_args_is_help=True)


@app.command()
def check(
    file: Annotated[str, typer.Argument(help="A policy file.", metavar="FILE")],
    config: Annotated[str, typer.Option(help="The controller's configuration: its nodes tell which pools are.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say whether a policy file can be used; if not, its line, key and what was expected. Pools that no node is in are
    named too."""
    with needs_extra("controller"):
        from holdfast.cli.policy import replay as policy_here
    policy_here.check(file, config, as_json)


@app.command()
def preview(
    file: Annotated[str, typer.Argument(help="A policy file; the defaults if not said.", metavar="FILE")] = "",
    since: Annotated[str, typer.Option(help="How far back: 90m, 12h, 7d.")] = "7d",
    config: Annotated[str, typer.Option(help="The controller's configuration, for its store.")] = "",
    as_json: AsJson = False,
) -> None:
    """What this policy would have done with the verdicts of the last days. Nothing is changed."""
    with needs_extra("controller"):
        from holdfast.cli.policy import replay as policy_here
    policy_here.show_preview(file, since, config, as_json)
