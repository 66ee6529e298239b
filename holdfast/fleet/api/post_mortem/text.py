"""An incident in words: the parts of its text in the terminal, and its post-mortem as Markdown."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from holdfast.catalog import seam_kinds
from holdfast.config.printable import printable
from holdfast.config.quantities import lasting
from holdfast.fleet.api import runbook as runbooks
from holdfast.fleet.api.post_mortem.readings import many, moments, paths, readable, rivals

MOST_LINES = 12
Found = dict[str, Any]


def by_clock(found: Found, at: Callable[[float], float], factor: float) -> Found:
    """The incident with all times in the fleet's clock, as on the page: `at` turns a moment of the controller's clock
    into one of the fleet's, which runs `factor` times as fast."""
    moved = {**found, "opened": at(found["opened"])}
    moved["closed"] = at(found["closed"]) if found["closed"] else found["closed"]
    if (account := found.get("account")) is not None:
        timeline = [{**moment, "at": at(moment["at"])} for moment in account["timeline"]]
        moved["account"] = {**account, "since": at(account["since"]), "timeline": timeline}
        moved["account"]["charts"] = [
            {**chart, "start": at(chart["start"]), "step": chart["step"] * factor} for chart in account["charts"]
        ]
    return moved


def title_of(found: Found) -> str:
    return str((found.get("figures") or {}).get("title") or seam_kinds.kind(found["cause"]).title)


def figure_lines(found: Found) -> list[str]:
    """Lines about an incident without an account."""
    figures = found.get("figures") or {}
    if not figures:
        return []
    lasted = f"{'it lasted' if found['closed'] else 'for'} {lasting(figures['lasted_seconds'])}"
    price = "its cost is not known"
    if figures["cost"] is not None:
        price = f"{figures['gpu_hours']:.3g} GPU-hours lost, {figures['cost']:,.0f} {figures['currency']}"
    return [f"{lasted}; {price}; owner: {figures['owner']}"]


def parts_of(found: Found, account: Found) -> list[tuple[str, list[str]]]:
    over = bool(found["closed"])
    lasted = f"{'it lasted' if over else 'for'} {lasting(account['lasted_seconds'])}"
    return [
        ("since", [f"{moment_of(account['since'])}, {lasted}; confidence {account['confidence']:.2f}"]),
        ("path", _short(paths(account["path"]))),
        ("evidence", _short([readable(one) for one in account["evidence"]])),
        ("rivals", rivals(account["rivals"])),
        ("not seen", [readable(one) for one in account["unknown"]]),
        ("cost", cost_lines(account, over)),
        ("left in service", [_nodes(found["evidence"])] if found["evidence"] else []),
        ("owners", [f"{team}: {who}" for team, who in account["on_call"].items()]),
        ("timeline", [f"{moment_of(at)}  {domain:<12} {words}" for at, domain, words in _first(account["timeline"])]),
        ("runbook", [f"runbooks/{account['runbook']}.md", *runbook_lines(found)]),
    ]


def cost_lines(account: Found, over: bool = False) -> list[str]:
    """The cost of a closed incident, without a forecast."""
    bill = account["bill"]
    columns = ("so_far",) if over else ("so_far", "if_it_goes_on")
    heads = [f"{'it cost' if over else 'so far':>14}", *([] if over else [f"{_horizon(bill):>16}"])]
    lines = [f"{'layer':<18} {' '.join(heads)}  {bill['currency']}"]
    for layer in bill["layers"]:
        lines.append(f"{layer['name']:<18} " + _columns([_money(layer[name]) for name in columns]))
    lines.append(f"{'total':<18} " + _columns([f"{_total(bill, name):,.0f}" for name in columns]))
    lines.append(_progress(bill, over))
    if bill["tokens"] is not None:
        lines.append(f"{many(bill['tokens'])} tokens not generated")
    return lines + [f"not counted: {one}" for one in bill["unpriced"]]


def _horizon(bill: Found) -> str:
    return f"in {bill['horizon_hours']:g} h more"


def _columns(cells: Sequence[str]) -> str:
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, (14, 16), strict=False))


def _progress(bill: Found, over: bool) -> str:
    if not bill.get("measured", True):
        return "how many GPU-hours are lost is not known"
    lost, shift = f"{bill['gpu_hours']:.4g} GPU-hours lost", bill["finish_shift_hours"]
    if over:
        return f"{lost}; the finish moved by {shift:.3g} h"
    later = f"{bill['finish_shift_hours_if_it_goes_on']:.3g} h if it continues"
    return f"{lost}, {bill['gpu_hours_per_hour']:.3g} more an hour; the finish moves by {shift:.3g} h, {later}"


