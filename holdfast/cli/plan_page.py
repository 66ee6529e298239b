"""The report as one HTML page that needs nothing else: no script, no font, no picture from elsewhere."""

from html import escape
from typing import TYPE_CHECKING

from holdfast.cli import plan_plot
from holdfast.cli.plan_answer import money, percent

if TYPE_CHECKING:
    from holdfast.cli.plan_report import Report

COLOURS = {"productive": "#2e7d32", "checkpoint": "#1f6feb", "rework": "#d1495b", "restart": "#b26a00"}
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
.lead { font-size: 1.15rem } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #d9dee3; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.bar { display: flex; height: 2.2rem; border-radius: .3rem; overflow: hidden; margin: 1rem 0 }
.key span { display: inline-block; margin-right: 1.2rem } .key i { display: inline-block; width: .8rem; height: .8rem;
border-radius: .15rem; margin-right: .35rem } svg { max-width: 100%; height: auto } small, .source { color: #57606a }
@media print { body { margin: 0 } h2 { break-after: avoid } table, svg { break-inside: avoid } }
"""


def page(report: "Report") -> str:
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(report.title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(report.title)}</h1>",
            f'<p class="lead">{escape(report.headline)}</p>',
            *_delivered(report),
            *_changes(report),
            *_plans(report),
            *_inputs(report),
            "</body></html>\n",
        ]
    )


def _delivered(report: "Report") -> list[str]:
    shares = report.ledger.shares()
    bar = "".join(
        f'<div style="width:{share:.4%};background:{COLOURS[name]}" title="{name} {percent(share)}"></div>'
        for name, share in shares.items()
    )
    key = "".join(f'<span><i style="background:{COLOURS[name]}"></i>{name}</span>' for name in shares)
    rows = "".join(
        f'<tr><td>{name}</td><td class="n">{percent(share)}</td><td class="n">{share * report.paid_gpu_hours:,.0f}</td>'
        f'<td class="n">{money(share * report.paid_gpu_hours * report.price)}</td></tr>'
        for name, share in shares.items()
    )
    head = '<tr><th>where it goes</th><th class="n">share</th><th class="n">GPU-hours</th><th class="n">paid</th></tr>'
    return [
        "<h2>What it will really deliver</h2>",
        f'<div class="bar" role="img" aria-label="shares of paid time">{bar}</div><p class="key">{key}</p>',
        f"<table>{head}{rows}</table>",
    ]


def _changes(report: "Report") -> list[str]:
    head = "<tr><th>change</th>" + "".join(
        f'<th class="n">{name}</th>' for name in ("productive", "GPU-hours", "worth")
    )
    rows = "".join(
        f"<tr><td>{escape(one.what)}{f' <small>({escape(one.note)})</small>' if one.note else ''}</td>"
        f'<td class="n">{percent(one.share)}</td>'
        f'<td class="n">{(one.share - report.productive) * report.paid_gpu_hours:,.0f}</td>'
        f'<td class="n">{money(report.worth(one))}</td></tr>'
        for one in report.changes
    )
    words = "<p>Each alone, with the best checkpoint interval for it. Worth is paid time that becomes productive.</p>"
    return ["<h2>What to change first</h2>", words, f"<table>{head}</tr>{rows}</table>"]


def _plans(report: "Report") -> list[str]:
    parts = []
    for answer in report.answers:
        rows = "".join(
            f"<tr><td>{escape(figure.name)}</td><td>{escape(figure.shown)}</td></tr>"
            for figure in answer.figures
            if figure.name
        )
        parts += [f"<h2>{escape(answer.headline)}</h2>", f"<table>{rows}</table>"]
        parts.append(plan_plot.svg(answer.chart()))
        parts += [f"<p><small>{escape(note)}</small></p>" for note in answer.notes]
    return parts


def _inputs(report: "Report") -> list[str]:
    rows = "".join(
        f"<tr><td>{escape(given.name)}</td><td>{escape(given.shown)}</td>"
        f'<td class="source">{escape(given.source)}</td></tr>'
        for given in report.inputs
    )
    return ["<h2>What it rests on</h2>", f"<table><tr><th>input</th><th>value</th><th>from</th></tr>{rows}</table>"]
