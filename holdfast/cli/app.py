"""Root of the command line. A command's module is imported when it is called, which keeps start-up fast."""

import os
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from holdfast import __version__
from holdfast.cli import contents, running
from holdfast.cli.shared.help_names import tidy
from holdfast.config.suggest import hint
from holdfast.model.refusal import Refusal

COMPLETE_VARIABLE = "_HOLDFAST_COMPLETE"


class Contents(TyperGroup):
    """The commands of contents.py. Any: the types of Typer's context and formatter are private."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(contents.ENTRIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _command(cmd_name) if cmd_name in contents.ENTRIES else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in contents.ENTRIES or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        raise Refusal(f"no command is called {args[0][:80]!r}; {hint(args[0], contents.ENTRIES)}")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(len(name) for name in contents.ENTRIES)
        for title, part in contents.PARTS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry.summary) for name, entry in part.items()])


def _command(name: str) -> Any:
    """Import the module of the noun, or `command` in its package. `CONTEXT` there changes how arguments are parsed."""
    entry = contents.ENTRIES[name]
    noun, _, name_there = entry.where.partition(":")
    module = import_module(f"holdfast.cli.{noun}")
    if hasattr(module, "__path__"):
        module = import_module(f"holdfast.cli.{noun}.command")
    found = getattr(module, name_there)
    holder = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    holder.callback()(lambda: None)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name, help=f"{entry.summary}.")
    else:
        holder.command(name, context_settings=getattr(module, "CONTEXT", None))(found)
    group: Any = typer.main.get_command(holder)
    return tidy(group.commands[name])


app = typer.Typer(
    name="holdfast",
    help="Keeps GPU fleets productive: what is wrong, what to do next, what it costs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    cls=Contents,
)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


def run(arguments: list[str]) -> int:
    if COMPLETE_VARIABLE in os.environ:  # a shell requests completions
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    return running.run(app, arguments)
