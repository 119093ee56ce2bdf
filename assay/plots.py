"""The data of the plots on the pages. `static/web/plots.js` draws them with ECharts; a table has the same values.

A plot is a kind with its data, not a drawing: sizes, colors and hover texts are the business of the script.
Decision: ADR 34.
"""

from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

Kind = Literal["bars", "costs", "groups", "intervals", "lines", "shares", "spreads"]
DIGITS = 4  # as in the tables


@dataclass(frozen=True)
class Plot:
    """A plot for the component `plot`.

    Args:
        name: names its files; letters, digits and hyphens.
        title: what it shows, for screen readers and files.
        across, up: what the horizontal and the vertical axis show.
        labels: of the horizontal axis, at equal distances; for intervals, of the rows.
        series: the values, in the order of the labels.
        digits: decimals of the values that are shown; 0 for counts.
    """

    kind: Kind
    name: str
    title: str
    across: str
    up: str
    labels: list[str]
    series: list[dict[str, Any]]
    digits: int = DIGITS

    @property
    def names(self) -> list[str]:
        """The names of the series, each once: series of one name have one color."""
        return list(dict.fromkeys(series["name"] for series in self.series))

    @property
    def stacks(self) -> list[str]:
        return list(dict.fromkeys(series["stack"] for series in self.series))

    @property
    def is_stacked(self) -> bool:
        """Return whether bars have parts, so that their names are not those of the series."""
        return any(series["stack"] != series["name"] for series in self.series)

    @property
    def script_id(self) -> str:
        return f"plot-{self.name}"

    @property
    def data(self) -> dict[str, Any]:
        """Plain values for the script."""
        return asdict(self)


class Interval(NamedTuple):
    """A mean with the ends of its confidence interval, where there is one."""

    label: str
    value: float
    low: float | None
    high: float | None
    is_own: bool = False


@dataclass(frozen=True)
class Spread:
    """The values of all runs on a topic."""

    label: str
    lowest: float
    median: float
    mean: float
    best: float


def bars(
    name: str,
    title: str,
    values: Sequence[tuple[str, float]],
    *,
    up: str,
    across: str = "Topic",
    mean: float | None = None,
    others: Sequence[tuple[float, float]] = (),
    digits: int = DIGITS,
) -> Plot:
    """One bar for each (label, value).

    Args:
        mean: drawn as a line across all bars.
        others: (median, best) of all runs, in the order of the values.
    """
    series: list[dict[str, Any]] = [{"name": "value", "values": _rounded([value for _, value in values])}]
    if others:
        series.append({"name": "median", "values": _rounded([median for median, _ in others])})
        series.append({"name": "best", "values": _rounded([best for _, best in others])})
    if mean is not None:
        series.append({"name": "mean", "values": _rounded([mean])})
    return Plot("bars", name, title, across, up, [label for label, _ in values], series, digits)


def groups(
    name: str,
    title: str,
    labels: Sequence[str],
    values: Sequence[tuple[str, Sequence[float | None]]],
    *,
    across: str,
    up: str,
    stacks: Sequence[str] = (),
) -> Plot:
    """Several bars for each label, one for each (name, values); there is none for None.

    Args:
        stacks: the bar of each (name, values), which are its parts, the lowest first; if empty, each has its own. Parts
            of one name have one color, and the names of the bars are below them.
    """
    plot = replace(lines(name, title, labels, values, across=across, up=up), kind="groups")
    for series, stack in zip(plot.series, stacks or [bar for bar, _ in values], strict=True):
        series["stack"] = stack
    return plot


def lines(
    name: str,
    title: str,
    labels: Sequence[str],
    curves: Sequence[tuple[str, Sequence[float | None]]],
    *,
    across: str,
    up: str,
    gray: Container[str] = (),
) -> Plot:
    """One line for each (name, values), over the same labels; None interrupts it.

    Args:
        gray: the names of the lines in gray, with dashes.
    """
    series = [{"name": curve, "values": _rounded(values)} | _marked(curve, gray) for curve, values in curves]
    return Plot("lines", name, title, across, up, list(labels), series)


def intervals(name: str, title: str, rows: Sequence[Interval], *, across: str) -> Plot:
    """One row for each mean, first row on top."""
    series = [
        {
            "name": "mean",
            "values": _rounded([row.value for row in rows]),
            "own": [row.is_own for row in rows],
        },
        {"name": "low", "values": _rounded([row.low for row in rows])},
        {"name": "high", "values": _rounded([row.high for row in rows])},
    ]
    return Plot("intervals", name, title, across, "Run", [row.label for row in rows], series)


def spreads(name: str, title: str, rows: Sequence[Spread], *, up: str) -> Plot:
    """For each topic a line from the lowest to the best value, with the median and the mean."""
    series = [
        {"name": part, "values": _rounded([getattr(row, part) for row in rows])}
        for part in ("lowest", "median", "mean", "best")
    ]
    return Plot("spreads", name, title, "Topic", up, [row.label for row in rows], series)


def costs(
    name: str,
    title: str,
    units: Sequence[int],
    hours: Sequence[float],
    marks: Sequence[tuple[int, str]],
    *,
    across: str,
) -> Plot:
    """A curve of units and of the hours of judging them, at depths 1, 2, ...

    Args:
        marks: depths to highlight, with labels; those outside the curve are left out.
    """
    depths = range(1, len(units) + 1)
    shown = [(depth, label) for depth, label in marks if depth in depths]
    series: list[dict[str, Any]] = [
        {"name": "units", "values": list(units)},
        {"name": "hours", "values": _rounded(hours)},
        {"name": "marks", "values": [depth for depth, _ in shown], "texts": [label for _, label in shown]},
    ]
    return Plot("costs", name, title, across, "Units", [str(depth) for depth in depths], series, digits=0)


def shares(
    name: str,
    title: str,
    rows: Sequence[tuple[str, Sequence[tuple[str, int]]]],
    *,
    across: str,
    up: str,
    gray: Container[str] = (),
) -> Plot:
    """A bar of one length for each (label, [(part, number)]), divided by the numbers; all rows have the same parts.

    Args:
        gray: the names of the parts in gray; the others go from dark to pale, in their order.
    """
    parts = [part for part, _ in rows[0][1]] if rows else []
    series = [
        {"name": part, "values": [numbers[n][1] for _, numbers in rows]} | _marked(part, gray)
        for n, part in enumerate(parts)
    ]
    return Plot("shares", name, title, across, up, [label for label, _ in rows], series, digits=0)


def _marked(name: str, gray: Container[str]) -> dict[str, bool]:
    return {"gray": True} if name in gray else {}


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else round(value, DIGITS) for value in values]
