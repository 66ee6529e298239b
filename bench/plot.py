"""A plot as SVG text: a few small panels side by side, each one line over the same axis."""

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 320, 230, 56, 58, 34
INK, LINE, PALE = "#333", "#1f6feb", "#d8dee4"


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    across: list[float]
    up: list[float]


def draw(title: str, panels: list[Panel]) -> str:
    whole = WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{whole}" height="{HEIGHT}" fill="white"/>',
        _text(12, 20, title, "start", 13),
        *(part for number, panel in enumerate(panels) for part in _panel(panel, number * WIDTH)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _panel(panel: Panel, start: int) -> list[str]:
    right, high = _nice(max(panel.across)), _nice(max(panel.up))
    x0, x1, y0, y1 = start + LEFT, start + WIDTH - 22, HEIGHT - BOTTOM, TOP

    def place(across: float, up: float) -> tuple[float, float]:
        return x0 + (x1 - x0) * across / right, y0 - (y0 - y1) * up / high

    parts = [_text(x0, TOP - 14, panel.title, "start", 11)]
    for quarter in range(5):
        _, y = place(0, high * quarter / 4)
        parts += [
            f'<path d="M{x0} {y:.1f}H{x1}" stroke="{PALE}"/>',
            _text(x0 - 6, y + 4, _number(high * quarter / 4), "end"),
        ]
        x, _ = place(right * quarter / 4, 0)
        parts.append(_text(x, y0 + 18, _number(right * quarter / 4), "middle"))
    points = [place(*pair) for pair in zip(panel.across, panel.up, strict=True)]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    parts.append(f'<path d="M{path}" fill="none" stroke="{LINE}" stroke-width="2"/>')
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{LINE}"/>' for x, y in points]
    return parts


def _text(x: float, y: float, words: str, anchor: str, size: int = 10) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{INK}">{escape(words)}</text>'
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


def _nice(most: float) -> float:
    """The next round number up, so that quarters of it are round too."""
    step: float = 10.0 ** floor(log10(most)) / 2.5 if most > 0 else 1.0
    return max(step * ceil(most / step), step)
