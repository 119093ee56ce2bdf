"""Coordinates of the charts on the pages. The server computes them; a template draws them as SVG, next to a table.

All coordinates are in user units of the SVG: x grows to the right, y grows downwards from the upper edge.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

# Charts of values by topic, and curves of values.
BAR_WIDTH, BAR_GAP = 7, 2
HEIGHT = 140
LEFT, TOP, BOTTOM, RIGHT = 44, 10, 12, 4
MIN_BARS = 30  # a chart of fewer bars is as wide as one of this many
CURVE_WIDTH, CURVE_BOTTOM, CURVE_RIGHT = 460, 34, 24

# The chart of kappa by assessor.
KAPPA_HEIGHT, KAPPA_BAR, KAPPA_GAP, MIN_KAPPA_GROUP = 200, 18, 16, 64

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


class Bar(NamedTuple):
    """One value as a bar. `title` is the text of its tooltip."""

    x: int
    y: float
    height: float
    title: str


class Line(NamedTuple):
    """A horizontal line with its label."""

    y: float
    label: str


class RunsMark(NamedTuple):
    """The values of all runs at a bar: a short line from `x` to `end` at their median, a dot at the best."""

    x: int
    end: int
    middle: float
    median: float
    best: float


class BarChart(NamedTuple):
    """Values between 0 and 1, by topic."""

    width: int
    height: int
    left: int
    right: int
    bar: int
    bars: list[Bar]
    grid: list[Line]
    mean: Line
    marks: list[RunsMark]


def topic_chart(
    values: Sequence[tuple[str, float]], mean: float, others: Sequence[tuple[float, float]] = ()
) -> BarChart:
    """Lay out one bar for each (topic, value), and a line at the mean.

    Parameters
    ----------
    values : values in [0, 1]; no bars if empty.
    others : (median, best) of all runs, in the order of the topics.
    """
    bars = []
    for n, (topic, value) in enumerate(values):
        height = round(HEIGHT * value, 2)
        bars.append(Bar(_bar_x(n), round(TOP + HEIGHT - height, 2), height, f"{topic}: {value:.4f}"))
    marks = [
        RunsMark(
            x := _bar_x(n),
            x + BAR_WIDTH,
            x + BAR_WIDTH / 2,
            _y_of(median),
            _y_of(best),
        )
        for n, (median, best) in enumerate(others)
    ]
    right = _bar_x(max(MIN_BARS, len(values)))
    return BarChart(
        width=right + RIGHT,
        height=TOP + HEIGHT + BOTTOM,
        left=LEFT,
        right=right,
        bar=BAR_WIDTH,
        bars=bars,
        grid=[Line(_y_of(value), f"{value:.1f}") for value in (0.0, 0.5, 1.0)],
        mean=Line(_y_of(mean), f"{mean:.4f}"),
        marks=marks,
    )


class DifferenceChart(NamedTuple):
    """Differences between -1 and 1 by topic, above and below a line at 0."""

    width: int
    height: int
    left: int
    right: int
    bar: int
    bars: list[Bar]
    grid: list[Line]


def difference_chart(values: Sequence[tuple[str, float]]) -> DifferenceChart:
    """Lay out one bar for each (topic, difference), scaled to the largest difference."""
    largest = max((abs(value) for _, value in values), default=0.0) or 1.0
    half = HEIGHT / 2
    bars = []
    for n, (topic, value) in enumerate(values):
        height = round(half * abs(value) / largest, 2)
        top = round(TOP + half - (height if value > 0 else 0), 2)
        bars.append(Bar(_bar_x(n), top, height, f"{topic}: {value:+.4f}"))
    right = _bar_x(max(MIN_BARS, len(values)))
    grid = [
        Line(round(TOP + half * (1 - share), 2), f"{share * largest:+.2f}" if share else "0")
        for share in (-1, 0, 1)
    ]
    return DifferenceChart(right + RIGHT, TOP + HEIGHT + BOTTOM, LEFT, right, BAR_WIDTH, bars, grid)


class Tick(NamedTuple):
    """A label on the x axis."""

    x: float
    label: str


class Curve(NamedTuple):
    """A named line. `points` has the syntax of SVG; `dots` are (x, y, text of the tooltip)."""

    name: str
    points: str
    dots: list[tuple[float, float, str]]


class CurveChart(NamedTuple):
    """Several curves over the same labels."""

    width: int
    height: int
    left: int
    right: int
    bottom: float
    curves: list[Curve]
    grid: list[Line]
    ticks: list[Tick]


def curve_chart(
    labels: Sequence[str], curves: Sequence[tuple[str, Sequence[float]]], *, top: float = 1.0
) -> CurveChart:
    """Lay out one curve for each (name, values).

    Parameters
    ----------
    labels : labels of the x axis, at equal distances.
    curves : each has one value from 0 to `top` for each label.
    top : the value at the upper edge; 0 is taken as 1.
    """
    right = LEFT + CURVE_WIDTH
    step = CURVE_WIDTH / max(1, len(labels) - 1)
    columns = [round(LEFT + n * step, 2) for n in range(len(labels))]
    top = top or 1.0
    drawn = []
    for name, values in curves:
        dots = [
            (x, _y_of(value / top), f"{name}, {label}: {value:.4f}")
            for x, label, value in zip(columns, labels, values, strict=True)
        ]
        drawn.append(Curve(name, " ".join(f"{x},{y}" for x, y, _ in dots), dots))
    return CurveChart(
        width=right + CURVE_RIGHT,
        height=TOP + HEIGHT + CURVE_BOTTOM,
        left=LEFT,
        right=right,
        bottom=TOP + HEIGHT,
        curves=drawn,
        grid=[Line(_y_of(share), f"{share * top:.2f}") for share in (0.0, 0.5, 1.0)],
        ticks=[Tick(x, label) for x, label in zip(columns, labels, strict=True)],
    )


def _bar_x(n: int) -> int:
    return LEFT + n * (BAR_WIDTH + BAR_GAP)


def _y_of(value: float) -> float:
    """The y coordinate of a value between 0 and 1."""
    return round(TOP + HEIGHT * (1 - value), 2)


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


class KappaBar(NamedTuple):
    """One value of an assessor. `series` is 1 or 2; `title` is the text of its tooltip."""

    x: float
    y: float
    height: float
    series: int
    title: str


class KappaChart(NamedTuple):
    """Two values for each assessor, between -1 and 1; `base` is the line at 0, `names` are below it."""

    width: int
    height: int
    left: int
    right: int
    bar: int
    base: float
    bars: list[KappaBar]
    names: list[Tick]
    grid: list[Line]


def kappa_chart(values: Sequence[tuple[str, float, float]]) -> KappaChart:
    """Lay out two bars for each (assessor, kappa, two-way kappa); an undefined value (nan) has no bar.

    The axis ends at 0, or at the next lower quarter if a value is negative.
    """
    lowest = min((value for row in values for value in row[1:] if value < 0), default=0.0)
    bottom = math.floor(lowest * 4) / 4
    scale = KAPPA_HEIGHT / (1 - bottom)

    def y(value: float) -> float:
        return round(TOP + (1 - value) * scale, 2)

    widths = [max(MIN_KAPPA_GROUP, CHARACTER * len(name) + KAPPA_GAP) for name, *_ in values]
    middles = [LEFT + sum(widths[:n]) + width / 2 for n, width in enumerate(widths)]
    bars = [
        KappaBar(
            x=middle + (series - 2) * KAPPA_BAR,
            y=y(max(value, 0)),
            height=round(abs(value) * scale, 2),
            series=series,
            title=f"{name}, {kind}: {value:.4f}",
        )
        for middle, (name, *pair) in zip(middles, values, strict=True)
        for series, (kind, value) in enumerate(zip(("all grades", "two-way"), pair, strict=True), 1)
        if not math.isnan(value)
    ]
    n_lines = round((1 - bottom) * 4) + 1
    right = LEFT + sum(widths)
    return KappaChart(
        width=right + RIGHT,
        height=TOP + KAPPA_HEIGHT + SIZE_BOTTOM,
        left=LEFT,
        right=right,
        bar=KAPPA_BAR,
        base=y(0),
        bars=bars,
        names=[Tick(middle, name) for middle, (name, *_) in zip(middles, values, strict=True)],
        grid=[Line(y(bottom + n / 4), f"{bottom + n / 4:.2f}") for n in range(n_lines)],
    )


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
