"""Building blocks of a report page: self-contained HTML without scripts, fonts or external images."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from holdfast.economics.planning.formatting import percent

COLOURS = {
    "productive": "#2f9e57",
    "degraded": "#b5a12a",
    "checkpoint": "#3b82f6",
    "rework": "#dc4c64",
    "restart": "#e08a1e",
    "waiting": "#9b5de5",
    "idle": "#8d99a6",
    "unknown": "#59636e",
}
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d9dee3; --page: #fff; --card: #f5f7f9 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #9aa4ae; --line: #343b43; --page: #14181c; --card: #1d2329 }
}
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--page) }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem } h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem }
.lead { font-size: 1.15rem; margin: 0 0 .3rem } small, .soft { color: var(--soft) }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.2rem, 1fr)); gap: .8rem; margin: 1.4rem 0 }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem }
.tile b { display: block; font-size: 1.2rem; line-height: 1.4; white-space: nowrap; font-variant-numeric: tabular-nums }
.tile small { display: block }
.wide { overflow-x: auto; max-width: 100% } table { border-collapse: collapse; width: 100% }
th { font-weight: 600; color: var(--soft); font-size: .85rem }
th, td { text-align: left; padding: .4rem .7rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
th:last-child, td:last-child { padding-right: 0 } td { overflow-wrap: break-word } td:first-child { min-width: 9rem }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.bar { display: flex; gap: 2px; height: 2.2rem; border-radius: .4rem; overflow: hidden; margin: 1rem 0 .6rem }
.bar div { min-width: 2px } td .mark, .key i { background: var(--c) }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: 0 0 1rem; font-size: .9rem }
.key i, td .mark { display: inline-block; width: .75rem; height: .75rem; border-radius: .2rem; margin-right: .4rem }
.gain { display: inline-block; height: .6rem; border-radius: .2rem; background: #2f9e57; vertical-align: middle }
svg { display: block; width: 100%; max-width: 45rem; min-width: 32rem; height: auto; margin: .8rem 0 }
.bars td:nth-child(2) { width: 60% } .bars .gain { background: #dc4c64; display: block; margin-top: .5rem }
nobr { white-space: nowrap }
@media (max-width: 36rem) {
  .gain { display: none } table { font-size: .9rem } td:first-child { min-width: 0 } td, th { padding-right: .5rem }
}
@media print {
  :root { --ink: #000; --soft: #444; --line: #ccc; --page: #fff; --card: #fff } body { margin: 0; max-width: none }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact } h2 { break-after: avoid }
  tr, svg, .tile, .bar { break-inside: avoid } .wide { overflow: visible }
}
"""


def document(title: str, lead: str, under: str, parts: Iterable[str]) -> str:
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="lead">{escape(lead)}</p>',
            f"<p><small>{escape(under)}</small></p>",
            *parts,
            "</body></html>\n",
        ]
    )


def tiles(figures: Sequence[tuple[str, str, str]]) -> str:
    """Tiles with the main figures: name, value and meaning."""
    made = "".join(
        f'<div class="tile"><small>{escape(name)}</small><b>{escape(value)}</b><small>{escape(words)}</small></div>'
        for name, value, words in figures
    )
    return f'<div class="tiles">{made}</div>'


def ledger_bar(shares: Mapping[str, float]) -> str:
    pieces = "".join(
        f'<div style="width:{100 * share:.4f}%;background:{COLOURS[name]}" title="{name} {percent(share)}"></div>'
        for name, share in shares.items()
    )
    label = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    key = "".join(f"<span>{mark(name)}{name} {percent(share)}</span>" for name, share in shares.items())
    return f'<div class="bar" role="img" aria-label="{label}">{pieces}</div><p class="key">{key}</p>'


def bars(rows: Sequence[tuple[str, float, str]]) -> str:
    """A bar chart: name, length and label of each row."""
    longest = max((length for _, length, _ in rows), default=0.0)
    made = [
        (
            escape(name),
            f'<i class="gain" style="width:{100 * length / longest if longest else 0:.2f}%"></i>',
            escape(label),
        )
        for name, length, label in rows
    ]
    return table((), made, 1).replace("<table>", '<table class="bars">')


def mark(part: str) -> str:
    return f'<i class="mark" style="--c:{COLOURS[part]}"></i>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A table. Cells are HTML; `numbers`: how many of the last columns are right-aligned numbers."""

    def row(cells: Sequence[str], tag: str) -> str:
        plain = len(cells) - numbers
        return "".join(
            f"<{tag}{' class=n' if number >= plain else ''}>{cell}</{tag}>" for number, cell in enumerate(cells)
        )

    top = f"<tr>{row(head, 'th')}</tr>" if head else ""
    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    return f'<div class="wide"><table>{top}{body}</table></div>'
