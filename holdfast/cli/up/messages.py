"""Messages of `holdfast up`: its steps, addresses, events of the demo, and a summary."""

import json
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from holdfast.cli.shared.fleet_clock import FleetClock, fleet_clock
from holdfast.cli.shared.table import STYLES, clock, count
from holdfast.client.client import Client
from holdfast.config.printable import printable
from holdfast.fleet.console import static_directory
from holdfast.fleet.standalone.summary import Summary
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import OUT_OF_SERVICE, Stage
from holdfast.model.refusal import Refusal

MOST_INCIDENTS = 5
_OUT = frozenset(stage.value for stage in OUT_OF_SERVICE)
_COLOURS = {"bold red": "red", "dim": "bright_black"}


class Messages:
    def __init__(self, demo: bool) -> None:
        self._demo = demo

    def step(self, text: str) -> None:
        typer.echo(f"== {text}")

    def ready(self, address: str, viewer_token: str, admin_file: Path) -> None:
        """Prints the address. It opens the page for reading only, because terminals are recorded and shared."""
        page = static_directory() is not None
        opened = f"{address}/#token={viewer_token}" if viewer_token else f"{address}/"
        text = f"Open  {opened}  in a browser" if page else f"The API is at  {address}/schema"
        line = "#" * (len(text) + 8)
        typer.secho(f"\n{line}\n##  {text}  ##\n{line}\n", bold=True)
        if not page:
            typer.echo("The web page is not built here; `make console` builds it, with Node.js.")
        command = _command()
        typer.echo("In another terminal:")
        for what in ("node list", f"node history {'n001' if self._demo else 'NAME'}", "incident list", "audit"):
            typer.echo(f"    {command} {what}")
        typer.echo(f"The page opens for reading. To act, use the admin token in {admin_file} (mode 0600).")
        typer.echo("Ctrl-C stops everything.\n")
        if self._demo:
            threading.Thread(target=_follow, args=(Client(address, ""),), name="live-messages", daemon=True).start()


def _command() -> str:
    """The command that starts us: `holdfast` if it is on the PATH."""
    if shutil.which("holdfast"):
        return "holdfast"
    own = Path(sys.argv[0])
    return str(own.relative_to(Path.cwd())) if own.is_relative_to(Path.cwd()) else str(own)


def _follow(client: Client) -> None:
    """Prints a line for every node that leaves service or comes back, and for every incident."""
    out: set[str] = set()
    priced: dict[str, bool] = {}
    with suppress(Refusal, ValueError, RecursionError):  # the stream ends with the controller
        times = fleet_clock(client)
        for kind, data in client.stream():
            if kind == "incident":
                print_incident(json.loads(data), priced, times)
            elif kind == "transition":
                _print_transition(json.loads(data), out, times)


def print_incident(incident: dict[str, Any], priced: dict[str, bool], times: FleetClock) -> None:
    """Prints an incident when it opens, gets a price, and closes. `priced`: prices by id."""
    bill = (incident.get("account") or {}).get("bill") or {}
    costs = bool(bill.get("gpu_hours_per_hour"))
    about, number = incident["subject"], incident["id"]
    if incident["state"] == "closed":
        _line(times.at(incident["closed"]), f"incident on {about} is over", "magenta")
    elif number not in priced or (costs and not priced[number]):
        at = time.time() if number in priced else incident["opened"]
        _line(times.at(at), f"incident on {about}: {incident['reason'].removeprefix(about + ': ')}", "magenta")
    priced[number] = costs or priced.get(number, False)


def _print_transition(step: dict[str, Any], out: set[str], times: FleetClock) -> None:
    node, before, after = step["node"], step["before"], step["after"]
    if before == after or (not {before, after} & _OUT and node not in out):
        return
    out.add(node)
    back = after in (Stage.READY, Stage.ALLOCATED)
    if back:
        out.discard(node)
    style = STYLES.get(after, "")
    text = f"{node}  {before} -> {after}{'  (back in service)' if back else ''}  {step['reason']}"
    _line(times.at(step["at"]), text, _COLOURS.get(style, style) or None)


def _line(at: float, text: str, colour: str | None) -> None:
    width = shutil.get_terminal_size((160, 24)).columns - 10
    typer.secho(f"{clock(at)[11:]}  {printable(text)[:width]}", fg=colour)


def summary_text(summary: Summary) -> str:
    """The summary: one paragraph, and a line per incident."""
    sentences = [
        f"In {summary.seconds:.0f} s: {count(summary.nodes, 'node')}, now {_counts(summary.stages)}.",
        f"{count(summary.jobs, 'job')}, of which {summary.completed} completed"
        f" and {summary.failed} ended with a failed node.",
        _outages(summary),
    ]
    return "\n".join([" ".join(sentences), *_incidents(summary.incidents)])


def _outages(summary: Summary) -> str:
    if not summary.left:
        return "No node left service."
    left, back = count(len(summary.left), "time"), count(len(summary.back), "time")
    text = f"Nodes left service {left} and came back, tested in full, {back}"
    if summary.back:
        node, seconds = summary.back[0]
        text += f" ({node} first, after {seconds:.0f} s)"
    return f"{text}; still out: {summary.still_out}."


def _incidents(incidents: Sequence[Incident]) -> list[str]:
    lines = [f"Incident on {one.subject}, {one.state.value}: {_short(one)}" for one in incidents[:MOST_INCIDENTS]]
    more = len(incidents) - MOST_INCIDENTS
    return lines + ([f"And {count(more, 'incident')} more: holdfast incident list --all"] if more > 0 else [])


def _short(one: Incident) -> str:
    """Title and cost of an incident; `holdfast incident show` has the rest."""
    parts = one.reason.removeprefix(f"{one.subject}: ").split("; ")
    return "; ".join(parts[:2] if one.account is not None else parts[:1])


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{many} {name}" for name, many in counts.most_common())
