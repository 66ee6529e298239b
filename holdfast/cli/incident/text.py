"""An incident as text: for a terminal, and its post-mortem as files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.cli.incident.svg import drawing
from holdfast.cli.shared.fleet_clock import FleetClock
from holdfast.cli.shared.table import clock, plain, print_list
from holdfast.config.printable import printable
from holdfast.config.quantities import lasting
from holdfast.fleet.api.post_mortem.readings import readable
from holdfast.fleet.api.post_mortem.text import (
    Found,
    as_markdown,
    by_clock,
    figure_lines,
    moment_of,
    parts_of,
    title_of,
)
from holdfast.model.refusal import Refusal

UNKNOWN = "not known"


def none_open(past: Sequence[dict[str, Any]], times: FleetClock) -> str:
    """The text if no incident is open. `past`: the newest closed incidents."""
    ended = [one["closed"] for one in past if one.get("closed")]
    if not ended:
        return "No incident, open or past."
    return f"No incident is open, since {clock(times.at(max(ended)))}; --all lists past incidents."


def as_table(incidents: list[Found]) -> None:
    rows = []
    for one in incidents:
        figures = one["figures"]
        cost = UNKNOWN if figures["cost"] is None else f"{figures['cost']:,.0f} {figures['currency']}{_labour(figures)}"
        hours = UNKNOWN if figures["gpu_hours"] is None else f"{figures['gpu_hours']:.3g}"
        lasted, cause = lasting(figures["lasted_seconds"]), one["cause"]
        cells = (one["id"], one["state"], lasted, cause, hours, cost, figures["owner"], readable(one["reason"]))
        rows.append([plain(cell) for cell in cells])
    print_list(("id", "state", "lasted", "cause", "GPU-h lost", "cost", "owner", "why"), rows)


def by_the_fleets_clock(found: Found, times: FleetClock) -> Found:
    return by_clock(found, times.at, times.factor)


def as_text(found: Found) -> str:
    account = found.get("account")
    head = [
        f"{found['subject']}: {title_of(found)}",
        f"{found['state']}, {found['cause']}, opened {moment_of(found['opened'])}"
        + (f", closed {moment_of(found['closed'])}" if found["closed"] else ""),
        readable(found["reason"]),
    ]
    if account is None:
        nodes = ", ".join(found["evidence"]) or "none"
        return "\n".join(printable(line) for line in [*head, *figure_lines(found), f"nodes: {nodes}"])
    parts = [head, *(["", name, *(f"  {line}" for line in lines)] for name, lines in parts_of(found, account) if lines)]
    return "\n".join(printable(line) for part in parts for line in part)


def _labour(figures: dict[str, Any]) -> str:
    """Names labour if it is the whole cost, because a price next to 0 GPU-hours looks wrong. Older controllers do
    not report it."""
    return " labour" if figures["cost"] and figures.get("labour") == figures["cost"] else ""


def write_post_mortem(found: Found, folder: Path) -> list[Path]:
    """Write the post-mortem and its charts into a folder. Existing files are not overwritten."""
    account = found.get("account") or {"charts": [], "since": 0.0}
    names = [f"chart-{number}.svg" for number in range(1, len(account["charts"]) + 1)]
    drawings = [drawing(chart, account["since"]) for chart in account["charts"]]
    texts = {"post-mortem.md": as_markdown(found, names), **dict(zip(names, drawings, strict=True))}
    for name in texts:
        if (folder / name).exists():
            raise Refusal(f"--into: {folder / name} is there already; expected a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refusal(f"--into: {folder} cannot be written: {error.strerror}") from None
    return [folder / name for name in texts]
