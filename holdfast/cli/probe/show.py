"""`holdfast probe show`: proven leaf pairs, suspects, and the nodes to be probed next."""

import json
from typing import Any

import typer
from rich.console import Console

from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.cli.shared.table import ago, console, count, plain, table
from holdfast.client.client import connect
from holdfast.config.quantities import lasting
from holdfast.formats.slurm import hostlist

MOST_IN_A_MATRIX = 12  # leaves; more are shown as a list of the oldest
OLDEST_SHOWN = 20
Document = dict[str, Any]


def show(url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Show what is known about the fabric: every pair of leaves, when and how fast; suspects; next probe sessions."""
    found = connect(url, token).get("/v1/probes")
    if as_json:
        typer.echo(json.dumps(found))
        return
    _print(found, console())


def _print(found: Document, out: Console) -> None:
    if not found["enabled"]:
        out.print("Idle nodes are not probed: `[probes] enabled = true` in the policy switches it on.")
    usual = found["usual_bytes_per_second"]
    known = f", usually {usual / 1e9:.1f} GB/s" if usual else ""
    unproven = found["pairs"] - found["proven"]
    left = f"; {unproven:,} of {found['pairs']:,} pairs of leaves not proven" if unproven else ""
    out.print(f"{count(found['sessions'], 'probe session')} in {lasting(found['period_seconds'])}{known}{left}")
    names = sorted({name for one in found["leaves"] for name in (one["one"], one["other"])})
    if names and len(names) <= MOST_IN_A_MATRIX:
        _matrix(found, names, out)
    elif names:
        _oldest(found, out)
    for one in found["suspects"]:
        state = "confirmed" if one["confirmed"] else "suspected"
        met = ", ".join("+".join(two) for two in one["evidence"][:4])
        text = f"{one['slow']} of {one['measured']} probe sessions over it are slow"
        text += f", {100 * one['loss']:.0f} % below the others"
        out.print(f"{state}: {plain(one['subject'])}: {text} ({plain(met)})")
    for run in found.get("runs", ()):
        led = f", led by {run['leader']}" if run["leader"] else ""
        out.print(plain(f"run {run['number']}: {hostlist.compress(run['nodes'])}{led}: {run['at'] or run['reason']}"))
    for label in ("running", "next"):
        for one in found[label][:OLDEST_SHOWN]:
            out.print(f"{label}: {plain(one['one'])} with {plain(one['other'])}: {plain(one['why'])}")
    for one in found["troubles"]:
        out.print(f"could not take part: {plain(one['node'])}, {ago(found['at'], one['at'])}: {plain(one['reason'])}")


def _matrix(found: Document, names: list[str], out: Console) -> None:
    """Each cell: speed against the usual, and how long ago."""
    cells = {(one["one"], one["other"]): _cell(one, found["at"]) for one in found["leaves"]}
    rows = table("leaf", *names)
    for number, row in enumerate(names):
        rows.add_row(
            plain(row), *("" for _ in names[:number]), *(cells.get((row, name), "") for name in names[number:])
        )
    out.print(rows)


def _cell(one: Document, now: float) -> str:
    if one["proven_at"] is None:
        return "-"
    ratio = "?" if one["ratio"] is None else f"{100 * one['ratio']:.0f} %"
    return f"{ratio} {lasting(now - one['proven_at'])}"


def _oldest(found: Document, out: Console) -> None:
    rows = table("leaf", "leaf", "proven")
    for one in sorted(found["leaves"], key=lambda one: one["proven_at"] or 0.0)[:OLDEST_SHOWN]:
        rows.add_row(plain(one["one"]), plain(one["other"]), _cell(one, found["at"]))
    out.print(rows)
