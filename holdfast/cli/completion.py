"""`holdfast completion`: shell completion scripts and man pages."""

import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]
from typer.main import get_command

from holdfast import __version__
from holdfast.model.refusal import Refusal

COMPLETE_VARIABLE = "_HOLDFAST_COMPLETE"  # as holdfast.cli.app reads it
SECTION = 1  # of the manual


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


def pages(root: Any, version: str) -> Iterator[tuple[str, str]]:
    """File name and roff text. Any: the types of Typer's commands are private."""
    context = root.context_class(root, info_name="holdfast")
    names = root.list_commands(context)
    commands = {name: root.get_command(context, name) for name in names}
    yield _file("holdfast"), _page("holdfast", root, commands, version, [f"holdfast-{name}" for name in names])
    for name, command in commands.items():
        children = _children(command)
        yield _file(f"holdfast-{name}"), _page(f"holdfast {name}", command, children, version, ["holdfast"])


def _file(name: str) -> str:
    return f"{name}.{SECTION}"


def _children(command: Any) -> dict[str, Any]:
    return dict(getattr(command, "commands", None) or {})


def _page(path: str, command: Any, children: dict[str, Any], version: str, see: Sequence[str]) -> str:
    title = path.replace(" ", "-")
    lines = [
        f'.TH "{title.upper()}" "{SECTION}" "" "holdfast {_text(version)}" "Holdfast"',
        ".SH NAME",
        f"{_text(title)} \\- {_text(_summary(command))}",
        ".SH SYNOPSIS",
        f".B {_text(path)}",
        _text(_usage(command, children)),
        ".SH DESCRIPTION",
        *_paragraphs(_help(command)),
        *_options(command),
    ]
    if children and path == "holdfast":
        lines.append(".SH COMMANDS")
        for name, child in children.items():
            lines += [".TP", f".B {_text(name)}", _text(_summary(child))]
    elif children:
        for name, child in children.items():
            lines += [f'.SH "{_text(f"{path} {name}").upper()}"', f".B {_text(f'{path} {name}')}"]
            lines += [_text(_usage(child, {})), ".PP", *_paragraphs(_help(child)), *_options(child, ".SS Options")]
    lines += [".SH SEE ALSO", ", ".join(f".BR {_text(one)} ({SECTION})".removeprefix(".BR ") for one in see)]
    return "\n".join(lines) + "\n"


def _usage(command: Any, children: dict[str, Any]) -> str:
    arguments = [_argument(one) for one in command.params if one.param_type_name == "argument"]
    return " ".join(["[OPTIONS]", *arguments, *(["COMMAND [ARGS]..."] if children else [])])


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    shown = f"{name}..." if parameter.nargs != 1 else name
    return shown if parameter.required else f"[{shown}]"


def _options(command: Any, heading: str = ".SH OPTIONS") -> list[str]:
    found = [one for one in command.params if not getattr(one, "hidden", False) and getattr(one, "help", None)]
    if not found:
        return []
    lines = [heading]
    for one in found:
        flags = one.param_type_name == "option"
        names = ", ".join([*one.opts, *one.secondary_opts]) if flags else _argument(one)
        lines += [".TP", f".B {_text(names)}", _text(one.help)]
    return lines


def _help(command: Any) -> str:
    return str(command.help or "").replace("\b", "")


def _summary(command: Any) -> str:
    return _help(command).strip().partition("\n")[0].rstrip(".")


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines += [".PP", *(_text(line.strip()) for line in paragraph.splitlines() if line.strip())]
    return lines[1:]


def _text(text: str) -> str:
    """Escape text so that roff does not take it for a request."""
    safe = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
