"""Coordinates of the charts on the pages. The server computes them; a template draws them as SVG, next to a table.

All coordinates are in user units of the SVG: x grows to the right, y grows downwards from the upper edge.
"""

from collections.abc import Sequence
from typing import NamedTuple

TOP, LEFT, RIGHT = 10, 44, 4  # pixels above, left and right of the chart of grades

# The chart of everybody's grades.
MIX_WIDTH, MIX_BAR, MIX_GAP = 480, 20, 10
MIX_SERIES = 8  # shades

# The chart of a pool's size by topic.
SIZE_WIDTH, SIZE_HEIGHT, SIZE_LEFT, SIZE_GAP, SIZE_BOTTOM = 900, 160, 40, 3, 24
MIN_SIZE_BAR, MAX_SIZE_BAR = 8, 48
CHARACTER = 7  # width of a character of a label

# The chart of a pool's size by depth.
DEPTH_WIDTH, DEPTH_HEIGHT = 720, 240
DEPTH_LEFT, DEPTH_RIGHT, DEPTH_TOP, DEPTH_BOTTOM = 64, 64, 28, 44


class Line(NamedTuple):
    """A horizontal line with its label."""

    y: float
    label: str


class Tick(NamedTuple):
    """A label on the x axis."""

    x: float
    label: str


class SizeBar(NamedTuple):
    """A number as a bar, such as the units of one topic; `middle` is the x coordinate of its label."""

    label: str
    n: int
    x: int
    middle: int
    y: float
    height: float


class SizeChart(NamedTuple):
    """Numbers, such as a pool's units by topic. `top` is the number at the upper edge, `bar` the width of a bar."""

    bars: list[SizeBar]
    bar: int
    is_labeled: bool
    width: int
    height: int
    left: int
    base: int
    top: int


