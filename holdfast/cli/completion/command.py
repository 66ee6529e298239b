"""`holdfast completion`: the script that makes a shell complete commands and options."""

import os
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]

COMPLETE_VARIABLE = "_HOLDFAST_COMPLETE"  # as holdfast.cli.app reads it


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell | None, typer.Argument(help="bash, zsh or fish; that of $SHELL.", metavar="SHELL")] = None,
) -> None:
    """Print the completion script of a shell: holdfast completion bash > /etc/bash_completion.d/holdfast."""
    named = os.environ.get("SHELL", "").rpartition("/")[2]
    chosen = shell.value if shell else named if named in set(Shell) else Shell.BASH.value
    completion_init()
    typer.echo(get_completion_script(prog_name="holdfast", complete_var=COMPLETE_VARIABLE, shell=chosen))
