"""Small charts that the server lays out: numbers for a template to draw as SVG, always beside their table."""

from collections.abc import Sequence
from typing import NamedTuple

BAR, GAP = 7, 2
HEIGHT = 140
LEFT, TOP, BOTTOM, RIGHT = 44, 10, 12, 4


class Bar(NamedTuple):
    """One value as a bar, in user units; `title` says it in words."""

    x: int
    y: float
    height: float
    title: str


class Line(NamedTuple):
    """A level line with its label."""

    y: float
    label: str


class Mark(NamedTuple):
    """What other runs have at a bar: a short line at their median, a dot at the best."""

    x: int
    end: int
    middle: float
    median: float
    best: float


class BarChart(NamedTuple):
    """Values between 0 and 1 by topic."""

    width: int
    height: int
    left: int
    right: int
    bar: int
    bars: list[Bar]
    grid: list[Line]
    mean: Line
    marks: list[Mark]


def topic_chart(
    values: Sequence[tuple[str, float]], mean: float, others: Sequence[tuple[float, float]] = ()
) -> BarChart:
    """One bar for each (topic, value) and a line at the mean; `others` are median and best of all runs, by topic."""
    marks = [
        Mark(
            x := LEFT + n * (BAR + GAP),
            x + BAR,
            x + BAR / 2,
            _level(median),
            _level(best),
        )
        for n, (median, best) in enumerate(others)
    ]
    bars = []
    for n, (topic, value) in enumerate(values):
        height = round(HEIGHT * value, 2)
        bars.append(
            Bar(LEFT + n * (BAR + GAP), round(TOP + HEIGHT - height, 2), height, f"{topic}: {value:.4f}")
        )
    right = LEFT + max(30, len(values)) * (BAR + GAP)
    grid = [Line(_level(share), f"{share:.1f}") for share in (0.0, 0.5, 1.0)]
    return BarChart(
        right + RIGHT,
        TOP + HEIGHT + BOTTOM,
        LEFT,
        right,
        BAR,
        bars,
        grid,
        Line(_level(mean), f"{mean:.4f}"),
        marks,
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
    """One bar for each (topic, difference), scaled to the largest of them."""
    largest = max((abs(value) for _, value in values), default=0.0) or 1.0
    half = HEIGHT / 2
    bars = []
    for n, (topic, value) in enumerate(values):
        height = round(half * abs(value) / largest, 2)
        top = round(TOP + half - (height if value > 0 else 0), 2)
        bars.append(Bar(LEFT + n * (BAR + GAP), top, height, f"{topic}: {value:+.4f}"))
    right = LEFT + max(30, len(values)) * (BAR + GAP)
    grid = [
        Line(round(TOP + half * (1 - share), 2), f"{share * largest:+.2f}" if share else "0")
        for share in (-1, 0, 1)
    ]
    return DifferenceChart(right + RIGHT, TOP + HEIGHT + BOTTOM, LEFT, right, BAR, bars, grid)


class Tick(NamedTuple):
    """A place on the level axis with its label."""

    x: float
    label: str


class Curve(NamedTuple):
    """A named line through points; `points` is written as SVG has it."""

    name: str
    points: str
    dots: list[tuple[float, float, str]]


class CurveChart(NamedTuple):
    """Lines of values between 0 and a top over named places."""

    width: int
    height: int
    left: int
    right: int
    bottom: float
    curves: list[Curve]
    grid: list[Line]
    ticks: list[Tick]


CURVE_WIDTH, CURVE_BOTTOM = 460, 34


def curve_chart(
    labels: Sequence[str], curves: Sequence[tuple[str, Sequence[float]]], *, top: float = 1.0
) -> CurveChart:
    """A line for each (name, values); the places stand as far from each other as all do."""
    right = LEFT + CURVE_WIDTH
    step = CURVE_WIDTH / max(1, len(labels) - 1)
    across = [round(LEFT + n * step, 2) for n in range(len(labels))]
    top = top or 1.0
    drawn = []
    for name, values in curves:
        dots = [
            (x, _level(value / top), f"{name}, {label}: {value:.4f}")
            for x, label, value in zip(across, labels, values, strict=True)
        ]
        drawn.append(Curve(name, " ".join(f"{x},{y}" for x, y, _ in dots), dots))
    grid = [Line(_level(share), f"{share * top:.2f}") for share in (0.0, 0.5, 1.0)]
    ticks = [Tick(x, label) for x, label in zip(across, labels, strict=True)]
    return CurveChart(right + 24, TOP + HEIGHT + CURVE_BOTTOM, LEFT, right, TOP + HEIGHT, drawn, grid, ticks)


def _level(value: float) -> float:
    return round(TOP + HEIGHT * (1 - value), 2)
