"""Tables for people: colours by stage and health, times as they are said."""

from datetime import datetime
from typing import TYPE_CHECKING

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
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def console() -> "Console":
    from rich.console import Console

    return Console(highlight=False)


def table(*columns: str) -> "Table":
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, no_wrap=column not in ("why", "what was seen", ""))
    return made


def styled(word: str) -> str:
    from rich.markup import escape

    style = STYLES.get(word)
    return f"[{style}]{word}[/]" if style else escape(word)


def ago(now: float, then: float | None) -> str:
    if then is None:
        return "never"
    seconds = max(0.0, now - then)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def clock(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
