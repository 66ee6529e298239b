"""`holdfast completion`: shell completion scripts and man pages."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]
from typer.main import get_command

from holdfast import __version__
from holdfast.cli.completion.man import pages
from holdfast.model.refusal import Refusal

COMPLETE_VARIABLE = "_HOLDFAST_COMPLETE"  # as holdfast.cli.app reads it


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[
        Shell | None, typer.Argument(help="bash, zsh or fish; default: that of $SHELL.", metavar="SHELL")
    ] = None,
    man: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write the man pages into this folder instead, such as /usr/local/share/man/man1."
        ),
    ] = None,
) -> None:
    """Print the completion script of a shell: holdfast completion bash > /etc/bash_completion.d/holdfast."""
    if man is not None:
        _write_man_pages(man)
        return
    named = os.environ.get("SHELL", "").rpartition("/")[2]
    chosen = shell.value if shell else named if named in set(Shell) else Shell.BASH.value
    completion_init()
    typer.echo(get_completion_script(prog_name="holdfast", complete_var=COMPLETE_VARIABLE, shell=chosen))


def _write_man_pages(folder: Path) -> None:
    from holdfast.cli.app import app  # the whole command line, which names this command

    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [
            (folder / name).write_text(text, encoding="utf-8") for name, text in pages(get_command(app), __version__)
        ]
    except OSError as error:
        raise Refusal(f"{folder}: cannot be written: {error.strerror}", 1) from None
    typer.echo(f"{len(written)} man pages are in {folder}", err=True)
