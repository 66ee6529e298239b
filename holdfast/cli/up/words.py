"""What `holdfast up` says: each step, where to look, and in a demo what happens to the nodes while it happens."""

import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from holdfast.cli.shared.table import STYLES, clock, printable
from holdfast.fleet.console import static_directory
from holdfast.model.lifecycle import OUT_OF_SERVICE, Stage

_OUT = frozenset(stage.value for stage in OUT_OF_SERVICE)
_COLOURS = {"bold red": "red", "dim": "bright_black"}


def step(words: str) -> None:
    typer.echo(f"== {words}")


def where_to_look(address: str, token: str, admin: Path, *, demo: bool) -> None:
    """Terminals are recorded and shared: what is printed opens the page for reading, and no more."""
    page = static_directory() is not None
    opened = f"{address}/#token={token}" if token else f"{address}/"
    words = f"Open  {opened}  in a browser" if page else f"The API is at  {address}/schema"
    line = "#" * (len(words) + 8)
    typer.secho(f"\n{line}\n##  {words}  ##\n{line}\n", bold=True)
    if not page:
        typer.echo("The web page is not built here; `make console` builds it, with Node.js.")
    command = _command()
    typer.echo("In another terminal:")
    for what in ("node list", "node story n001" if demo else "node story NAME", "incident list", "audit"):
        typer.echo(f"    {command} {what}")
    typer.echo(f"The page opens for reading. To act there, or from elsewhere: the admin token is in {admin} (0600).")
    typer.echo("Ctrl-C stops everything.\n")


def _command() -> str:
    """How the reader can call us: by name where that works."""
    if shutil.which("holdfast"):
        return "holdfast"
    own = Path(sys.argv[0])
    return str(own.relative_to(Path.cwd())) if own.is_relative_to(Path.cwd()) else str(own)


def tell_live(address: str) -> None:
    """Nodes that leave service and come back, and incidents, a line each."""
    threading.Thread(target=_follow, args=(address,), name="told", daemon=True).start()


def _follow(address: str) -> None:
    import httpx

    out: set[str] = set()
    priced: dict[str, bool] = {}
    try:
        with httpx.stream("GET", f"{address}/v1/stream", timeout=None, trust_env=False) as lines:
            for kind, what in _events(lines.iter_lines()):
                if kind == "incident":
                    _tell_incident(what, priced)
                else:
                    _tell(what, out)
    except (httpx.HTTPError, ValueError):
        return  # it ends with the controller


def _events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data" and kind in ("transition", "incident"):
            yield kind, json.loads(value)


def _tell_incident(what: dict[str, Any], priced: dict[str, bool]) -> None:
    """When it opens, when it has a price, when it is over: a bill that grows is told by the page. `priced`: by id."""
    bill = (what.get("account") or {}).get("bill") or {}
    costs = bool(bill.get("gpu_hours_per_hour"))
    if what["state"] == "closed":
        _line(what["closed"], f"incident on {what['subject']} is over", "magenta")
    elif what["id"] not in priced or (costs and not priced[what["id"]]):
        at = time.time() if what["id"] in priced else what["opened"]
        _line(at, f"incident on {what['subject']}: {what['reason'].removeprefix(what['subject'] + ': ')}", "magenta")
    priced[what["id"]] = costs or priced.get(what["id"], False)


def _tell(what: dict[str, Any], out: set[str]) -> None:
    node, before, after = what["node"], what["before"], what["after"]
    if before == after or (not {before, after} & _OUT and node not in out):
        return
    out.add(node)
    back = after in (Stage.READY, Stage.ALLOCATED)
    if back:
        out.discard(node)
    style = STYLES.get(after, "")
    words = f"{node}  {before} -> {after}{'  (back in service)' if back else ''}  {what['reason']}"
    _line(what["at"], words, _COLOURS.get(style, style) or None)


def _line(at: float, words: str, colour: str | None) -> None:
    width = shutil.get_terminal_size((160, 24)).columns - 10
    typer.secho(f"{clock(at)[11:]}  {printable(words)[:width]}", fg=colour)
