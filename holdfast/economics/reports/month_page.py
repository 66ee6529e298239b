"""The month's report as an HTML page."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

from holdfast.catalog.seam_kinds import kind
from holdfast.economics.costs.claims import CreditClaim, Outage
from holdfast.economics.planning.formatting import money, percent, time
from holdfast.economics.reports import page
from holdfast.economics.reports.incident_costs import Priced, forecast, grouped, weeks
from holdfast.economics.reports.month import Month, Sum

MOST_EVIDENCE = 500
MOST_INCIDENTS = 10
COST_HEAD = ("GPU-hours", "compute, USD", "reserved", "rollback", "labour", "slip")
LEAST_SHARE = 0.001
SHOWN_OUTAGES = 20  # outages of one node on the page; the document has all


MEANS = {
    "productive": "jobs made progress",
    "degraded": "jobs ran slowly or stood still on allocated nodes",
    "checkpoint": "jobs saved their state",
    "rework": "jobs repeated work that a failure had undone",
    "restart": "nodes were tested, or jobs started again",
    "waiting": "nodes were out of service",
    "idle": "nodes were ready and had no job",
    "unknown": "not observed",
}
LAYERS = (
    "Compute: GPU time that was paid and lost. Reserved: what another job would have paid for it."
    " Rollback: work done again. Labour: the hours of the people who were called."
    " Slip: the value of the days by which a milestone is late."
)


def written(month: Month) -> str:
    parts = [
        _glance(month),
        *_ledger(month.whole),
        *_incidents(month),
        *_groups(month),
        *_claims(month),
        "<h2>Inputs and assumptions</h2>",
        *(f"<p>{escape(note)}</p>" for note in month.notes),
    ]
    under = f"{_clock(month.begin)} to {_clock(month.end)}, UTC. Dollars are US dollars."
    return page.document(f"GPU fleet report, {month.name}", month.headline, under, parts)


def _glance(month: Month) -> str:
    whole = month.whole
    each = whole.effective_price
    tiles = [
        ("paid", money(whole.paid), f"{whole.hours:,.0f} GPU-hours"),
        ("productive", percent(whole.productive), "of the time that was watched"),
        ("per productive hour", "none" if each is None else money(each), f"paid {money(_mean_price(whole))}"),
        ("lost", money(whole.lost), "paid for hours without progress"),
    ]
    if month.incidents:
        many = f"{len(month.incidents)} incident{'s' if len(month.incidents) != 1 else ''}"
        tiles.append(("cost of incidents", money(whole.incident_cost), f"{many}, with labour and delay"))
    if month.claims:
        credit = sum(claim.credit for _, claim in month.claims)
        tiles.append(("to claim", money(credit), f"for {len(month.claims)} nodes below their agreement"))
    return page.tiles(tiles)


def _mean_price(whole: Sum) -> float:
    return whole.paid / whole.hours if whole.hours else 0.0


def _ledger(whole: Sum) -> list[str]:
    shares = {part: hours / whole.hours for part, hours in whole.gpu_hours.items() if hours} if whole.hours else {}
    rows = [
        (
            f"{page.mark(part)}{part}<br><small>{MEANS[part]}</small>",
            percent(share) if share >= LEAST_SHARE else f"below {percent(LEAST_SHARE)}",
            f"{whole.gpu_hours[part]:,.1f}",
            money(whole.dollars[part]),
        )
        for part, share in shares.items()
    ]
    return [
        "<h2>Where the paid time went</h2>",
        page.ledger_bar(shares),
        page.table(("where it went", "share", "GPU-hours", "paid"), rows, 3),
    ]


def _incidents(month: Month) -> list[str]:
    if not month.incidents:
        return ["<h2>What incidents cost</h2>", "<p>No incident with a price lay in this month.</p>"]
    whole = sum(one.total for one in month.incidents)
    slip = [one.slip for one in month.incidents if one.slip is not None]
    text = f"{len(month.incidents)} incidents cost {money(whole)}"
    text += f", {money(sum(slip))} of it for slip of milestones." if slip else "; no value of a day was given for slip."
    coming = forecast(month.incidents, month.begin, month.end, month.month_end)
    if coming is not None:
        text += f" At this rate the whole month will cost {money(coming)}."
    parts = ["<h2>What incidents cost</h2>", f"<p>{text}</p>", f"<p><small>{LAYERS}</small></p>"]
    for title, of in (("cause", lambda one: one.kind), ("owner", lambda one: one.owner)):
        parts.append(f"<h3>By {title}</h3>")
        rows = [
            (
                _called(name) if title == "cause" else escape(name),
                str(len(mine)),
                *_costs(mine),
                _whole(sum(one.total for one in mine)),
            )
            for name, mine in grouped(month.incidents, of)
        ]
        parts.append(page.table((title, "incidents", *COST_HEAD, "total, USD"), rows, len(COST_HEAD) + 2))
    expensive = [
        (
            f"{escape(one.subject)}<br><small>{escape(kind(one.kind).title)}<br>{_clock(one.opened)} UTC</small>",
            *_costs([one]),
            _whole(one.total),
        )
        for one in month.incidents[:MOST_INCIDENTS]
    ]
    parts += ["<h2>The most expensive incidents</h2>"]
    parts.append(page.table(("cause, kind, opened", *COST_HEAD, "total, USD"), expensive, len(COST_HEAD) + 1))
    lost = [
        (_clock(at)[:10], hours, f"{hours:,.0f} GPU-hours")
        for at, hours in weeks(month.incidents, month.begin, month.end)
    ]
    return [*parts, "<h2>Lost to incidents, by week</h2>", page.bars(lost)]


def _called(name: str) -> str:
    """A kind of incident: its title and its name, which the runbook has too."""
    title = kind(name).title
    return escape(name) if title == name else f"{escape(title)}<br><small>{escape(name)}</small>"


def _costs(mine: Sequence[Priced]) -> tuple[str, ...]:
    slip = [one.slip for one in mine if one.slip is not None]
    return (
        f"{sum(one.gpu_hours for one in mine):,.0f}",
        _whole(sum(one.compute for one in mine)),
        _whole(sum(one.reserved for one in mine)),
        _whole(sum(one.rollback for one in mine)),
        _whole(sum(one.labour for one in mine)),
        _whole(sum(slip)) if slip else "not valued",
    )


def _whole(dollars: float) -> str:
    """Whole dollars, because cents make sums harder to compare."""
    return f"{dollars:,.0f}"


def _groups(month: Month) -> list[str]:
    title = f"<h2>By {month.by}, the most lost first</h2>"
    if month.by == "cause":
        all_lost = sum(one.lost for _, one in month.ranked())
        lost = [
            (_called(name), f"{one.hours:,.1f}", money(one.lost), percent(one.lost / all_lost))
            for name, one in month.ranked()
            if one.lost
        ]
        return [title, page.table((month.by, "GPU-hours", "lost", "of all that was lost"), lost, 3)]
    rows = [
        (
            escape(name),
            f"{one.hours:,.1f}",
            percent(one.productive),
            money(one.paid),
            money(one.lost),
            money(one.effective_price) if one.effective_price is not None else "none",
            money(one.incident_cost),
        )
        for name, one in month.ranked()
    ]
    head = (month.by, "GPU-hours", "productive", "paid", "lost", "per productive hour", "cost of incidents")
    return [title, page.table(head, rows, 6)]


def _claims(month: Month) -> list[str]:
    """The claims with their evidence."""
    if not month.claims:
        blind = " in the time that was watched; the rest is unknown" if month.whole.gpu_hours["unknown"] else ""
        return ["<h2>Claims</h2>", f"<p>No agreement of the price sheet is missed by any node{blind}.</p>"]
    total = sum(claim.credit for _, claim in month.claims)
    shown = month.claims[:MOST_EVIDENCE]
    text = f"{_nodes(len(month.claims))} {money(total)} if it is claimed; {money(month.whole.lost)} were lost."
    if len(shown) < len(month.claims):
        text += f" The {len(shown)} largest are shown; --json has all."
    head = ("supplier", "node", "seen (UTC)", "claim until", "uptime", "credit")
    rows = [_claim(supplier, claim) for supplier, claim in shown]
    return ["<h2>Evidence for claims</h2>", f"<p>{text}</p>", page.table(head, rows, 2)]


def _nodes(number: int) -> str:
    return "1 node earns" if number == 1 else f"{number:,} nodes earn"


def _claim(supplier: str, claim: CreditClaim) -> tuple[str, ...]:
    return (
        escape(supplier),
        escape(claim.node),
        _evidence(claim.evidence),
        f"<nobr>{_clock(claim.claim_until)[:10]}</nobr>",
        f"{100 * claim.uptime:.3f} %",
        money(claim.credit),
    )


def _evidence(outages: tuple[Outage, ...]) -> str:
    lines = [f"{_clock(one.begin)}, {time(one.end - one.begin)}: {escape(one.description)}" for one in outages]
    more = [f"and {len(lines) - SHOWN_OUTAGES} more"] if len(lines) > SHOWN_OUTAGES else []
    return "<br>".join([*lines[:SHOWN_OUTAGES], *more])


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
