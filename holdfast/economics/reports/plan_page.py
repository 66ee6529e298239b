"""The report of a scenario as an HTML page."""

from html import escape
from typing import TYPE_CHECKING

from holdfast.economics.planning.formatting import money, percent
from holdfast.economics.reports import page
from holdfast.economics.reports import plot as plan_plot

if TYPE_CHECKING:
    from holdfast.economics.reports.plan import PlanReport


def written(report: "PlanReport") -> str:
    parts = [_glance(report), *_delivered(report), *_changes(report), *_plans(report), *_inputs(report)]
    return page.document(report.title, report.headline, "Closed forms; dollars are US dollars.", parts)


def _glance(report: "PlanReport") -> str:
    paid = report.paid_gpu_hours * report.price
    first = report.changes[0] if report.changes else None
    tiles = [
        ("paid", money(paid), f"{report.paid_gpu_hours:,.0f} GPU-hours at {money(report.price)}"),
        ("productive", percent(report.productive), "of the paid time"),
        ("per productive hour", money(report.price / report.productive), f"paid {money(report.price)}"),
        ("lost to failures", money(paid * (1 - report.productive)), "writes, restarts, work done twice"),
    ]
    if first is not None:
        tiles.append(("change first", money(report.worth(first)), f"{first.what}"))
    return page.tiles(tiles)


def _delivered(report: "PlanReport") -> list[str]:
    shares = report.ledger.shares()
    rows = [
        (
            f"{page.mark(name)}{name}",
            percent(share),
            f"{share * report.paid_gpu_hours:,.0f}",
            money(share * report.paid_gpu_hours * report.price),
        )
        for name, share in shares.items()
    ]
    return [
        "<h2>Expected result</h2>",
        page.ledger_bar(shares),
        page.table(("where it goes", "share", "GPU-hours", "paid"), rows, 3),
    ]


def _changes(report: "PlanReport") -> list[str]:
    if not report.changes:
        return ["<h2>What to change first</h2>", "<p>Nothing that is known here would bring more.</p>"]
    most = max(report.worth(one) for one in report.changes)
    rows = [
        (
            f"{escape(one.what)}{f' <small>({escape(one.note)})</small>' if one.note else ''}",
            f'<span class="gain" style="width:{6 * report.worth(one) / most:.2f}rem"></span>',
            percent(one.share),
            f"{report.gpu_hours(one):,.0f}",
            money(report.worth(one)),
        )
        for one in report.changes
    ]
    return [
        "<h2>What to change first</h2>",
        "<p>Each alone, with the best checkpoint interval for it. Worth is paid time that becomes productive, or that"
        " is no longer needed.</p>",
        page.table(("change", "", "productive", "GPU-hours more", "worth"), rows, 3),
    ]


def _plans(report: "PlanReport") -> list[str]:
    parts = []
    for answer in report.answers:
        rows = [(escape(figure.name), escape(figure.shown)) for figure in answer.figures if figure.name]
        parts += [f"<h2>{escape(answer.headline)}</h2>", page.table((), rows)]
        parts.append(f'<div class="wide">{plan_plot.svg(answer.chart(), alone=False)}</div>')
        parts += [f"<p><small>{escape(note)}</small></p>" for note in answer.notes]
    return parts


def _inputs(report: "PlanReport") -> list[str]:
    rows = [
        (escape(given.name), escape(given.shown), f'<span class="soft">{escape(given.source)}</span>')
        for given in report.inputs
    ]
    return ["<h2>Inputs and assumptions</h2>", page.table(("input", "value", "from"), rows)]
