"""The curve of a pool's size by depth, laid out by the server: numbers for a template to draw beside its table."""

from collections.abc import Sequence
from typing import NamedTuple

HEIGHT, WIDTH = 240, 720  # of the plot, in user units
LEFT, RIGHT, TOP, BOTTOM = 64, 64, 28, 44


class Tick(NamedTuple):
    """A mark on an axis, with its label."""

    at: float
    label: str


class Mark(NamedTuple):
    """A depth that stands out; its label is written to the left of the line if there is no room to the right."""

    x: float
    y: float
    label: str
    is_left: bool


class Curve(NamedTuple):
    """Size by depth: units on the left, hours of judging on the right."""

    points: str
    depths: list[Tick]
    units: list[Tick]
    hours: list[Tick]
    marks: list[Mark]
    width: int
    height: int
    left: int
    right: int
    top: int
    base: int


def curve(totals: Sequence[int], hours: Sequence[float], marks: Sequence[tuple[int, str]]) -> Curve:
    """The curve of `totals[i]` units and `hours[i]` hours at depth i + 1; `marks` are depths with labels."""
    most = max(totals, default=0) or 1
    last = max(1, len(totals))
    base = TOP + HEIGHT

    def x(depth: float) -> float:
        return round(LEFT + WIDTH * depth / last, 1)

    def y(n: float) -> float:
        return round(base - HEIGHT * n / most, 1)

    points = [(0, 0), *enumerate(totals, 1)]
    per_unit = hours[-1] / totals[-1] if totals and totals[-1] else 0.0
    most_hours = most * per_unit
    return Curve(
        points=" ".join(f"{x(depth)},{y(n)}" for depth, n in points),
        depths=[Tick(x(depth), f"{depth:g}") for depth in _round_steps(last) if depth],
        units=[Tick(y(n), f"{n:,g}") for n in _round_steps(most)],
        hours=[Tick(y(h / per_unit), f"{h:,g}") for h in _round_steps(most_hours)] if per_unit else [],
        marks=[
            Mark(x(depth), y(totals[depth - 1]), label, x(depth) > LEFT + WIDTH * 0.7)
            for depth, label in marks
            if 1 <= depth <= len(totals)
        ],
        width=LEFT + WIDTH + RIGHT,
        height=base + BOTTOM,
        left=LEFT,
        right=LEFT + WIDTH,
        top=TOP,
        base=base,
    )


def _round_steps(most: float) -> list[float]:
    """Round numbers from 0 to the most, four to ten of them."""
    step = 1e-3
    while most / step > 10:
        for factor in (2, 2.5, 2):  # 1, 2, 5, 10
            step *= factor
            if most / step <= 10:
                break
    return [round(i * step, 3) for i in range(int(most / step) + 1)]
