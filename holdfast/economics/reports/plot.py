"""A plan's curve as an image: SVG, or PNG if matplotlib is installed."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.economics.planning.chart import PlanChart, drawn
from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # type: ignore[import-not-found,unused-ignore]

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 40, 55
COLOURS = ("#3b82f6", "#dc4c64", "#2f9e57", "#9b5de5", "#e08a1e")  # visible on light and dark backgrounds


def write(chart: PlanChart, path: str) -> None:
    target = Path(path)
    if target.suffix == ".png":
        _png(chart, target)
        return
    if target.suffix != ".svg":
        raise Refusal(f"--plot: expected a file that ends in .svg or .png, found {path!r}")
    try:
        target.write_text(svg(chart), encoding="utf-8")
    except OSError as error:
        raise Refusal(f"--plot: cannot write {path}: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class Frame:
    """Converts values to positions on the page."""

    x: tuple[float, float]
    y: tuple[float, float]
    log_x: bool

    def across(self, value: float) -> float:
        low, high = self.x
        at = log10(value / low) / log10(high / low) if self.log_x else (value - low) / (high - low)
        return LEFT + at * (WIDTH - LEFT - RIGHT)

    def up(self, value: float) -> float:
        low, high = self.y
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def svg(chart: PlanChart, alone: bool = True) -> str:
    """The curve as SVG. A separate file has its own background; inside a page it uses the page's colours."""
    frame = frame_of(chart)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    ink = ' color="#1b1f24"' if alone else ""
    paper = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>' if alone else ""
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}{ink} fill="currentColor"'
        ' font-family="system-ui, sans-serif" font-size="12" role="img">',
        f"<title>{escape(chart.title)}</title>",
        paper,
        _text(LEFT, 22, chart.title, "start", 'font-weight="600" font-size="14"'),
        *_grid(chart, frame),
    ]
    for number, line in enumerate(chart.lines):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(f"{frame.across(x):.1f},{frame.up(y):.1f}" for x, y in drawn(line))
        body.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>')
        body.append(_text(WIDTH - RIGHT + 10, TOP + 18 * (number + 1), line.name, "start", f'fill="{colour}"'))
    if chart.mark is not None:
        x, y = frame.across(chart.mark[0]), frame.up(chart.mark[1])
        body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
    return "\n".join([*body, "</svg>"]) + "\n"


def frame_of(chart: PlanChart) -> Frame:
    points = [point for line in chart.lines for point in drawn(line)]
    points += [chart.mark] if chart.mark else []
    xs, ys = [x for x, _ in points], [y for _, y in points]
    top = max(ys)
    step = _step(top)
    return Frame((min(xs), max(xs)), (0.0, 1.0 if 0.4 < top <= 1 else ceil(top / step - 1e-9) * step), chart.log_x)


def _ticks(low: float, high: float, log: bool) -> Sequence[float]:
    if log:
        return [10.0**power for power in range(ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9) + 1)]
    step = _step(high - low)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _step(span: float) -> float:
    """A round number that divides a span into four to ten parts."""
    if span <= 0:
        return 1.0
    power = float(10 ** floor(log10(span)))
    return next(power * part for part in (0.1, 0.2, 0.5, 1.0) if span / (power * part) <= 10)


def tick(value: float) -> str:
    if value >= 1e5:
        return f"{value:.0e}".replace("e+0", "e") if log10(value) % 1 == 0 else f"{value:,.0f}"
    return f"{value:,.10g}" if value >= 1000 else f"{value:.4g}"


def _grid(chart: PlanChart, frame: Frame) -> list[str]:
    lines = []
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for value in _ticks(*frame.y, log=False):
        y = frame.up(value)
        lines.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="currentColor" stroke-opacity=".15"/>')
        lines.append(_text(LEFT - 8, y + 4, tick(value), "end"))
    for value in _ticks(*frame.x, log=chart.log_x):
        x = frame.across(value)
        lines.append(f'<path d="M{x:.1f} {bottom}v5" stroke="currentColor" stroke-opacity=".6"/>')
        lines.append(_text(x, bottom + 19, tick(value), "middle"))
    lines.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="currentColor" stroke-opacity=".6"/>')
    lines.append(_text((LEFT + right) / 2, HEIGHT - 14, chart.across, "middle"))
    lines.append(
        _text(16, (TOP + bottom) / 2, chart.up, "middle", f'transform="rotate(-90 16 {(TOP + bottom) / 2:.0f})"')
    )
    return lines


def _text(x: float, y: float, message: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(message)}</text>'


def _png(chart: PlanChart, target: Path) -> None:
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        need = "matplotlib (pip install '.[plan]' in a clone)"
        raise Refusal(f"--plot: a PNG needs {need}; an .svg needs nothing") from None
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=150, layout="constrained")
    axes: Axes = figure.subplots()
    for line in chart.lines:
        axes.plot(*zip(*drawn(line), strict=True), label=line.name)
    if chart.mark is not None:
        axes.plot(*chart.mark, "ko")
    if chart.log_x:
        axes.set_xscale("log")
    axes.set(title=chart.title, xlabel=chart.across, ylabel=chart.up)
    axes.legend()
    try:
        figure.savefig(target)
    except OSError as error:
        raise Refusal(f"--plot: cannot write {target}: {error.strerror}") from None
