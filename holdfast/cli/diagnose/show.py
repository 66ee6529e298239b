"""Prints a diagnosis on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from holdfast.diagnosis.rules import report
from holdfast.diagnosis.rules.diagnose import Diagnosis
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event

MOST_EVENTS = 12
_STYLES = {"fatal": "bold red", "nonfatal": "yellow", "warning": "yellow", "correctable": "cyan", "info": "dim"}


def show(diagnosis: Diagnosis, files: int, unseen: Sequence[str]) -> None:
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    of_kernel = [one for one in diagnosis.evidence if one.event.action]
    if diagnosis.causes:
        _print(console, diagnosis)
    elif not of_kernel:
        console.print(f"nothing found in {files} file{'' if files == 1 else 's'}")
    _list_events(console, of_kernel)
    _section(console, "not seen", unseen, "dim")


def _print(console: Console, diagnosis: Diagnosis) -> None:
    first, *rest = report.lines(diagnosis)
    console.print(Text(first, style="bold red"))
    for line in rest:
        console.print(Text(line))
    console.print(Text("evidence", style="bold"))
    for one in report.best_evidence(diagnosis):
        console.print(Text(f"  {one.file}:{one.event.line}  ").append(one.event.text, style="dim"))
    _section(console, "next", report.next_lines(diagnosis))


def _list_events(console: Console, events: Sequence[Evidence]) -> None:
    if events:
        console.print(Text("events of the kernel", style="bold"))
    for one in events[:MOST_EVENTS]:
        style = _STYLES.get(one.event.severity, "")
        console.print(Text(f"  {one.file}:{one.event.line}  ").append(_headline(one.event), style=style))
    if len(events) > MOST_EVENTS:
        console.print(f"  and {len(events) - MOST_EVENTS} more (--json lists all)")


def _section(console: Console, title: str, lines: Sequence[str], style: str = "") -> None:
    if lines:
        console.print(Text(title, style="bold"))
    for line in lines:
        console.print(Text(f"  {line}", style=style))


def _headline(event: Event) -> str:
    """'xid 79 on 0000:9b:00, fatal, 3 times: restart node'."""
    name = event.kind if event.code is None else f"{event.kind} {event.code}"
    device = f" on {event.device}" if event.device else ""
    times = f", {event.count} times" if event.count > 1 else ""
    return f"{name}{device}, {event.severity}{times}: {event.action.replace('_', ' ')}"
