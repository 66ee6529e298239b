"""`holdfast job clean`: removes keepers and files that ended jobs left on this node."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.shared.options import AsJson
from holdfast.cli.shared.table import console, plain, table
from holdfast.config.quantities import lasting

GIB = 1 << 30


def clean(
    storage: Annotated[
        Path | None, typer.Option("--dir", help="Look for unfinished writes in this checkpoint folder too.")
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="End idle keepers, remove files. Without it: list.")] = False,
    idle_seconds: Annotated[float, typer.Option(help="A keeper is idle this long after its last rank left.")] = 60.0,
    wait_seconds: Annotated[float, typer.Option(help="Wait this long while a keeper writes to storage.")] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Show what ended jobs left on this node. With --end, remove it: checkpoint keepers, files, unfinished writes.

    A keeper writes what it holds to storage before it ends. A keeper that a rank uses is never ended.
    """
    from holdfast.training.checkpoint.keeper import leftovers

    found = leftovers.keepers()
    idle = [one for one in found if one.idle and one.idle_seconds >= idle_seconds]
    ended = [one for one in idle if end and leftovers.end(one, wait_seconds)]
    files = leftovers.dead_files() + (leftovers.drafts(storage, time.time()) if storage else [])
    removed = leftovers.remove(files) if end else []
    keepers = [
        {
            "pid": one.pid,
            "job": one.job,
            "ranks": list(one.ranks),
            "idle_seconds": one.idle_seconds,
            "used_bytes": one.used_bytes,
            "unreadable": one.unreadable,
            "ended": one in ended,
        }
        for one in found
    ]
    if as_json:
        paths = [{"path": str(path), "removed": path in removed} for path in files]
        typer.echo(json.dumps({"keepers": keepers, "files": paths}))
    else:
        rows = table("keeper", "job", "ranks", "idle", "memory", "")
        for one in found:
            waits = f"idle for less than {idle_seconds:g} s" if one.idle else plain(one.unreadable) or "in use"
            what = "ended" if one in ended else "idle" if one in idle else waits
            memory = f"{one.used_bytes / GIB:,.1f} GiB"
            rows.add_row(str(one.pid), plain(one.job), str(len(one.ranks)), lasting(one.idle_seconds), memory, what)
        console().print(rows if found else "No keeper runs on this node.")
        for path in files:
            console().print(f"{'removed' if path in removed else 'left behind'}: {plain(str(path))}")
    if end and (len(ended) < len(idle) or len(removed) < len(files)):
        raise typer.Exit(1)