def size_chart(sizes: Sequence[tuple[str, int]], *, width: int = SIZE_WIDTH) -> SizeChart:
    """Lay out one bar for each (label, number). Bars have labels if all labels fit.

    Parameters
    ----------
    width : of all bars together; more if they are many, because no bar is narrower than `MIN_SIZE_BAR`.
    """
    top = max((n for _, n in sizes), default=0)
    base = TOP + SIZE_HEIGHT
    bar = max(MIN_SIZE_BAR, min(MAX_SIZE_BAR, width // max(1, len(sizes)) - SIZE_GAP))
    bars = []
    for i, (label, n) in enumerate(sizes):
        height = SIZE_HEIGHT * n / top if top else 0
        x = SIZE_LEFT + i * (bar + SIZE_GAP)
        bars.append(SizeBar(label, n, x, x + bar // 2, round(base - height, 2), round(height, 2)))
    return SizeChart(
        bars=bars,
        bar=bar,
        is_labeled=all(CHARACTER * len(label) < bar for label, _ in sizes),
        width=SIZE_LEFT + len(sizes) * (bar + SIZE_GAP),
        height=base + SIZE_BOTTOM,
        left=SIZE_LEFT,
        base=base,
        top=top,
    )


class AxisTick(NamedTuple):
    """A label at a coordinate of an axis: x of a horizontal axis, y of a vertical one."""

    at: float
    label: str


class DepthMark(NamedTuple):
    """A highlighted depth. `is_left`: there is no room for its label on the right of the line."""

    x: float
    y: float
    label: str
    is_left: bool


class DepthChart(NamedTuple):
    """Size of a pool by depth: units on the left axis, hours of judging on the right axis."""

    points: str
    depths: list[AxisTick]
    units: list[AxisTick]
    hours: list[AxisTick]
    marks: list[DepthMark]
    width: int
    height: int
    left: int
    right: int
    top: int
    base: int


def depth_chart(
    totals: Sequence[int], hours: Sequence[float], marks: Sequence[tuple[int, str]]
) -> DepthChart:
    """Lay out the curve of a pool's size.

    Parameters
    ----------
    totals, hours : units, and hours of judging, at depth i + 1.
    marks : depths to highlight, with labels; those outside the curve are left out.
    """
    largest = max(totals, default=0) or 1
    deepest = max(1, len(totals))
    base = DEPTH_TOP + DEPTH_HEIGHT

    def x(depth: float) -> float:
        return round(DEPTH_LEFT + DEPTH_WIDTH * depth / deepest, 1)

    def y(n: float) -> float:
        return round(base - DEPTH_HEIGHT * n / largest, 1)

    hours_per_unit = hours[-1] / totals[-1] if totals and totals[-1] else 0.0
    most_hours = largest * hours_per_unit
    return DepthChart(
        points=" ".join(f"{x(depth)},{y(n)}" for depth, n in [(0, 0), *enumerate(totals, 1)]),
        depths=[AxisTick(x(depth), f"{depth:g}") for depth in _round_numbers(deepest) if depth],
        units=[AxisTick(y(n), f"{n:,g}") for n in _round_numbers(largest)],
        hours=[AxisTick(y(h / hours_per_unit), f"{h:,g}") for h in _round_numbers(most_hours)]
        if hours_per_unit
        else [],
        marks=[
            DepthMark(x(depth), y(totals[depth - 1]), label, x(depth) > DEPTH_LEFT + DEPTH_WIDTH * 0.7)
            for depth, label in marks
            if 1 <= depth <= len(totals)
        ],
        width=DEPTH_LEFT + DEPTH_WIDTH + DEPTH_RIGHT,
        height=base + DEPTH_BOTTOM,
        left=DEPTH_LEFT,
        right=DEPTH_LEFT + DEPTH_WIDTH,
        top=DEPTH_TOP,
        base=base,
    )


def _round_numbers(last: float) -> list[float]:
    """Four to ten round numbers at equal distances, from 0 to `last` at most."""
    step = 1e-3
    while last / step > 10:
        for factor in (2, 2.5, 2):  # 1, 2, 5, 10
            step *= factor
            if last / step <= 10:
                break
    return [round(i * step, 3) for i in range(int(last / step) + 1)]


class MixPart(NamedTuple):
    """A part of a bar. `series` is the number of its choice, from 1; `title` is the text of its tooltip."""

    x: float
    width: float
    series: int
    title: str


class MixBar(NamedTuple):
    """The choices of one assessor, side by side; `middle` is the y coordinate of the name."""

    name: str
    y: int
    middle: int
    parts: list[MixPart]


class MixChart(NamedTuple):
    """A bar of one length for each assessor, divided by choice. `keys` are the series and labels of the choices."""

    width: int
    height: int
    left: int
    bar: int
    bars: list[MixBar]
    keys: list[tuple[int, str]]


def mix_chart(rows: Sequence[tuple[str, Sequence[tuple[str, int]]]]) -> MixChart:
    """Lay out one bar for each (assessor, [(choice, number)]); all have the same choices.

    >>> chart = mix_chart([("ada", [("High", 3), ("Low", 1)])])
    >>> [(part.width, part.title) for part in chart.bars[0].parts]
    [(360.0, 'ada, High: 3 (75 %)'), (120.0, 'ada, Low: 1 (25 %)')]
    """
    left = LEFT + CHARACTER * max((len(name) for name, _ in rows), default=0)
    bars = []
    for i, (name, counts) in enumerate(rows):
        y = TOP + i * (MIX_BAR + MIX_GAP)
        bars.append(MixBar(name, y, y + MIX_BAR // 2, _mix_parts(name, counts, left)))
    labels = [label for label, _ in rows[0][1]] if rows else []
    return MixChart(
        width=left + MIX_WIDTH + RIGHT,
        height=TOP + len(rows) * (MIX_BAR + MIX_GAP),
        left=left,
        bar=MIX_BAR,
        bars=bars,
        keys=[(n % MIX_SERIES + 1, label) for n, label in enumerate(labels)],
    )


def _mix_parts(name: str, counts: Sequence[tuple[str, int]], left: int) -> list[MixPart]:
    total = sum(n for _, n in counts) or 1
    parts, before = [], 0
    for series, (label, n) in enumerate(counts):
        if n:
            parts.append(
                MixPart(
                    x=round(left + MIX_WIDTH * before / total, 2),
                    width=round(MIX_WIDTH * n / total, 2),
                    series=series % MIX_SERIES + 1,
                    title=f"{name}, {label}: {n} ({100 * n / total:.0f} %)",
                )
            )
        before += n
    return parts
