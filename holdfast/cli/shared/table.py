"""Tables for terminals: colours by stage and health, relative times."""

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.config.printable import printable
from holdfast.config.quantities import lasting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

STYLES = {
    "fail": "bold red",
    "unknown": "magenta",
    "degraded": "yellow",
    "pass": "green",
    "ready": "green",
    "allocated": "cyan",
    "quarantined": "bold red",
    "draining": "red",
    "removed": "dim",
    "testing": "yellow",
    "resetting": "yellow",
    "cleaning": "yellow",
    "transition": "bold",
    "verdict": "yellow",
    "action": "cyan",
    "event": "dim",
}
WIDE = 300
INDENT = 2  # of lines that belong to the name above
LEAST_TEXT = 30  # columns; narrower text is hard to read
WRAPPED = ("why", "what was seen", "what to look at", "outcome", "")
"""Columns of text; the others hold names and numbers that are copied, and are never folded or cut."""


def console() -> "Console":
    """A console as wide as the terminal. Without a terminal it is wide enough that no line wraps."""
    from rich.console import Console

    made = Console(highlight=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = WIDE
    return made


def table(*columns: str) -> "Table":
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, no_wrap=column not in WRAPPED)
    return made


def print_list(heads: Sequence[str], rows: Sequence[Sequence[str]], title: int = 0) -> None:
    """Prints a table. On a narrow terminal each row becomes a record whose name has its own line, so that a copied name
    is never cut. Cells are plain text already, or styled by us."""
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    lengths = [max(len(head), *(len(Text.from_markup(row[at])) for row in rows)) for at, head in enumerate(heads)]
    needed = sum(min(size, LEAST_TEXT) if heads[at] in WRAPPED else size for at, size in enumerate(lengths))
    if needed + 2 * len(heads) <= out.width:
        made = table(*heads)
        for row in rows:
            made.add_row(*row)
        out.print(made)
        return
    for row in rows:
        out.print(f"[bold]{row[title]}[/]", soft_wrap=True)
        short = [
            f"{head} {cell}"
            for at, (head, cell) in enumerate(zip(heads, row, strict=True))
            if cell and at != title and head not in WRAPPED
        ]
        long = [cell for head, cell in zip(heads, row, strict=True) if cell and head in WRAPPED and cell != row[title]]
        for line in (", ".join(short), *long):
            if line:
                out.print(Padding(Text.from_markup(line), (0, 0, 0, INDENT), expand=False))


def styled(word: str) -> str:
    from rich.markup import escape

    style = STYLES.get(word)
    return f"[{style}]{word}[/]" if style else escape(printable(word))


def plain(text: str) -> str:
    """Text of others as a cell: no part of it is interpreted as a style or as a terminal command."""
    from rich.markup import escape

    return escape(printable(text))


def count(many: int, thing: str) -> str:
    return f"{many} {thing}" if many == 1 else f"{many} {thing}s"


def ago(now: float, then: float | None) -> str:
    return "never" if then is None else f"{lasting(now - then)} ago"


def clock(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
