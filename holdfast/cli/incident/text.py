"""An incident as text: for a terminal, and as a Markdown post-mortem with text charts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.catalog import seam_kinds
from holdfast.cli.incident.chart import drawn
from holdfast.cli.incident.figures import many, moments, paths, readable, rivals
from holdfast.cli.incident.runbook import filled
from holdfast.cli.incident.svg import drawing
from holdfast.cli.shared.table import ago, clock, lasting, plain, print_list, printable
from holdfast.model.refusal import Refusal

MOST_LINES = 12
Found = dict[str, Any]


def none_open(past: Sequence[dict[str, Any]]) -> str:
    """`past`: the newest of those that are over."""
    ended = [one["closed"] for one in past if one.get("closed")]
    if not ended:
        return "No incident, open or past."
    return f"No incident is open, since {clock(max(ended))}; --all lists those that are over."


def as_table(incidents: list[Found], now: float) -> None:
    rows = []
    for one in incidents:
        bill = (one.get("account") or {}).get("bill") or {}
        cost = f"{_total(bill, 'so_far'):,.0f} {bill['currency']}" if bill else ""
        rate = f"{bill['gpu_hours_per_hour']:.3g}" if bill and not one["closed"] else ""
        cells = (one["id"], one["state"], ago(now, one["opened"]), one["cause"], rate, cost, readable(one["reason"]))
        rows.append([plain(cell) for cell in cells])
    print_list(("id", "state", "opened", "cause", "GPUs lost", "cost", "why"), rows)


def as_text(found: Found) -> str:
    account = found.get("account")
    head = [
        f"{found['subject']}: {seam_kinds.kind(found['cause']).title}",
        f"{found['state']}, {found['cause']}, opened {_clock(found['opened'])}"
        + (f", closed {_clock(found['closed'])}" if found["closed"] else ""),
        readable(found["reason"]),
    ]
    if account is None:
        nodes = ", ".join(found["evidence"]) or "none"
        return "\n".join(printable(line) for line in [*head, f"nodes: {nodes}"])
    parts = [head, *(_part(name, lines) for name, lines in _parts(found, account))]
    return "\n".join(printable(line) for part in parts for line in part)


def _part(name: str, lines: list[str]) -> list[str]:
    return ["", name, *(f"  {line}" for line in lines)] if lines else []


def _parts(found: Found, account: Found) -> list[tuple[str, list[str]]]:
    over = bool(found["closed"])
    lasted = f"{'it lasted' if over else 'for'} {lasting(account['lasted_seconds'])} of the fleet's time"
    return [
        ("since", [f"{_clock(account['since'])}, {lasted}; confidence {account['confidence']:.2f}"]),
        ("path", _short(paths(account["path"]))),
        ("evidence", _short([readable(one) for one in account["evidence"]])),
        ("rivals", rivals(account["rivals"])),
        ("not seen", [readable(one) for one in account["unknown"]]),
        ("cost", cost_lines(account, over)),
        ("left in service", [_nodes(found["evidence"])] if found["evidence"] else []),
        ("owners", [f"{team}: {who}" for team, who in account["on_call"].items()]),
        ("timeline", [f"{_clock(at)}  {domain:<12} {words}" for at, domain, words in _first(account["timeline"])]),
        ("runbook", [f"runbooks/{account['runbook']}.md", *filled(found)]),
    ]


def cost_lines(account: Found, over: bool = False) -> list[str]:
    """Of one that is over, what it cost: nothing goes on."""
    bill = account["bill"]
    columns = ("so_far",) if over else ("so_far", "if_it_goes_on")
    heads = [f"{'it cost' if over else 'so far':>14}", *([] if over else [f"{_horizon(bill):>16}"])]
    lines = [f"{'layer':<18} {' '.join(heads)}  {bill['currency']}"]
    for layer in bill["layers"]:
        lines.append(f"{layer['name']:<18} " + _columns([_money(layer[name]) for name in columns]))
    lines.append(f"{'total':<18} " + _columns([f"{_total(bill, name):,.0f}" for name in columns]))
    lines.append(_progress(bill, over))
    if bill["tokens"] is not None:
        lines.append(f"{many(bill['tokens'])} tokens not made")
    return lines + [f"not counted: {one}" for one in bill["unpriced"]]


def _horizon(bill: Found) -> str:
    return f"in {bill['horizon_hours']:g} h more"


def _columns(cells: Sequence[str]) -> str:
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, (14, 16), strict=False))


def _progress(bill: Found, over: bool) -> str:
    lost, shift = f"{bill['gpu_hours']:.4g} GPU-hours lost", bill["finish_shift_hours"]
    if over:
        return f"{lost}; the finish moved by {shift:.3g} h"
    later = f"{bill['finish_shift_hours_if_it_goes_on']:.3g} h if it goes on"
    return f"{lost}, {bill['gpu_hours_per_hour']:.3g} more an hour; the finish moves by {shift:.3g} h, {later}"


def as_markdown(found: Found, pictures: Sequence[str] = ()) -> str:
    """The post-mortem: what happened, why we say so, what it cost, what was done. `pictures` are files beside it."""
    account = found.get("account") or {}
    title = seam_kinds.kind(found["cause"]).title
    lines = [f"# {found['subject']}: {title}", "", printable(readable(found["reason"])), ""]
    lines += [f"- incident `{found['id']}`, {found['state']}", f"- opened {_clock(found['opened'])}"]
    if found["closed"]:
        lines.append(f"- closed {_clock(found['closed'])}, after {lasting(found['closed'] - found['opened'])}")
    if account:
        for name, part in _parts(found, account):
            if part:
                lines += ["", f"## {name.capitalize()}", "", "```", *(printable(line) for line in part), "```"]
        lines += ["", "## Charts", "", *_charts(account, pictures)]
        lines += ["## What we change", "", "- [ ] ", ""]
    return "\n".join(lines)


def _charts(account: Found, pictures: Sequence[str]) -> list[str]:
    if pictures:
        named = zip(account["charts"], pictures, strict=True)
        return [f"![{printable(chart['subject'])} {chart['signal']}]({file})\n" for chart, file in named]
    return [line for chart in account["charts"] for line in ("```", *drawn(chart, account["since"]), "```", "")]


def write_post_mortem(found: Found, folder: Path) -> list[Path]:
    """The post-mortem and its charts as files of one folder; what is there already is not written over."""
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


def _short(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"and {more} more"] if more > 0 else [])]


def _first(timeline: list[Found]) -> list[tuple[float, str, str]]:
    """Who moved first is what matters."""
    return moments(timeline)[: 2 * MOST_LINES]


def _nodes(nodes: list[str]) -> str:
    from holdfast.formats.slurm import hostlist

    return f"{hostlist.compress(nodes)}: symptoms of this are not held against them"


def _money(value: float | None) -> str:
    return "value not given" if value is None else f"{value:,.0f}"


def _total(bill: Found, name: str) -> float:
    return sum(layer[name] or 0.0 for layer in bill["layers"])


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
