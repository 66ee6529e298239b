"""A signal over time as an SVG drawing for a post-mortem."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape

from holdfast.config.printable import printable

WIDTH, HEIGHT = 760, 220
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 36, 34
INK, LINE, MARK, GRID = "#24292f", "#0969da", "#cf222e", "#d0d7de"
TICKS = 4


def drawing(chart: dict[str, Any], since: float) -> str:
    """The whole file. Gaps in the readings stay gaps in the line."""
    values: list[float | None] = chart["values"]
    seen = [value for value in values if value is not None]
    title = escape(printable(f"{chart['subject']} {chart['signal']}"))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        f' font-size="12" fill="{INK}" role="img"><title>{title}</title>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/><text x="{LEFT}" y="20">{title}</text>',
    ]
    if not seen:
        return "\n".join([*parts, f'<text x="{LEFT}" y="{HEIGHT // 2}">no readings</text>', "</svg>", ""])
    low, high = _range(seen)
    parts += [*_scale(low, high), *_times(chart["start"], chart["step"], len(values))]
    parts += [_joined(run, low, high, len(values)) for run in _runs(values)]
    place = (since - chart["start"]) / chart["step"] if chart["step"] else -1.0
    if 0 <= place < len(values):
        across = _across(place, len(values))
        parts.append(f'<path d="M{across:.1f},{TOP}V{HEIGHT - BOTTOM}" stroke="{MARK}" stroke-dasharray="4 3"/>')
        parts.append(f'<text x="{across + 4:.1f}" y="{TOP + 10}" fill="{MARK}">it began</text>')
    return "\n".join([*parts, "</svg>", ""])


def _range(seen: Sequence[float]) -> tuple[float, float]:
    """The range of the axis, with margins; a constant line is in the middle."""
    low, high = min(seen), max(seen)
    room = 0.08 * (high - low) or max(abs(high) * 0.05, 1e-6)
    return low - room, high + room


def _runs(values: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    run: list[tuple[int, float]] = []
    for place, value in enumerate(values):
        if value is not None:
            run.append((place, value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _joined(run: list[tuple[int, float]], low: float, high: float, many: int) -> str:
    points = [f"{_across(place, many):.1f},{_up(value, low, high):.1f}" for place, value in run]
    if len(points) == 1:
        x, _, y = points[0].partition(",")
        return f'<circle cx="{x}" cy="{y}" r="1.5" fill="{LINE}"/>'
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'


def _across(place: float, many: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * place / max(many - 1, 1)


def _up(value: float, low: float, high: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)


def _scale(low: float, high: float) -> Iterator[str]:
    for tick in range(TICKS + 1):
        value = low + (high - low) * tick / TICKS
        y = _up(value, low, high)
        yield f'<path d="M{LEFT},{y:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.4g}</text>'


def _times(start: float, step: float, many: int) -> Iterator[str]:
    for tick in range(TICKS + 1):
        place = (many - 1) * tick / TICKS
        clock = datetime.fromtimestamp(start + step * place, UTC).strftime("%H:%MZ")
        anchor = "end" if tick == TICKS else "start" if tick == 0 else "middle"
        x = _across(place, many)
        yield f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="{anchor}">{clock}</text>'
