"""The month as one HTML page that needs nothing else: no script, no font, no picture from elsewhere."""

from datetime import UTC, datetime
from html import escape

from holdfast.cli.plan_answer import money, percent
from holdfast.cli.plan_page import STYLE
from holdfast.cli.report_month import Month, Sum
from holdfast.cli.table import lasting
from holdfast.costs.claims import Outage

COLOURS = {
    "productive": "#2e7d32",
    "degraded": "#9bbf3b",
    "checkpoint": "#1f6feb",
    "rework": "#d1495b",
    "restart": "#b26a00",
    "waiting": "#8e44ad",
    "idle": "#9aa4ae",
    "unknown": "#444b53",
}
MOST_EVIDENCE = 500


def page(month: Month) -> str:
    title = f"What {month.name} brought"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="lead">{escape(month.headline)}</p>',
            f"<p><small>{_clock(month.begin)} to {_clock(month.end)}, UTC</small></p>",
            *_ledger(month.whole),
            *_groups(month),
            *_claims(month),
            "<h2>What it rests on</h2>",
            *(f"<p>{escape(note)}</p>" for note in month.notes),
            "</body></html>\n",
        ]
    )


def _ledger(whole: Sum) -> list[str]:
    shares = {part: hours / whole.hours for part, hours in whole.gpu_hours.items() if hours} if whole.hours else {}
    bar = "".join(
        f'<div style="width:{share:.4%};background:{COLOURS[part]}" title="{part} {percent(share)}"></div>'
        for part, share in shares.items()
    )
    key = "".join(f'<span><i style="background:{COLOURS[part]}"></i>{part}</span>' for part in shares)
    rows = "".join(
        f'<tr><td>{part}</td><td class="n">{percent(share)}</td><td class="n">{whole.gpu_hours[part]:,.1f}</td></tr>'
        for part, share in shares.items()
    )
    head = '<tr><th>where it went</th><th class="n">share</th><th class="n">GPU-hours</th></tr>'
    return [
        "<h2>Where the paid time went</h2>",
        f'<div class="bar" role="img" aria-label="shares of paid time">{bar}</div><p class="key">{key}</p>',
        f"<table>{head}{rows}</table>",
    ]


def _groups(month: Month) -> list[str]:
    names = ("GPU-hours", "productive", "paid", "lost", "per productive hour")
    head = f"<tr><th>{month.by}</th>" + "".join(f'<th class="n">{name}</th>' for name in names) + "</tr>"
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{one.hours:,.1f}</td><td class="n">{percent(one.productive)}</td>'
        f'<td class="n">{money(one.paid)}</td><td class="n">{money(one.lost)}</td>'
        f'<td class="n">{money(one.effective_price) if one.effective_price is not None else "none"}</td></tr>'
        for name, one in month.ranked()
    )
    return [f"<h2>By {month.by}, the most lost first</h2>", f"<table>{head}{rows}</table>"]


def _claims(month: Month) -> list[str]:
    """Each with what shows it, for no supplier credits by itself."""
    if not month.claims:
        return ["<h2>Claims</h2>", "<p>No agreement of the price sheet is missed by any node.</p>"]
    total = sum(claim.credit for _, claim in month.claims)
    rows, left = [], MOST_EVIDENCE
    for supplier, claim in month.claims:
        rows.append(
            f"<tr><td>{escape(claim.node)}</td><td>{escape(supplier)}</td>"
            f'<td class="n">{claim.uptime:.3%}</td><td class="n">{money(claim.credit)}</td>'
            f"<td>{_clock(claim.claim_until)[:10]}</td><td>{_evidence(claim.evidence[:left])}</td></tr>"
        )
        left = max(0, left - len(claim.evidence))
    names = '<th>node</th><th>supplier</th><th class="n">uptime</th><th class="n">credit</th>'
    head = f"<tr>{names}<th>claim until</th><th>seen (UTC)</th></tr>"
    words = (
        f"<p>{len(month.claims)} nodes earn {money(total)} if it is claimed; {money(month.whole.lost)} were lost.</p>"
    )
    return ["<h2>Evidence for claims</h2>", words, f"<table>{head}{''.join(rows)}</table>"]


def _evidence(outages: tuple[Outage, ...]) -> str:
    return "<br>".join(f"{_clock(one.begin)}, {lasting(one.end - one.begin)}: {escape(one.what)}" for one in outages)


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