def as_markdown(found: Found, pictures: Sequence[str] = ()) -> str:
    """The post-mortem: events, evidence, cost and actions. `pictures` are files beside it."""
    account = found.get("account") or {}
    lines = [f"# {found['subject']}: {title_of(found)}", "", printable(readable(found["reason"])), ""]
    lines += [f"- incident `{found['id']}`, {found['state']}", f"- opened {moment_of(found['opened'])}"]
    if found["closed"]:
        lasted = (found.get("figures") or {}).get("lasted_seconds", found["closed"] - found["opened"])
        lines.append(f"- closed {moment_of(found['closed'])}; it lasted {lasting(lasted)}")
    if not account:
        lines += [f"- {printable(line)}" for line in figure_lines(found)]
        lines += ["", "## Nodes", "", printable(", ".join(found["evidence"]) or "none"), ""]
        lines += ["## Runbook", "", "```", *(printable(line) for line in runbook_lines(found)), "```"]
    if account:
        for name, part in parts_of(found, account):
            if part:
                lines += ["", f"## {name.capitalize()}", "", "```", *(printable(line) for line in part), "```"]
        lines += ["", "## Charts", "", *_charts(account, pictures)]
    lines += ["", "## What we change", "", "- [ ] ", ""]
    return "\n".join(lines)


def _charts(account: Found, pictures: Sequence[str]) -> list[str]:
    if pictures:
        named = zip(account["charts"], pictures, strict=True)
        return [f"![{printable(chart['subject'])} {chart['signal']}]({file})\n" for chart, file in named]
    return [line for chart in account["charts"] for line in ("```", *text_chart(chart, account["since"]), "```", "")]


def _short(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"and {more} more"] if more > 0 else [])]


def _first(timeline: list[Found]) -> list[tuple[float, str, str]]:
    """Sort key: the time of the first change."""
    return moments(timeline)[: 2 * MOST_LINES]


def _nodes(nodes: list[str]) -> str:
    from holdfast.formats.slurm import hostlist

    return f"{hostlist.compress(nodes)}: symptoms of this incident do not count against them"


def _money(value: float | None) -> str:
    return "not priced" if value is None else f"{value:,.0f}"


def _total(bill: Found, name: str) -> float:
    return sum(layer[name] or 0.0 for layer in bill["layers"])


def moment_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


BARS = "▁▂▃▄▅▆▇█"
GAP = "·"


def text_chart(chart: dict[str, Any], since: float) -> list[str]:
    """A title with the range, the bars, and a mark where it began."""
    values: list[float | None] = chart["values"]
    seen = [value for value in values if value is not None]
    title = f"{chart['subject']} {chart['signal']}"
    if not seen:
        return [f"{title}: no readings"]
    low, high = min(seen), max(seen)
    bars = "".join(_bar(value, low, high) for value in values)
    place = round((since - chart["start"]) / chart["step"]) if chart["step"] else 0
    mark = " " * place + "^ it began" if 0 <= place < len(values) else ""
    ends = chart["start"] + chart["step"] * (len(values) - 1)
    span = f"{_hour(chart['start'])} to {_hour(ends)}"
    return [f"{title}: {low:.4g} to {high:.4g}, {span}", bars, *([mark] if mark else [])]


def _bar(value: float | None, low: float, high: float) -> str:
    if value is None:
        return GAP
    share = (value - low) / (high - low) if high > low else 0.5
    return BARS[min(len(BARS) - 1, int(share * len(BARS)))]


def _hour(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%MZ")


def runbook_lines(found: dict[str, Any]) -> list[str]:
    account = found.get("account") or {}
    jobs = sorted({one["subject"].partition("/")[2] for one in account.get("losses", [])})
    runbook = runbooks.filled(
        found["cause"],
        str(found["subject"]),
        [str(one) for one in found["evidence"]],
        jobs,
        len(account.get("victims", [])),
        float(account.get("since", found["opened"])),
    )
    lines = [f"confirm: {one}" for one in runbook.confirm]
    lines += [f"{number}. {one}" for number, one in enumerate(runbook.act, start=1)]
    lines += [f"do not: {runbook.leave}"] if runbook.leave else []
    lines += [f"over when: {runbook.over}"] if runbook.over else []
    return lines
