"""A braille chart on the terminal: two dots across and four up in every character."""

import sys
from collections.abc import Callable
from math import log10

from holdfast.economics.planning.chart import PlanChart, drawn
from holdfast.economics.reports.plot import frame_of, tick, write
from holdfast.model.refusal import Refusal

COLUMNS, ROWS = 60, 12
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
EMPTY = 0x2800
HERE = "-"  # on the terminal


def refuse_poor_terminal() -> None:
    encoding = sys.stdout.encoding or "ascii"
    try:
        chr(EMPTY).encode(encoding)
    except UnicodeEncodeError:
        raise Refusal(f"--plot -: this terminal uses {encoding} and cannot show it; expected FILE.svg") from None


def picture(chart: PlanChart) -> str:
    """The chart as text. All lines have the same colour; a file has one colour per line."""
    frame = frame_of(chart)
    cells = [[EMPTY] * COLUMNS for _ in range(ROWS)]
    (left, right), (bottom, top) = frame.x, frame.y
    for line in chart.lines:
        points = drawn(line)
        for dot in range(2 * COLUMNS):
            at = dot / (2 * COLUMNS - 1)
            x = float(10 ** (log10(left) + at * log10(right / left))) if frame.log_x else left + at * (right - left)
            up = (_value(points, x) - bottom) / (top - bottom)
            row = min(4 * ROWS - 1, max(0, round((1 - up) * (4 * ROWS - 1))))
            cells[row // 4][dot // 2] |= DOTS[row % 4][dot % 2]
    rows = [f"{_label(number, bottom, top):>9} \u2502{''.join(map(chr, row))}" for number, row in enumerate(cells)]
    low, high = tick(left), tick(right)
    axis = " " * 10 + "\u2514" + "\u2500" * COLUMNS
    under = f"{'':>10} {low}{chart.across:^{max(1, COLUMNS - len(low) - len(high))}}{high}"
    return "\n".join([f"{chart.title} ({chart.up})", *rows, axis, under])


def _label(row: int, bottom: float, top: float) -> str:
    if row == 0:
        return tick(top)
    return tick(bottom) if row == ROWS - 1 else ""


def _value(points: list[tuple[float, float]], x: float) -> float:
    """The value at x on the straight line between its two neighbours."""
    before = points[0]
    for after in points:
        if after[0] >= x:
            width = after[0] - before[0]
            return after[1] if width <= 0 else before[1] + (after[1] - before[1]) * (x - before[0]) / width
        before = after
    return points[-1][1]


def draw(chart: Callable[[], PlanChart], plot: str, as_json: bool) -> str:
    """Writes the file that --plot names; for `-` returns the text to print."""
    if plot != HERE:
        write(chart(), plot)
        return ""
    if as_json:
        raise Refusal("--plot -: expected a file with --json, because stdout has one JSON document and nothing else")
    refuse_poor_terminal()
    return picture(chart())
