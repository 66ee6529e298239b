"""`holdfast diagnose PATH...`: what kernel logs, lspci texts and AER counters say went wrong."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from holdfast.cli.refusal import Refusal
from holdfast.formats import aer, pcie
from holdfast.formats.folding import Folder
from holdfast.formats.kernel_log import KernelLog
from holdfast.model.signal import Event
from holdfast.sources import log_file

_AER_FILE = re.compile(r"aer_dev_(correctable|nonfatal|fatal)")
_STYLES = {
    "fatal": "bold red",
    "nonfatal": "yellow",
    "warning": "yellow",
    "correctable": "cyan",
    "info": "dim",
}


class Found(NamedTuple):
    file: str
    event: Event


def diagnose(
    paths: Annotated[list[Path], typer.Argument(help="Logs or directories of them; '-' is standard input.")],
    json: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
) -> int:
    """Find what went wrong in kernel logs (plain, compressed, journal JSON), lspci -vvv texts and AER counters."""
    for path in paths:
        if str(path) != log_file.STDIN and not os.path.lexists(path):
            raise Refusal(f"{path}: no such file or directory; expected logs or directories of them")
    found: list[Found] = []
    unread: list[str] = []
    files = [file for path in paths for file in ([path] if str(path) == log_file.STDIN else log_file.files_below(path))]
    if not files:
        raise Refusal(f"{', '.join(map(str, paths))}: no file to read; expected logs or directories of them")
    for file in files:
        events, trouble = read_events(file)
        found += [Found(str(file), event) for event in events]
        unread += [trouble] if trouble else []
    for sentence in unread:
        sys.stderr.write(f"holdfast: {sentence}\n")
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(document(found, len(files), unread)) + b"\n")
    else:
        _show(found, len(files))
    return 1 if unread else 0


def read_events(file: Path) -> tuple[list[Event], str]:
    """The events of one file in the order of their lines, and why it could not be read to its end ('' if it was)."""
    counters = _AER_FILE.fullmatch(file.name)
    log, folder, trouble = KernelLog(), Folder(), ""
    text = b""
    try:
        for chunk in log_file.chunks(file):
            if counters:
                text += chunk[: log_file.CHUNK_BYTES - len(text)]
            else:
                folder.extend(log.feed(chunk))
    except log_file.Unreadable as why:
        trouble = str(why)
    if counters:
        return aer.from_sysfs(text.decode("utf-8", "replace"), _device_of(file), counters[1]), trouble
    folder.extend(log.finish())
    return sorted(folder.take(), key=lambda event: event.line), trouble


def _device_of(counter_file: Path) -> str:
    """sysfs names the device in the path; through /sys/class it may be a link to there."""
    for path in (counter_file.resolve(), counter_file):
        for part in reversed(path.parts):
            if address := pcie.address(part):
                return address
    parts = counter_file.parts
    return parts[-3] if len(parts) > 2 and parts[-2] == "device" else counter_file.parent.name


def document(found: list[Found], files: int, unread: list[str]) -> dict[str, Any]:
    return {
        "events": [
            {
                "kind": event.kind,
                "code": event.code,
                "device": event.device,
                "severity": event.severity,
                "action": event.action,
                "file": file,
                "line": event.line,
                "count": event.count,
                "text": event.text,
                "at": event.at or None,
                "detail": dict(event.detail),
            }
            for file, event in found
        ],
        "files": files,
        "unread": unread,
    }


def _show(found: list[Found], files: int) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not found:
        console.print(f"nothing found in {files} file{'' if files == 1 else 's'}")
    last = ""
    for file, event in found:
        if file != last:
            console.print(Text(file, style="bold"), soft_wrap=True)
            last = file
        console.print(Text(f"{event.line:>7}  {_headline(event)}", style=_STYLES.get(event.severity, "")))
        console.print(Text(f"{'':9}{event.text}", style="dim"), no_wrap=True, overflow="ellipsis")


def _headline(event: Event) -> str:
    """'xid 79 on 0000:9b:00, fatal, 3 times: restart node'."""
    name = event.kind if event.code is None else f"{event.kind} {event.code}"
    device = f" on {event.device}" if event.device else ""
    times = f", {event.count} times" if event.count > 1 else ""
    return f"{name}{device}, {event.severity}{times}: {event.action.replace('_', ' ')}"
