"""Options that several commands share."""

from typing import Annotated

import typer

Url = Annotated[
    str, typer.Option("--url", help="The controller; $HOLDFAST_URL, or the one that `holdfast up` started.")
]
Token = Annotated[str, typer.Option("--token", help="Your token; $HOLDFAST_TOKEN, or that of `holdfast up`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Config = Annotated[str, typer.Option("--config", help="Configuration file; /etc/holdfast/holdfast.toml if it exists.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")]
