"""Small charts that the server lays out: numbers for a template to draw as SVG, always beside their table."""

from collections.abc import Sequence
from typing import NamedTuple

BAR, GAP = 7, 2
HEIGHT = 140
LEFT, TOP, BOTTOM, RIGHT = 34, 10, 12, 4


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


def topic_chart(values: Sequence[tuple[str, float]], mean: float) -> BarChart:
    """One bar for each (topic, value) and a line at the mean."""
    bars = []
    for n, (topic, value) in enumerate(values):
        height = round(HEIGHT * value, 2)
        bars.append(
            Bar(LEFT + n * (BAR + GAP), round(TOP + HEIGHT - height, 2), height, f"{topic}: {value:.4f}")
        )
    right = LEFT + max(30, len(values)) * (BAR + GAP)
    grid = [Line(_level(share), f"{share:.1f}") for share in (0.0, 0.5, 1.0)]
    return BarChart(
        right + RIGHT, TOP + HEIGHT + BOTTOM, LEFT, right, BAR, bars, grid, Line(_level(mean), f"{mean:.4f}")
    )


def _level(value: float) -> float:
    return round(TOP + HEIGHT * (1 - value), 2)
